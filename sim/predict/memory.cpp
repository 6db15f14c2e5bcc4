#include "sim/predict/memory.h"

#include <algorithm>
#include <cmath>

#include "models/step/step_memory.h"

namespace tandem {

namespace {

/// What is known of the peak of the run that was traced: said by the user, or recorded.
std::optional<MemoryPoint> known_peak(const TracedRun& run, double fixed_bytes) {
  const std::int64_t batch = *run.summary.batch;
  if (run.said_peak_bytes > 0) return MemoryPoint{batch, run.said_peak_bytes};
  const auto recorded = recorded_memory(run.trace, run.links);
  if (!recorded) return {};
  return MemoryPoint{batch, recorded->peak_bytes + (recorded->complete ? 0 : fixed_bytes)};
}

}  // namespace

double shape_item_bytes(const TracedRun& run, const Step& step) {
  const auto live = live_memory(step, *run.summary.batch, run.configs.batch);
  return live ? live->item_bytes : 0;
}

std::optional<PeakMemory> traced_peak(const TracedRun& run, const TracedRun* second) {
  if (!run.summary.batch) return {};
  const BatchLaw& law = run.configs.batch;
  const std::optional<PeakMemory> live = live_memory(run.traced_step, *run.summary.batch, law);
  if (!live) return {};
  std::vector<MemoryPoint> points;
  for (const TracedRun* one : {&run, second}) {
    if (one == nullptr || !one->summary.batch) continue;
    if (const auto point = known_peak(*one, live->fixed_bytes)) points.push_back(*point);
  }
  std::sort(points.begin(), points.end(),
            [](const MemoryPoint& x, const MemoryPoint& y) { return x.batch < y.batch; });
  if (points.empty()) return live;
  return through_points(*live, points, run.summary.path);
}

std::optional<MemorySummary> scenario_memory(const TracedRun& run, const TracedRun* second,
                                             const GpuArch& gpu, std::int64_t batch,
                                             const MemoryChange& change) {
  std::optional<PeakMemory> memory = second == nullptr ? run.memory : traced_peak(run, second);
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
  const bool as_measured = memory->points > 0 && run.summary.batch == batch &&
                           change.kept == KeptMemory::eager && change.item_ratio == 1;
  if (as_measured) m.uncertainty = 0;
  if (change.error > 0) m.uncertainty = std::hypot(m.uncertainty, change.error);
  return m;
}

}  // namespace tandem
