// The Plan: what the host threads issue and what the device must run, with costs and dependencies.
//
// One type serves the run as it was measured and every execution mode: a mode is a function
// Plan -> Plan (models/runtime). The engine knows nothing beyond this file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/core/device.h"
#include "sim/core/time.h"

namespace tandem {

inline constexpr std::uint32_t no_index = 0xffffffffU;

enum class ItemKind : std::uint8_t {
  launch,        // enqueues device work
  graph_launch,  // enqueues the nodes of a CUDA graph
  call,          // costs host time only (event record, stream wait, a launch without work)
  sync,          // waits for one piece of device work or for all of it
  enqueue,       // hands an operation to the queue of an eager runtime's executor
  node,          // the executor runs an operation that it took from the queue
  value_wait,    // the program reads a value, or a shape, that a node computes
  step_begin,    // markers of the profiler's steps; cost nothing
  step_end,
};

/// What a host item waits for before it returns; all_work: what earlier items submitted.
enum class WaitFor : std::uint8_t { nothing, work, own_work, all_work };

/// One call of a host thread. Items of a thread run in the order of Plan::items.
struct HostItem {
  Duration gap{};                // host time before the call: ops, Python; after the previous item
  Duration input{};              // part of the gap: waiting for the program's input
  Duration bare{};               // ... and Python alone, which no profiler slows
  Duration call{};               // the call's own time, waits excluded
  Duration submit{};             // from the call's begin until the device may see the work; <= call
  Duration return_delay{};       // from the end of the awaited work until the call returns
  std::uint32_t first_work = 0;  // Plan::works [first_work, first_work + work_count)
  std::uint32_t work_count = 0;
  std::uint32_t after = no_index;      // hand-off: the gap starts no earlier than this item's end
  Duration wake{};                     // with `own_gap`: from the end of `after` to this begin
  std::uint32_t wait_work = no_index;  // for WaitFor::work
  std::uint32_t source = no_index;     // row of Trace::calls, none for markers and made-up calls
  std::uint32_t executed = no_index;   // row of Trace::nodes, of enqueue, node and value_wait
  std::uint16_t thread = 0;            // index of Plan::threads
  ItemKind kind = ItemKind::call;
  WaitFor wait = WaitFor::nothing;
  /// The gap counts from the thread's own previous item, and after a hand-off the item begins when
  /// both that gap and `wake` are over: a thread that is busy when its work arrives needs no
  /// waking.
  bool own_gap = false;
};

enum class DeviceEngine : std::uint8_t { compute, copy_to_device, copy_to_host, collective };

/// One kernel, copy or memset.
struct DeviceWork {
  Duration duration{};
  Duration latency{};  // from submission to the earliest start on an idle stream
  // From the end of the stream's previous work to the earliest start; may be negative
  // (programmatic dependent launch).
  Duration gap{};
  Duration far_gap{};            // where the host is further ahead than far_lead
  std::uint32_t first_edge = 0;  // Plan::edges [first_edge, first_edge + edge_count)
  std::uint32_t edge_count = 0;
  std::uint32_t source = no_index;  // row of Trace::activities
  std::uint32_t item = no_index;    // the host item that enqueues it; none: there from the start
  std::uint16_t stream = 0;         // index of Plan::streams
  DeviceEngine engine = DeviceEngine::compute;
  bool graph_node = false;
  /// Share of the device's places for blocks that it holds while it runs, 0..1; where earlier work
  /// leaves it less, it takes longer. 0: none, as copies, or contention is in `duration` already.
  float pool_share = 0;
  // Waits for places that the traced run had: parts of the gaps and of `latency`.
  Duration pool_wait{};
  Duration pool_latency{};
  /// Index of Plan::meetings, or none: every rank's part begins when its stream gets there and
  /// lasts `duration` from when the last of them began.
  std::uint32_t meeting = no_index;
  bool takes_slot = true;  // holds a place of its stream's launch queue; of a graph the last node
};

/// The gap of work that was submitted at `arrival`, behind work that ended at `previous_end`.
inline Duration gap_of(const DeviceWork& work, TimePoint previous_end, TimePoint arrival) {
  return previous_end - arrival > far_lead ? work.far_gap : work.gap;
}

/// `work` must have ended at least `delay` before the dependent work starts: an event of another
/// stream, or work that holds the SMs. Work that comes later in the plan counts only if it is
/// running when the dependent work could start.
struct WorkEdge {
  std::uint32_t work = no_index;
  Duration delay{};
  bool places = false;  // the dependent work waited for places on the SMs, not for an event
  /// `work` of the step before, in the plan of one step that is to be repeated; never in a plan
  /// that is simulated.
  bool previous_step = false;
};

struct PlanThread {
  std::string name;
  TimePoint begin{};       // when its first gap starts
  std::uint16_t rank = 0;  // threads wait for the work of their own rank only
};

/// Works of several ranks that end together.
struct Meeting {
  std::uint32_t members = 0;
};

struct Plan {
  std::vector<PlanThread> threads;
  std::vector<std::string> streams;
  /// Per stream: whose device it is of. Ranks share neither copy engines nor places on SMs. Empty:
  /// all of rank 0.
  std::vector<std::uint16_t> stream_rank;
  std::vector<Meeting> meetings;
  std::vector<HostItem> items;    // program order per thread; hand-offs point backwards
  std::vector<DeviceWork> works;  // stream order per stream
  std::vector<WorkEdge> edges;
  /// Work that was launched before the plan begins: earliest start per piece of work without item.
  std::vector<TimePoint> preloaded_start;  // one entry per work with item == no_index, in order
  std::uint32_t queue_depth = 1022;        // launches a stream accepts before the host blocks
};

}  // namespace tandem
