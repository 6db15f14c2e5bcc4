#include "sim/predict/stages/memory.h"

#include <algorithm>
#include <cmath>

#include "models/step/memory/step_memory.h"
#include "sim/predict/bands.h"

namespace tandem {

namespace {

/// Of the scenario, which holds more or less than `memory` says of the step that was traced.
double changed_peak(const PeakMemory& memory, const MemoryChange& change, std::int64_t batch) {
  const double bytes = peak_bytes(memory, batch);
  if (!change.before || !change.after) return bytes;
  return bytes * peak_bytes(*change.after, batch) / peak_bytes(*change.before, batch);
}

/// The largest batch whose peak is no more than `bytes`; 0: not even one item.
std::int64_t largest_batch(const PeakMemory& memory, const MemoryChange& change, double bytes) {
  std::int64_t fits = 0, exceeds = std::int64_t{1} << 31;
  if (changed_peak(memory, change, exceeds) <= bytes) return exceeds;
  while (exceeds - fits > 1) {
    const std::int64_t middle = fits + (exceeds - fits) / 2;
    (changed_peak(memory, change, middle) <= bytes ? fits : exceeds) = middle;
  }
  return fits;
}

/// What data-parallel ranks keep beside a step that was traced alone, or the other way around.
double added_buckets(const PeakMemory& memory, const Scenario& scenario) {
  const TransformReport* const ranks = find_report(scenario.what_ifs, "ranks");
  // Sharded parameters have none.
  if (ranks == nullptr || report_number(ranks, "units", 0) > 0) return 0;
  const bool from_one = parse_count("ranks", ranks->from) == 1;
  if (from_one) return memory.has_buckets ? 0 : memory.bucket_bytes;
  const bool to_one = parse_count("ranks", ranks->to) == 1;
  return to_one && memory.has_buckets ? -memory.bucket_bytes : 0;
}

/// What is known of the peak of the run that was traced: said by the user, or recorded.
std::optional<MemoryPoint> known_peak(const TracedRun& run, double kept_bytes) {
  const std::int64_t batch = *run.summary.batch;
  if (run.said_peak_bytes > 0) return MemoryPoint{batch, run.said_peak_bytes};
  const auto recorded = recorded_memory(run.trace, run.links);
  if (!recorded) return {};
  return MemoryPoint{batch, recorded->peak_bytes + (recorded->complete ? 0 : kept_bytes)};
}

}  // namespace

bool hides_tensors(const TracedRun& run) {
  const std::uint32_t all = static_cast<std::uint32_t>(run.trace.activities.size());
  std::uint32_t nodes = 0;
  for (std::uint32_t a = 0; a < all; ++a) nodes += is_graph_node(run.trace, run.links, a);
  return 2 * nodes > all;
}

std::optional<PeakMemory> traced_peak(const TracedRun& run, const TracedRun* second) {
  if (!run.summary.batch || !run.gpu) return {};
  const DeviceMemory& device = run.configs.batch.device_memory;
  const std::optional<PeakMemory> live =
      live_memory(run.traced_step, *run.summary.batch, device, run.gpu->compute_major);
  if (!live) return {};
  std::vector<MemoryPoint> points;
  for (const TracedRun* one : {&run, second}) {
    if (one == nullptr || !one->summary.batch) continue;
    if (const auto point = known_peak(*one, live->kept_bytes)) points.push_back(*point);
  }
  std::sort(points.begin(), points.end(),
            [](const MemoryPoint& x, const MemoryPoint& y) { return x.batch < y.batch; });
  if (points.empty() && hides_tensors(run)) return {};
  if (points.empty()) return live;
  return through_points(*live, points, run.summary.path);
}

std::optional<MemorySummary> scenario_memory(const TracedRun& run, const TracedRun* second,
                                             const GpuArch& gpu, std::int64_t batch,
                                             const Scenario& scenario) {
  const MemoryChange& change = scenario.memory;
  std::optional<PeakMemory> memory = second == nullptr ? run.memory : traced_peak(run, second);
  if (!memory) return {};
  const double usable = run.configs.batch.device_memory.usable_bytes(gpu);
  double filled = 0;  // by a step that computes values again, no more of them than it takes to fit
  if (run.compiled_memory && change.kept != KeptMemory::eager) {
    memory = run.compiled_memory->cheapest;
    if (change.kept == KeptMemory::least && changed_peak(*memory, change, batch) > usable) {
      memory = run.compiled_memory->least;
      filled = usable;  // XLA's rematerialization stops once the module is below its limit
    }
  }
  MemorySummary m;
  const double added = added_buckets(*memory, scenario);
  m.peak_bytes = std::max(changed_peak(*memory, change, batch) + added, filled);
  m.kept = (change.after ? *change.after : *memory).kept;
  m.kept.buckets += added;
  m.fits = m.peak_bytes <= usable;
  m.largest_batch = largest_batch(*memory, change, usable - added);
  const LogBand band = memory_band(run.configs.bands, memory->basis, scenario.what_ifs);
  m.basis = memory->basis;
  m.low_bytes = m.peak_bytes * std::exp(band.low);
  m.high_bytes = m.peak_bytes * std::exp(band.high);
  return m;
}

}  // namespace tandem
