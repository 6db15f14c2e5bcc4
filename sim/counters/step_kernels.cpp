#include "sim/counters/step_kernels.h"

#include <algorithm>

namespace tandem {

std::vector<std::uint32_t> kernels_of_step(const Trace& trace, const Links& links,
                                           std::size_t step) {
  const StepWindow& window = links.steps[step];
  const auto& calls = links.calls_in_order;
  auto it = std::lower_bound(
      calls.begin(), calls.end(), window.begin,
      [&](std::uint32_t call, TimePoint t) { return trace.calls.begin[call] < t; });
  std::vector<std::uint32_t> kernels;
  for (; it != calls.end() && trace.calls.begin[*it] < window.end; ++it) {
    for (const std::uint32_t act : links.activities_of_call.of(*it)) {
      if (trace.activities.kind[act] == ActivityKind::kernel) kernels.push_back(act);
    }
  }
  return kernels;
}

Duration period_of_step(const Trace& trace, const Links& links, std::size_t step) {
  const Activities& acts = trace.activities;
  const StepWindow& window = links.steps[step];
  const auto in_step = [&](std::uint32_t act) {
    const std::uint32_t call = links.call_of_activity[act];
    return call != no_row && trace.calls.begin[call] >= window.begin &&
           trace.calls.begin[call] < window.end;
  };
  TimePoint first = TimePoint::max();
  TimePoint to = window.begin;
  for (std::uint32_t act = 0; act < acts.size(); ++act) {
    if (!in_step(act)) continue;
    first = std::min(first, acts.begin[act]);
    to = std::max(to, acts.begin[act] + acts.duration[act]);
  }
  TimePoint before = TimePoint::min();
  for (std::uint32_t act = 0; act < acts.size(); ++act) {
    if (acts.begin[act] >= first || in_step(act)) continue;
    before = std::max(before, acts.begin[act] + acts.duration[act]);
  }
  const TimePoint from =
      step == 0 || before == TimePoint::min() ? std::max(before, window.begin) : before;
  return to > from ? to - from : Duration{0};
}

}  // namespace tandem
