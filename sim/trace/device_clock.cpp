#include "sim/trace/device_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tandem {

namespace {

/// What is closer than this to its launch is not behind: profilers before 2022 wrote whole
/// microseconds.
constexpr Duration resolution = microseconds(1);
/// An offset is one that so many activities show half of.
constexpr std::size_t witnesses = 3;

std::int64_t device_of(const Trace& trace, std::uint32_t activity) {
  return trace.streams[trace.activities.stream[activity].index()].device;
}

/// By device, by how much work begins before its launch.
std::map<std::int64_t, std::vector<Duration>> early_work(const Trace& trace, const Links& links) {
  std::map<std::int64_t, std::vector<Duration>> out;
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const std::uint32_t call = links.call_of_activity[a];
    if (call == no_row) continue;
    const Duration early = trace.calls.begin[call] - trace.activities.begin[a];
    if (early > resolution) out[device_of(trace, a)].push_back(early);
  }
  return out;
}

/// The largest of them that others confirm.
std::optional<Duration> confirmed(std::vector<Duration> early) {
  std::sort(early.begin(), early.end(), std::greater<>());
  for (std::size_t i = 0; i + witnesses <= early.size(); ++i) {
    if (2 * early[i + witnesses - 1] >= early[i]) return early[i];
  }
  return {};
}

void move_device(Trace& trace, const ClockOffset& offset) {
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    if (device_of(trace, a) == offset.device) trace.activities.begin[a] += offset.behind;
  }
}

}  // namespace

Links link_on_one_clock(Trace& trace, std::vector<ClockOffset>& offsets) {
  Links links = link_trace(trace);
  for (auto& [device, early] : early_work(trace, links)) {
    const std::optional<Duration> behind = confirmed(std::move(early));
    if (!behind) continue;
    offsets.push_back({device, *behind});
    move_device(trace, offsets.back());
  }
  if (offsets.empty()) return links;
  links = link_trace(trace);
  std::string which;
  for (const ClockOffset& offset : offsets) {
    which += fmt::format("{}GPU {} by {:.1f} us", which.empty() ? "" : ", ", offset.device,
                         to_us(offset.behind));
  }
  links.losses.add("device_clock_behind", Severity::warning,
                   "work of a GPU began before its launch, so its clock is behind the host's; its "
                   "times were moved by the least that mends it: " +
                       which,
                   static_cast<std::int64_t>(offsets.size()));
  return links;
}

}  // namespace tandem
