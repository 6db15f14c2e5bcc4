#include "models/runtime/sm_pool.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace tandem {

namespace {

bool one_stream(const Plan& plan) {
  return std::all_of(plan.works.begin(), plan.works.end(), [&](const DeviceWork& work) {
    return work.stream == plan.works.front().stream;
  });
}

/// Per activity: whether a kernel of another stream ran at the same time.
std::vector<bool> overlapped(const Trace& trace) {
  const Activities& acts = trace.activities;
  std::vector<std::uint32_t> order(acts.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return acts.begin[a] < acts.begin[b]; });
  std::vector<bool> out(acts.size(), false);
  std::vector<std::uint32_t> running;
  for (const std::uint32_t a : order) {
    if (acts.kind[a] != ActivityKind::kernel) continue;
    std::erase_if(running, [&](std::uint32_t r) {
      return acts.begin[r] + acts.duration[r] <= acts.begin[a];
    });
    for (const std::uint32_t r : running) {
      if (acts.stream[r] == acts.stream[a]) continue;
      out[r] = out[a] = true;
    }
    running.push_back(a);
  }
  return out;
}

}  // namespace

void share_sm_pool(const Trace& traced, std::span<const double> pool_share, Step& step) {
  if (step.plan.works.empty() || one_stream(step.plan)) return;
  const std::vector<bool> measured_beside = overlapped(traced);
  for (DeviceWork& work : step.plan.works) {
    // Nodes of successive graph launches overlap in the plan, which holds no order between them.
    if (work.engine != DeviceEngine::compute || work.graph_node) continue;
    const std::uint32_t row = step.traced_activity[work.source];
    // Durations that were measured beside others hold the wait for places: such a kernel keeps its
    // own and takes none from others, or the wait would count twice.
    if (row != no_row && measured_beside[row]) continue;
    work.pool_share = static_cast<float>(std::clamp(pool_share[work.source], 0.0, 1.0));
  }
}

}  // namespace tandem
