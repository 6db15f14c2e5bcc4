#include "sim/predict/memory.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "sim/core/field.h"

namespace tandem {

namespace {

/// `peak_alloc` of the meta file that bench/capture writes beside a trace.
std::optional<MemoryPoint> measured_memory(const TracedRun& run) {
  std::string path = run.summary.path;
  const std::size_t suffix = path.rfind(".json");
  if (suffix == std::string::npos || !run.summary.batch) return {};
  path = path.substr(0, suffix) + ".meta.json";
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  const Json meta = read_json_file(path);
  if (!meta.contains("peak_alloc") || !meta["peak_alloc"].is_number()) return {};
  return MemoryPoint{*run.summary.batch, meta["peak_alloc"].get<double>()};
}

}  // namespace

double shape_item_bytes(const TracedRun& run, const Step& step) {
  return peak_memory(step.trace, step.links, *run.summary.batch, {}, run.configs.batch).item_bytes;
}

std::optional<PeakMemory> measured_peak(const TracedRun& run, const TracedRun* second) {
  if (!run.summary.batch || run.trace.ops.size() == 0) return {};
  std::vector<MemoryPoint> points;
  for (const TracedRun* one : {&run, second}) {
    if (one == nullptr) continue;
    if (const auto point = measured_memory(*one)) points.push_back(*point);
  }
  std::sort(points.begin(), points.end(),
            [](const MemoryPoint& x, const MemoryPoint& y) { return x.batch < y.batch; });
  if (points.empty()) return {};  // shapes alone are good to a factor of 1.5 only
  return peak_memory(run.trace, run.links, *run.summary.batch, points, run.configs.batch);
}

std::optional<MemorySummary> scenario_memory(const TracedRun& run, const TracedRun* second,
                                             const GpuArch& gpu, std::int64_t batch,
                                             const MemoryChange& change) {
  std::optional<PeakMemory> memory = second == nullptr ? run.memory : measured_peak(run, second);
  if (!memory) return {};
  const BatchLaw& law = run.configs.batch;
  if (run.compiled_memory && change.kept != KeptMemory::eager) {
    memory = run.compiled_memory->cheapest;
    PeakMemory typed = *memory;
    typed.item_bytes *= change.item_ratio;
    if (change.kept == KeptMemory::least && !fits(typed, batch, gpu, law)) {
      memory = run.compiled_memory->least;
    }
  }
  memory->item_bytes *= change.item_ratio;
  MemorySummary m;
  m.peak_bytes = peak_bytes(*memory, batch);
  m.fits = fits(*memory, batch, gpu, law);
  m.largest_batch = largest_batch(*memory, gpu, law);
  m.uncertainty = memory->uncertainty;
  if (change.error > 0) m.uncertainty = std::hypot(m.uncertainty, change.error);
  return m;
}

}  // namespace tandem
