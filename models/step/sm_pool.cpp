#include "models/step/sm_pool.h"

#include <algorithm>

namespace tandem {

namespace {

bool one_stream(const Plan& plan) {
  return std::all_of(plan.works.begin(), plan.works.end(), [&](const DeviceWork& work) {
    return work.stream == plan.works.front().stream;
  });
}

}  // namespace

Plan share_sm_pool(const TracedPool& traced, std::span<const double> share, const Step& step) {
  Plan plan = step.plan;
  // Without counters, of an unknown GPU, nobody knows how many SMs a kernel holds.
  if (share.empty() || plan.works.empty() || (one_stream(plan) && traced.empty())) return plan;
  for (DeviceWork& work : plan.works) {
    const bool collective = work.engine == DeviceEngine::collective;
    if (work.engine != DeviceEngine::compute && !collective) continue;
    const std::uint32_t row = step.traced_activity[work.source];
    work.pool_share = static_cast<float>(std::clamp(share[work.source], 0.0, 1.0));
    work.duration = step.trace.activities.duration[work.source];
    // The links decide how long data moves; waits for places remain those of the trace.
    if (row == no_row || collective) continue;
    work.duration = scale(work.duration, traced.alone(row));
    work.gap -= work.pool_wait;
    work.far_gap -= work.pool_wait;
    work.latency -= work.pool_latency;
    work.pool_wait = work.pool_latency = Duration::zero();
    const auto first = plan.edges.begin() + work.first_edge;
    const auto end = std::remove_if(first, first + work.edge_count,
                                    [](const WorkEdge& edge) { return edge.places; });
    work.edge_count = static_cast<std::uint32_t>(end - first);
  }
  return plan;
}

}  // namespace tandem
