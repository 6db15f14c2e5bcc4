#include "sim/trace/importers/xprof/executor.h"

#include <algorithm>
#include <map>

#include "sim/trace/links.h"
#include "sim/trace/row_groups.h"
#include "sim/trace/row_order.h"

namespace tandem {

namespace {

constexpr std::string_view operation_prefix = "EagerLocalExecute: ";
constexpr std::string_view node_name = "EagerKernelExecute";
constexpr std::string_view wait_suffix = "WaitReady";

using Rows = std::vector<std::uint32_t>;

/// The last operation of the node's thread that had begun when it began, if it contains the node.
std::uint32_t enclosing(const Trace& trace, const Rows& ops, std::uint32_t node) {
  const TimePoint begin = trace.nodes.begin[node];
  const auto after = std::upper_bound(
      ops.begin(), ops.end(), begin,
      [&](TimePoint time, std::uint32_t op) { return time < trace.ops.begin[op]; });
  if (after == ops.begin()) return no_row;
  const std::uint32_t op = *std::prev(after);
  const TimePoint end = trace.ops.begin[op] + trace.ops.duration[op];
  return begin + trace.nodes.duration[node] <= end ? op : no_row;
}

/// Takes the rest in the order of the queue: a node begins no earlier than its operation. How many
/// were matched.
std::size_t match_in_order(const Trace& trace, const Rows& ops, const Rows& nodes,
                           Rows& op_of_node) {
  std::size_t next = 0;
  for (const std::uint32_t node : nodes) {
    if (next == ops.size()) break;
    if (trace.nodes.begin[node] < trace.ops.begin[ops[next]]) continue;
    op_of_node[node] = ops[next++];
  }
  return next;
}

}  // namespace

ExecutorEvent executor_event(std::string_view name) {
  if (name.starts_with(operation_prefix)) {
    return {ExecutorEvent::Kind::operation, name.substr(operation_prefix.size())};
  }
  if (name == node_name) return {ExecutorEvent::Kind::node, {}};
  if (name.ends_with(wait_suffix)) return {ExecutorEvent::Kind::value_wait, {}};
  return {};
}

void add_node(const Span& span, ThreadId thread, ExecutorNodes& nodes) {
  nodes.begin.push_back(span.begin);
  nodes.duration.push_back(span.duration);
  nodes.thread.push_back(thread);
  nodes.op.push_back(no_row);
}

void add_wait(const Span& span, ThreadId thread, ValueWaits& waits) {
  waits.begin.push_back(span.begin);
  waits.duration.push_back(span.duration);
  waits.thread.push_back(thread);
}

void match_nodes(const std::vector<std::uint32_t>& enqueued, Trace& trace) {
  Rows nodes(trace.nodes.size());
  for (std::uint32_t i = 0; i < nodes.size(); ++i) nodes[i] = i;
  sort_by_begin(trace.nodes, nodes);
  Rows ops = enqueued;
  sort_by_begin(trace.ops, ops);
  std::map<ThreadId, Rows> ops_of_thread;
  for (const std::uint32_t op : ops) ops_of_thread[trace.ops.thread[op]].push_back(op);
  Rows op_of_node(trace.nodes.size(), no_row);
  std::vector<bool> taken(trace.ops.size(), false);
  Rows queued;
  for (const std::uint32_t node : nodes) {
    const auto own = ops_of_thread.find(trace.nodes.thread[node]);
    if (own != ops_of_thread.end()) op_of_node[node] = enclosing(trace, own->second, node);
    if (op_of_node[node] == no_row) {
      queued.push_back(node);
    } else {
      taken[op_of_node[node]] = true;
    }
  }
  std::erase_if(ops, [&](std::uint32_t op) { return taken[op]; });
  const std::size_t in_order = match_in_order(trace, ops, queued, op_of_node);
  std::erase_if(nodes, [&](std::uint32_t node) { return op_of_node[node] == no_row; });
  const std::size_t without_op = trace.nodes.size() - nodes.size();
  const std::size_t without_node = ops.size() - in_order;
  trace.losses.add("node_without_operation", Severity::info,
                   "nodes of the executor whose operation was enqueued before the trace begins, or "
                   "the other way round; they were left out",
                   static_cast<std::int64_t>(without_op + without_node));
  for (const std::uint32_t node : nodes) trace.nodes.op[node] = op_of_node[node];
  keep_rows(nodes, trace.nodes);
}

}  // namespace tandem
