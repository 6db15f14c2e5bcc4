// What TensorFlow's eager runtime writes into XProf's traces: operations that Python hands to the
// executor, nodes that the executor runs, and waits of Python for values.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/trace/trace.h"
#include "sim/trace/trace_builder.h"

namespace tandem {

struct ExecutorEvent {
  enum class Kind : std::uint8_t { other, operation, node, value_wait };
  Kind kind = Kind::other;
  std::string_view operation;  // its name, e.g. "Conv2D"
};

/// What an event on a host thread is to the runtime, by its name.
ExecutorEvent executor_event(std::string_view name);

void add_node(const Span& span, ThreadId thread, ExecutorNodes& nodes);
void add_wait(const Span& span, ThreadId thread, ValueWaits& waits);

/// Sets ExecutorNodes::op. `enqueued`: rows of the operations that went to an executor. A node that
/// ran within its operation, on the same thread, is that operation's (synchronous execution); the
/// others are taken in order, for the queue is first in, first out. Nodes and operations without a
/// partner are dropped and counted: the window of the profiler cut them off.
void match_nodes(const std::vector<std::uint32_t>& enqueued, Trace& trace);

}  // namespace tandem
