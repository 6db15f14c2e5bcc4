#include "models/whatif/ranks/cut_graphs.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "models/step/op_rows.h"
#include "sim/core/median.h"

namespace tandem {

namespace {

TimePoint begin_of(const Step& step, std::uint32_t item) {
  return step.trace.calls.begin[step.plan.items[item].source];
}

TimePoint end_of(const Step& step, std::uint32_t item) {
  const std::uint32_t call = step.plan.items[item].source;
  return step.trace.calls.begin[call] + step.trace.calls.duration[call];
}

/// The nearest range of generated code around `op` that is no call of a graph itself.
std::uint32_t frame_of(const OpNesting& nesting, OpRows& rows, std::uint32_t op) {
  for (op = nesting.parent[op]; op != no_row; op = nesting.parent[op]) {
    if (rows.of(op).kind == OpKind::generated && !rows.of(op).is(calls_graph)) break;
  }
  return op;
}

/// The call of a graph that operation `op` is, without its items. A node's range of the engine is
/// the node's, too.
GraphCall call_of(const Step& step, const OpNesting& nesting, std::uint32_t op) {
  const HostOps& ops = step.trace.ops;
  const std::uint32_t parent = nesting.parent[op];
  const bool in_engine =
      parent != no_row && has_engine_prefix(text_of(step.trace, ops.name[parent]));
  const std::uint32_t range = in_engine ? parent : op;
  GraphCall call;
  call.op = op;
  call.node = ops.sequence[op];
  call.backward = in_engine || ops.forward_thread[op] > 0;
  call.thread = ops.thread[op];
  call.begin = ops.begin[range];
  call.end = ops.begin[range] + ops.duration[range];
  return call;
}

/// All calls without their items.
std::vector<GraphCall> calls_of(const Step& step, const OpNesting& nesting) {
  OpRows rows(step.trace);
  std::vector<GraphCall> out;
  std::map<std::int64_t, std::uint32_t> frames;  // by the number of the graph's node
  for (std::uint32_t op = 0; op < step.trace.ops.size(); ++op) {
    if (!rows.of(op).is(calls_graph) || !step.trace.ops.thread[op].valid()) continue;
    GraphCall call = call_of(step, nesting, op);
    if (!call.backward) frames[call.node] = call.frame = frame_of(nesting, rows, op);
    out.push_back(std::move(call));
  }
  for (GraphCall& call : out) {
    const auto frame = frames.find(call.node);
    if (call.backward && frame != frames.end()) call.frame = frame->second;
  }
  std::sort(out.begin(), out.end(),
            [](const GraphCall& a, const GraphCall& b) { return a.begin < b.begin; });
  return out;
}

/// Traced time between two calls of the runtime within a piece: the median.
Duration usual_gap(const Step& step, const std::vector<GraphCall>& calls) {
  std::vector<Duration> gaps;
  for (const GraphCall& call : calls) {
    for (std::size_t k = 1; k < call.items.size(); ++k) {
      gaps.push_back(begin_of(step, call.items[k]) - end_of(step, call.items[k - 1]));
    }
  }
  return gaps.empty() ? Duration::zero() : std::max(Duration::zero(), median(std::move(gaps)));
}

void add_span(std::vector<HostSpan>& spans, TimePoint begin, TimePoint end) {
  if (begin < end) spans.push_back({begin, end});
}

/// What lies between the calls of the runtime, whoever makes these.
void add_between_calls(const Step& step, ThreadId thread, HostSpan whole,
                       std::vector<HostSpan>& spans) {
  for (std::uint32_t i = 0; i < step.plan.items.size(); ++i) {
    const std::uint32_t row = step.plan.items[i].source;
    if (row == no_index || step.trace.calls.thread[row] != thread) continue;
    if (begin_of(step, i) < whole.begin || begin_of(step, i) >= whole.end) continue;
    add_span(spans, whole.begin, begin_of(step, i));
    whole.begin = std::max(whole.begin, end_of(step, i));
  }
  add_span(spans, whole.begin, whole.end);
}

/// Frames that call frames, but no graph.
void add_outer_frames(const Step& step, const OpNesting& nesting,
                      const std::vector<GraphCall>& calls,
                      std::vector<std::vector<HostSpan>>& spans) {
  const HostOps& ops = step.trace.ops;
  OpRows rows(step.trace);
  std::set<std::uint32_t> calling;
  for (const GraphCall& call : calls) calling.insert(call.frame);
  calling.erase(no_row);
  std::map<std::uint32_t, HostSpan> inner;  // by the frame around it
  for (const std::uint32_t frame : calling) {
    const std::uint32_t outer = frame_of(nesting, rows, frame);
    if (outer == no_row || calling.count(outer) > 0) continue;
    const HostSpan own{ops.begin[frame], ops.begin[frame] + ops.duration[frame]};
    HostSpan& all = inner.try_emplace(outer, own).first->second;
    all = {std::min(all.begin, own.begin), std::max(all.end, own.end)};
  }
  for (const auto& [outer, all] : inner) {
    const ThreadId thread = ops.thread[outer];
    std::vector<HostSpan>& own = spans[thread.index()];
    add_between_calls(step, thread, {ops.begin[outer], all.begin}, own);
    add_between_calls(step, thread, {all.end, ops.begin[outer] + ops.duration[outer]}, own);
  }
}

}  // namespace

std::vector<GraphCall> graph_calls(const Step& step, const OpNesting& nesting) {
  std::vector<GraphCall> calls = calls_of(step, nesting);
  for (std::uint32_t i = 0; i < step.plan.items.size() && !calls.empty(); ++i) {
    const std::uint32_t row = step.plan.items[i].source;
    if (row == no_index) continue;
    const TimePoint begin = step.trace.calls.begin[row];
    const ThreadId thread = step.trace.calls.thread[row];
    const auto next = std::partition_point(calls.begin(), calls.end(),
                                           [&](const GraphCall& c) { return c.begin <= begin; });
    for (auto it = next; it != calls.begin();) {
      if ((--it)->thread != thread) continue;
      if (begin < it->end) it->items.push_back(i);
      break;
    }
  }
  std::erase_if(calls, [](const GraphCall& c) { return c.items.empty(); });
  return calls;
}

CutSpans spans_of_cuts(const Step& step, const OpNesting& nesting) {
  const std::vector<GraphCall> calls = graph_calls(step, nesting);
  CutSpans out;
  out.of_thread.resize(step.trace.threads.size());
  const Duration usual = usual_gap(step, calls);
  std::map<std::pair<std::uint32_t, bool>, const GraphCall*> before;  // by frame and direction
  for (const GraphCall& call : calls) {
    if (call.frame == no_row) continue;
    const GraphCall*& last = before[{call.frame, call.backward}];
    if (last != nullptr && last->thread == call.thread) {
      ++out.cuts;
      std::vector<HostSpan>& own = out.of_thread[call.thread.index()];
      const TimePoint left = end_of(step, last->items.back());
      const TimePoint entered = begin_of(step, call.items.front()) - usual;
      if (call.backward) {  // what stores gradients in between is not of the cut
        add_span(own, left, last->end);
        add_span(own, call.begin, entered);
      } else {
        add_span(own, left, entered);
      }
    }
    last = &call;
  }
  add_outer_frames(step, nesting, calls, out.of_thread);
  return out;
}

}  // namespace tandem
