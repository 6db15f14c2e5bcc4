#include "models/whatif/compile/host/graph_cuts.h"

#include <algorithm>
#include <map>

#include "models/step/binding/made_tensors.h"
#include "models/step/op_nesting.h"
#include "models/whatif/compile/host/host_reads.h"
#include "models/whatif/compile/host/uncompiled.h"

namespace tandem {
namespace {

/// The operations of the forward pass that the compiler is given, in the order of their launch.
std::vector<std::uint32_t> forward_of(const Dataflow& flow) {
  std::vector<std::uint32_t> out;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    if (flow.ops[i].in_model && flow.ops[i].phase == FlowPhase::forward) out.push_back(i);
  }
  return out;
}

/// Per host operation: whether calls of the runtime lie in it.
std::vector<bool> callers(const Step& step, const OpNesting& nesting) {
  std::vector<bool> calls(step.trace.ops.size(), false);
  for (std::uint32_t op : nesting.of_call) {
    for (; op != no_row && !calls[op]; op = nesting.parent[op]) calls[op] = true;
  }
  return calls;
}

/// Of the autograd nodes that operations which begin then or later make, the least number.
struct NodeNumber {
  TimePoint begin;
  std::int64_t least = -1;
};

/// In the order of time, of the operations of the forward pass.
std::vector<NodeNumber> node_numbers(const Trace& trace) {
  const HostOps& ops = trace.ops;
  std::vector<NodeNumber> out;
  for (std::uint32_t r = 0; r < ops.size(); ++r) {
    if (ops.sequence[r] < 0 || ops.forward_thread[r] > 0) continue;
    if (has_engine_prefix(text_of(trace, ops.name[r]))) continue;
    out.push_back({ops.begin[r], ops.sequence[r]});
  }
  std::sort(out.begin(), out.end(),
            [](const NodeNumber& a, const NodeNumber& b) { return a.begin < b.begin; });
  for (std::size_t i = out.size(); i-- > 1;) {
    out[i - 1].least = std::min(out[i - 1].least, out[i].least);
  }
  return out;
}

/// Graphs by the first number of their nodes.
std::map<std::int64_t, std::uint32_t> graphs_by_number(const std::vector<NodeNumber>& numbers,
                                                       const std::vector<GraphSpan>& spans) {
  std::map<std::int64_t, std::uint32_t> graphs;
  for (const GraphSpan& span : spans) {
    const auto next = std::lower_bound(
        numbers.begin(), numbers.end(), span.begin,
        [](const NodeNumber& number, TimePoint time) { return number.begin < time; });
    graphs[next == numbers.end() ? -1 : next->least] = span.graph;
  }
  return graphs;
}

class Cutter {
 public:
  Cutter(const Step& step, const Dataflow& flow)
      : step_(step), flow_(flow), forward_(forward_of(flow)), calls_(callers(step, flow.nesting)) {}

  GraphCuts cut(const GradientBuckets& buckets) {
    pieces_.assign(forward_.size(), false);
    if (!forward_.empty()) {
      cuts_ = cut_rows();
      kept_ = uncompiled(step_, flow_, forward_, cuts_);
    }
    cut_forward();
    pieces_ = piece_begins(step_, flow_, forward_, out_.graph_of, buckets);
    if (std::find(pieces_.begin(), pieces_.end(), true) != pieces_.end()) cut_forward();
    follow_backward();
    return std::move(out_);
  }

 private:
  TimePoint begin_of(std::uint32_t row) const { return step_.trace.ops.begin[row]; }

  void cut_forward() {
    out_ = uncut(flow_);
    graph_ = graphs_ = 0;
    spans_.clear();
    auto next = cuts_.begin();
    for (std::size_t at = 0; at < forward_.size(); ++at) {
      const TimePoint begin = begin_of(flow_.ops[forward_[at]].root);
      const auto before = next;
      while (next != cuts_.end() && begin_of(*next) < begin) ++next;
      if (begins_pass(at)) {  // what Python reads between two passes is not of the model
        begin_graph(begin);
      } else if (next != before && graph_ != runs_eager && !kept_[at]) {
        ++out_.breaks;
        begin_graph(begin_of(*std::prev(next)));
      } else if (pieces_[at] && graph_ != runs_eager) {
        ++out_.bucket_cuts;
        begin_graph(begin);
      }
      place(at, begin);
    }
  }

  /// Python reads a value, and what it does next depends on it.
  bool depends_on_value(std::uint32_t row) const {
    if (!reads_value(step_, row)) return false;
    const DataType type = value_type(step_, row);
    return type == DataType::boolean ? !calls_[row] : type != DataType::unknown;
  }

  /// What cuts the graph without being an operation of the model, between its first and last.
  std::vector<std::uint32_t> cut_rows() const {
    const HostOps& ops = step_.trace.ops;
    const std::uint32_t first = flow_.ops[forward_.front()].root;
    const TimePoint from = begin_of(first), to = begin_of(flow_.ops[forward_.back()].root);
    std::vector<std::uint32_t> rows;
    for (std::uint32_t r = 0; r < ops.size(); ++r) {
      if (flow_.nesting.parent[r] != no_row || ops.thread[r] != ops.thread[first]) continue;
      if (begin_of(r) <= from || begin_of(r) >= to) continue;
      if (depends_on_value(r)) rows.push_back(r);
    }
    for (const FlowOp& op : flow_.ops) {
      if (begin_of(op.root) <= from || begin_of(op.root) >= to) continue;
      if (tells_size(step_, flow_, op)) rows.push_back(op.root);
    }
    std::sort(rows.begin(), rows.end(),
              [&](std::uint32_t a, std::uint32_t b) { return begin_of(a) < begin_of(b); });
    return rows;
  }

  /// Graphs run once more in each pass, on values of their own.
  bool begins_pass(std::size_t at) const {
    return at > 0 && flow_.ops[forward_[at]].pass != flow_.ops[forward_[at - 1]].pass;
  }

  /// What begins at `from` or later belongs to another graph, or to none.
  void begin_graph(TimePoint from) { belong(from, ++graphs_); }
  void belong(TimePoint from, std::uint32_t graph) {
    graph_ = graph;
    spans_.push_back({from, graph});
  }

  void place(std::size_t at, TimePoint begin) {
    const std::uint32_t i = forward_[at];
    if (in_recurrent_layer(flow_.ops[i])) {
      if (graph_ != runs_eager) leave(at, begin);
    } else if (kept_[at]) {
      if (graph_ != runs_eager) {
        ++out_.breaks;
        belong(begin, runs_eager);
      }
    } else if (graph_ == runs_eager && goes_on(at)) {
      begin_graph(begin);
    }
    out_.graph_of[i] = graph_;
  }

  /// Whether a graph begins behind operations that run as before: what the rest of a recurrent
  /// layer's function is ends with a residual.
  bool goes_on(std::size_t at) const {
    return (at > 0 && kept_[at - 1]) || adds_residual(step_, flow_.ops[forward_[at]]);
  }

  bool in_recurrent_layer(const FlowOp& op) const {
    const auto layer = [](const OpRow& row) { return row.is(recurrent_layer); };
    return enclosing(step_.trace, flow_.nesting, op.op, layer) != no_row;
  }

  /// The graph ends before a recurrent layer, and before the zeros that it begins with.
  void leave(std::size_t at, TimePoint begin) {
    ++out_.breaks;
    for (; at > 0 && flow_.ops[forward_[at - 1]].kind == OpKind::fill; --at) {
      out_.graph_of[forward_[at - 1]] = runs_eager;
    }
    belong(begin, runs_eager);
  }

  void follow_backward() {
    if (spans_.empty()) return;
    const auto begins = graphs_by_number(node_numbers(step_.trace), spans_);
    for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
      if (flow_.ops[i].phase != FlowPhase::backward || flow_.ops[i].sequence < 0) continue;
      const auto after = begins.upper_bound(flow_.ops[i].sequence);
      out_.graph_of[i] = after == begins.begin() ? 0 : std::prev(after)->second;
    }
  }

  const Step& step_;
  const Dataflow& flow_;
  std::vector<std::uint32_t> forward_;
  std::vector<bool> calls_;
  std::vector<std::uint32_t> cuts_;  // rows of the trace, in the order of time
  std::vector<bool> kept_;           // per forward operation: whether it runs as before
  GraphCuts out_;
  std::uint32_t graph_ = 0, graphs_ = 0;
  std::vector<GraphSpan> spans_;  // behind the first graph
  std::vector<bool> pieces_;      // per forward operation: whether one begins with it
};

}  // namespace

GraphCuts uncut(const Dataflow& flow) {
  GraphCuts out;
  for (const FlowOp& op : flow.ops) out.graph_of.push_back(op.pass);
  return out;
}

GraphCuts graph_cuts(const Step& step, const Dataflow& flow, const GradientBuckets& buckets) {
  return Cutter(step, flow).cut(buckets);
}

std::vector<GraphSpan> graph_spans(const Step& step, const Dataflow& flow, const GraphCuts& cuts) {
  std::vector<GraphSpan> spans;
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    if (!flow.ops[i].in_model) continue;
    if (!spans.empty() && spans.back().graph == cuts.graph_of[i]) continue;
    spans.push_back({step.trace.ops.begin[flow.ops[i].op], cuts.graph_of[i]});
  }
  return spans;
}

}  // namespace tandem
