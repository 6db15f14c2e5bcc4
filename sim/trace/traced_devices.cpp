#include "sim/trace/traced_devices.h"

#include <algorithm>
#include <map>

namespace tandem {

std::optional<std::int64_t> busiest_device(const Trace& trace) {
  std::map<std::int64_t, Duration> busy;  // by device
  for (std::size_t a = 0; a < trace.activities.size(); ++a) {
    busy[trace.streams[trace.activities.stream[a].index()].device] += trace.activities.duration[a];
  }
  const auto longest = std::max_element(
      busy.begin(), busy.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
  if (longest == busy.end()) return {};
  return longest->first;
}

void order_devices(Trace& trace) {
  const std::optional<std::int64_t> busiest = busiest_device(trace);
  if (!busiest) return;
  std::stable_partition(trace.devices.begin(), trace.devices.end(),
                        [&](const DeviceProperties& d) { return d.id == *busiest; });
  const auto others =
      std::count_if(trace.activities.stream.begin(), trace.activities.stream.end(),
                    [&](StreamId s) { return trace.streams[s.index()].device != *busiest; });
  trace.losses.add("several_devices", Severity::warning,
                   "device work of other GPUs than the busiest one: all streams are taken for "
                   "streams of one GPU, which so seems busier and slower; a process a GPU, each "
                   "with a trace of its own, is predicted as it is",
                   others);
}

}  // namespace tandem
