#include "sim/trace/device_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
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

/// The least time from a launch to its work, of all work of the device.
Duration least_delay(const Trace& trace, const Links& links, std::int64_t device) {
  Duration least = Duration::max();
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const std::uint32_t call = links.call_of_activity[a];
    if (call == no_row || device_of(trace, a) != device) continue;
    least = std::min(least, trace.activities.begin[a] - trace.calls.begin[call]);
  }
  return least;
}

/// A device that is ahead by so much that all its work could be earlier by as much. What is
/// launched behind a wait finds an idle device and begins at once, which tells the offset better.
std::optional<ClockOffset> ahead(const Trace& trace, const Links& links) {
  constexpr Duration noticed = microseconds(100);  // more than waits and kernels are apart
  constexpr Duration at_once = microseconds(5);    // from a launch to its kernel
  const LateWork late = latest_work(trace, links);
  if (late.activity == no_row || late.late < noticed) return {};
  const std::int64_t device = device_of(trace, late.activity);
  const Duration least = least_delay(trace, links, device);
  if (least < late.late) return {};
  return ClockOffset{device, -std::max(late.late, least - at_once)};
}

void move_device(Trace& trace, const ClockOffset& offset) {
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    if (device_of(trace, a) == offset.device) trace.activities.begin[a] += offset.behind;
  }
}

}  // namespace

LateWork latest_work(const Trace& trace, const Links& links) {
  const RuntimeCalls& calls = trace.calls;
  LateWork out;
  std::uint32_t last = no_row;  // of the work launched so far, what ends last
  const auto end_of = [&](std::uint32_t a) {
    return trace.activities.begin[a] + trace.activities.duration[a];
  };
  for (const std::uint32_t call : links.calls_in_order) {
    for (const std::uint32_t a : links.activities_of_call.of(call)) {
      if (last == no_row || end_of(a) > end_of(last)) last = a;
    }
    if (calls.api[call] != ApiKind::device_synchronize || last == no_row) continue;
    // Another thread may launch while this one waits: only what was launched before must be over.
    const std::uint32_t launch = links.call_of_activity[last];
    if (calls.begin[launch] >= calls.begin[call]) continue;
    const Duration late = end_of(last) - calls.begin[call] - calls.duration[call];
    if (late > out.late) out = {late, last};
  }
  return out;
}

Links link_on_one_clock(Trace& trace, std::vector<ClockOffset>& offsets) {
  Links links = link_trace(trace);
  for (auto& [device, early] : early_work(trace, links)) {
    const std::optional<Duration> behind = confirmed(std::move(early));
    if (!behind) continue;
    offsets.push_back({device, *behind});
    move_device(trace, offsets.back());
  }
  if (offsets.empty()) {
    if (const auto offset = ahead(trace, links)) {
      offsets.push_back(*offset);
      move_device(trace, *offset);
    }
  }
  if (offsets.empty()) return links;
  links = link_trace(trace);
  const bool behind = offsets.front().behind > Duration::zero();
  std::string which;
  for (const ClockOffset& offset : offsets) {
    which += fmt::format("{}GPU {} by {:.1f} us", which.empty() ? "" : ", ", offset.device,
                         std::abs(to_us(offset.behind)));
  }
  links.losses.add(behind ? "device_clock_behind" : "device_clock_ahead", Severity::warning,
                   (behind ? "work of a GPU began before its launch, so its clock is behind the "
                             "host's; its times were moved by the least that mends it: "
                           : "work of a GPU ended after a wait for it returned, so its clock is "
                             "ahead of the host's; its times were moved: ") +
                       which,
                   static_cast<std::int64_t>(offsets.size()));
  return links;
}

}  // namespace tandem
