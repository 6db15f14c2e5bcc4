// Dependencies that a profiler trace does not write down, inferred from what waited for what.
#pragma once

#include <vector>

#include "models/runtime/device_timing.h"
#include "models/runtime/host_work.h"
#include "models/runtime/traced_pool.h"
#include "sim/engine/plan.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// What synchronising calls waited for, and how long launches waited for room in the queue.
class WaitInference {
 public:
  WaitInference(const Trace& trace, const Links& links, const DeviceTiming& timing);

  struct Target {
    bool all = false;                 // everything launched before the call
    std::uint32_t activity = no_row;  // this activity
    bool waited = false;              // the target ended while the call was in progress
  };
  /// `call` is a row of RuntimeCalls with a synchronising ApiKind. Device-wide calls wait for all
  /// work. For stream and event calls the trace names no stream: the target is the last activity of
  /// that stream, among those launched before, whose end best explains when the call returned.
  Target target(std::uint32_t call) const;

  /// Length of [begin, end) in which the profiler saw the command buffer full.
  Duration queue_full(TimePoint begin, TimePoint end) const;

 private:
  const Trace& trace_;
  const Links& links_;
  const DeviceTiming& timing_;
  struct Span {
    TimePoint begin;
    TimePoint end;
  };
  std::vector<Span> full_;  // by begin
  /// Per stream: (launch time, activity) by launch time.
  std::vector<std::vector<std::pair<TimePoint, std::uint32_t>>> launched_;
};

/// The item of another thread that `thread` waited for before `begin`, or none. A hand-off shows as
/// an idle gap of the thread [own_end, begin), outside any operation, in which another thread ran a
/// whole item.
std::uint32_t find_hand_off(ThreadId thread, TimePoint own_end, TimePoint begin,
                            const OpCover& cover, const std::vector<HostItem>& items,
                            const std::vector<TimePoint>& traced_begin,
                            const std::vector<TimePoint>& traced_end);

/// Adds an edge from another stream to each work that started later than its launch and its stream
/// explain, where such a cause is in sight, and from the work whose event it waited for; otherwise
/// keeps the delay as a gap of its stream. The cause may be an event the stream waited for or work
/// that held the SMs, so it may have been launched later. Where the SMs were full until the start
/// and no event was waited for, the edge or the gap is marked as a wait for places
/// (WorkEdge::places, DeviceWork::pool_wait).
void infer_edges(const Trace& trace, const Links& links, const DeviceTiming& timing,
                 const TracedPool& pool, const std::vector<std::uint32_t>& work_of_activity,
                 Plan& plan, LossList& losses);

}  // namespace tandem
