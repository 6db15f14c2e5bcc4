#include "models/whatif/added_host.h"

#include <algorithm>
#include <vector>

namespace tandem {

AddedHost added_host(const Step& step, const HostModel& host) {
  std::vector<Duration> calls;
  for (std::size_t i = 0; i < step.trace.calls.size(); ++i) {
    if (step.trace.calls.api[i] == ApiKind::launch_kernel) {
      calls.push_back(step.trace.calls.duration[i]);
    }
  }
  AddedHost out{host.launch_call_us, host.gap_scale_aligned, host.launch_call_us};
  if (calls.empty()) return out;
  // The median: calls that waited for room in the launch queue are few and long.
  const auto middle = calls.begin() + static_cast<std::ptrdiff_t>(calls.size() / 2);
  std::nth_element(calls.begin(), middle, calls.end());
  out.traced_call_us = to_us(*middle);
  return out;
}

}  // namespace tandem
