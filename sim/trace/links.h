// How the rows of a Trace belong together: call <-> device work, stream order, steps.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/trace/trace.h"

namespace tandem {

/// Row numbers are 32-bit; this one means "no such row".
inline constexpr std::uint32_t no_row = 0xffffffffU;

/// Lists of rows, one list per owner, stored back to back.
struct RowLists {
  std::vector<std::uint32_t> first;  // owners + 1 offsets into rows
  std::vector<std::uint32_t> rows;
  std::span<const std::uint32_t> of(std::size_t owner) const {
    return {rows.data() + first[owner], first[owner + 1] - first[owner]};
  }
};

/// One iteration as the profiler marked it.
struct StepWindow {
  std::string name;
  TimePoint begin{};
  TimePoint end{};
  ThreadId thread;
};

/// What told the steps of a trace.
enum class StepsBy : std::uint8_t {
  marks,       // annotations of the profiler
  annotation,  // an annotation that the user named
  optimizer,   // the steps of the optimizer
  repetition,  // the sequence of device work repeats itself
  count,       // the user said how many there are, and they are not alike
  nothing,     // the whole trace is one step, for nothing tells
};

struct Links {
  std::vector<std::uint32_t> calls_in_order;      // rows of RuntimeCalls by begin; only calls that
                                                  // launch, copy, record, wait or synchronise
  std::vector<std::uint32_t> call_of_activity;    // per activity: row of its call, or no_row
  RowLists activities_of_call;                    // by begin
  RowLists activities_of_stream;                  // by begin
  std::vector<std::uint32_t> stream_predecessor;  // per activity: the one before it on its stream
  std::vector<std::uint32_t> node_of_call;        // per call: the node that made it, or no_row;
                                                  // empty where the trace has no nodes
  std::vector<StepWindow> steps;                  // by begin; at least one where there is any event
  StepsBy steps_by = StepsBy::marks;
  LossList losses;
};

/// Whether a call that launched a CUDA graph launched the activity, as one of its nodes.
bool is_graph_node(const Trace& trace, const Links& links, std::uint32_t activity);

/// Joins calls and activities by correlation id, orders streams, reads the marked steps. A trace
/// without marks is one step here (StepsBy::nothing); choose_steps looks for iterations in it.
/// Throws InputError if there is no device activity.
Links link_trace(const Trace& trace);

}  // namespace tandem
