// What host threads did, row by row, in the order in which it becomes items of a Plan.
#pragma once

#include <cstdint>
#include <vector>

#include "models/runtime/executor_model.h"
#include "sim/engine/plan.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// A marker, a call, or what an eager runtime did, before it becomes an item.
struct HostEntry {
  TimePoint begin;
  TimePoint end;
  ThreadId thread;
  std::uint32_t call = no_row;  // row of RuntimeCalls, or no_row
  ItemKind kind = ItemKind::call;
  std::uint32_t node = no_row;  // row of ExecutorNodes, or no_row
  /// The times before it are known and need no inference: HostItem's members of these names;
  /// `after` counts entries.
  bool timed = false;
  std::uint32_t after = no_index;
  Duration gap{};
  Duration wake{};
};

ItemKind item_kind(ApiKind api, bool has_work);

/// Calls and markers by begin.
std::vector<HostEntry> call_entries(const Trace& trace, const Links& links);

/// Whether the executor's nodes make most of the launches, or there are no launches. Elsewhere, as
/// in steps that are one graph of TensorFlow, they are a side matter, and calls tell what was done.
bool nodes_launch(const Trace& trace, const Links& links);

/// The same of a trace of an eager runtime with an executor. For each node in the order of the
/// program: what its thread waited for before (value_wait, of no length where it did not wait),
/// the enqueue, the node, and the calls that the node made. Where the trace shows only one of the
/// waking of an idle executor and the time of a busy one between two nodes, the other is the
/// trace's median, or that of `model` if the trace shows none.
std::vector<HostEntry> node_entries(const Trace& trace, const Links& links,
                                    const ExecutorModel& model);

}  // namespace tandem
