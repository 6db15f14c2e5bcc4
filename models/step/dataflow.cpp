#include "models/step/dataflow.h"

#include <algorithm>

#include "models/step/binding/binder.h"
#include "models/step/binding/compiled_graphs.h"
#include "models/step/binding/graph_flow.h"
#include "models/step/binding/recomputed.h"
#include "models/step/op_rows.h"

namespace tandem {
namespace {

/// Device works of each operation, operations in the order of their first launch.
class OpCollector {
 public:
  OpCollector(const Step& step, OpRows& rows, Dataflow& flow)
      : step_(step), rows_(rows), flow_(flow) {}

  void collect() {
    const Trace& trace = step_.trace;
    const auto order = launch_order();
    std::vector<std::uint32_t> known(trace.ops.size(), no_row);
    std::vector<std::vector<std::uint32_t>> works;
    flow_.op_of_work.assign(step_.plan.works.size(), no_row);
    for (const std::uint32_t w : order) {
      const std::uint32_t row = flow_.nesting.of_activity[step_.plan.works[w].source];
      if (row == no_row) continue;
      if (known[row] == no_row) {
        known[row] = static_cast<std::uint32_t>(flow_.ops.size());
        flow_.ops.push_back(describe(row));
        works.emplace_back();
      }
      flow_.op_of_work[w] = known[row];
      works[known[row]].push_back(w);
    }
    for (std::size_t i = 0; i < works.size(); ++i) {
      flow_.ops[i].first_work = static_cast<std::uint32_t>(flow_.works.size());
      flow_.ops[i].work_count = static_cast<std::uint32_t>(works[i].size());
      flow_.works.insert(flow_.works.end(), works[i].begin(), works[i].end());
    }
  }

 private:
  std::vector<std::uint32_t> launch_order() const {
    std::vector<std::uint32_t> order(step_.plan.works.size());
    std::vector<TimePoint> time(order.size());
    for (std::uint32_t w = 0; w < order.size(); ++w) {
      order[w] = w;
      const std::uint32_t a = step_.plan.works[w].source;
      const std::uint32_t call = step_.links.call_of_activity[a];
      time[w] = call != no_row ? step_.trace.calls.begin[call] : step_.trace.activities.begin[a];
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::uint32_t a, std::uint32_t b) { return time[a] < time[b]; });
    return order;
  }

  FlowOp describe(std::uint32_t row) {
    const HostOps& ops = step_.trace.ops;
    FlowOp op;
    op.op = row;
    op.row = &rows_.of(row);
    op.kind = op.row->kind;
    op.phase = op.kind == OpKind::optimizer ? FlowPhase::other : FlowPhase::forward;
    std::int64_t own = -1;  // number of the operation, not of the node around it
    // An operation notes the number of the autograd node that is made next: innermost is exact.
    for (std::uint32_t r = row; r != no_row; r = flow_.nesting.parent[r]) {
      op.root = r;
      if (op.sequence < 0) op.sequence = ops.sequence[r];
      const bool node = has_engine_prefix(text_of(step_.trace, ops.name[r]));
      if (!node && ops.forward_thread[r] <= 0) continue;       // old profilers only note the thread
      if (op.phase != FlowPhase::backward) own = op.sequence;  // the node has another one
      op.phase = FlowPhase::backward;
      if (ops.sequence[r] >= 0) op.sequence = ops.sequence[r];
      if (node) break;  // one that another node runs stands for itself
    }
    if (op.phase == FlowPhase::backward && own != op.sequence) op.makes = own;
    return op;
  }

  const Step& step_;
  OpRows& rows_;
  Dataflow& flow_;
};

bool is_transfer(const Step& step, const Dataflow& flow, const FlowOp& op) {
  const auto works = flow.works_of(op);
  return std::any_of(works.begin(), works.end(), [&](std::uint32_t w) {
    const DeviceEngine engine = step.plan.works[w].engine;
    return engine == DeviceEngine::copy_to_device || engine == DeviceEngine::copy_to_host;
  });
}

bool names_loss(const Trace& trace, const OpNesting& nesting, std::uint32_t row) {
  return enclosing(trace, nesting, row, [](const OpRow& r) { return r.kind == OpKind::loss; }) !=
         no_row;
}

bool is_of_words(const Trace& trace, std::uint32_t row) {
  constexpr int rank_of_words = 2;
  const TensorShape* x = operands_of(trace, row).tensors.at(0);
  return x != nullptr && x->rank == rank_of_words && x->type == DataType::int64;
}

/// What Transformers does where labels are handed to a model, which then computes its loss itself:
/// behind the last layer labels are padded, to be moved a place on; or those that count for nothing
/// are overwritten, where labels are what a decoder reads.
class OwnLoss {
 public:
  bool is_there() const { return padded_ || overwritten_; }

  void see(const Step& step, const Dataflow& flow, const FlowOp& op) {
    if (!is_of_words(step.trace, op.op)) return;
    padded_ |= enclosing(step.trace, flow.nesting, op.op, [](const OpRow& row) {
                 return row.output == OutputRule::padded;
               }) != no_row;
    if (op.kind != OpKind::pointwise) return;
    const TensorShape* where = operands_of(step.trace, op.op).tensors.at(1);
    overwritten_ |= where != nullptr && where->type == DataType::boolean &&
                    is_in_place(text_of(step.trace, step.trace.ops.name[op.op]));
  }
  /// What was padded before a layer are words that it reads.
  void see_layer() { padded_ = false; }

 private:
  bool padded_ = false, overwritten_ = false;
};

/// Whether a copy only changes the layout.
bool keeps_type(const Step& step, const FlowOp& op) {
  const OpTensors& in = operands_of(step.trace, op.op).tensors;
  const TensorShape *to = in.at(0), *from = in.at(1);
  return to != nullptr && from != nullptr && to->type == from->type;
}

/// Whether the operation is of a model, not of what a program does with its results.
bool runs_model(const FlowOp& op) {
  return op.phase == FlowPhase::forward && op.kind != OpKind::loss &&
         (is_core(op.kind) || op.kind == OpKind::generated);
}

/// Operations of one pass: indices of Dataflow::ops.
struct PassRange {
  std::uint32_t begin = 0, end = 0;
};

/// Whether it computes gradients that nothing is asked of.
bool ends_pass(const FlowOp& op) { return op.phase == FlowPhase::backward && op.makes < 0; }

/// A pass begins with the first operation behind the gradients of another one, if layers follow and
/// gradients again: a step may add up the gradients of several batches. What follows the last
/// gradients belongs to the last pass. Gradients that are differentiated again (penalties of
/// slopes, equations) are a part of their pass.
std::vector<PassRange> find_passes(const Dataflow& flow) {
  const auto rows = static_cast<std::uint32_t>(flow.ops.size());
  std::uint32_t last_backward = 0;
  for (std::uint32_t i = 0; i < rows; ++i) {
    if (flow.ops[i].phase == FlowPhase::backward) last_backward = i;
  }
  std::vector<PassRange> passes{{0, rows}};
  bool gradients = false;         // of this pass were seen
  std::uint32_t behind = no_row;  // the first operation since the last of them
  for (std::uint32_t i = 0; i < last_backward; ++i) {
    if (ends_pass(flow.ops[i])) {
      gradients = true, behind = no_row;
      continue;
    }
    if (!gradients || flow.ops[i].phase != FlowPhase::forward) continue;
    if (behind == no_row) behind = i;
    if (!runs_model(flow.ops[i])) continue;
    passes.back().end = behind;
    passes.push_back({behind, rows});
    gradients = false, behind = no_row;
  }
  return passes;
}

/// A layer that holds parameters, which a loss has none of.
bool runs_layer(const Step& step, const Dataflow& flow, const FlowOp& op) {
  if (op.phase != FlowPhase::forward) return false;
  return enclosing(step.trace, flow.nesting, op.op, [](const OpRow& r) {
           return (r.kind == OpKind::convolution || r.kind == OpKind::matmul) &&
                  r.arguments.parameters != 0;
         }) != no_row;
}

/// Whether a node of the engine runs `op` that stands in no sequence, which those of traces do: of
/// a view, whose forward operation launched nothing, in a network. Gradients of parameters are
/// stored by such nodes, too.
bool runs_view_backward(const Step& step, const Dataflow& flow, const FlowOp& op) {
  for (std::uint32_t r = op.op; r != no_row; r = flow.nesting.parent[r]) {
    const std::string_view name = text_of(step.trace, step.trace.ops.name[r]);
    if (!has_engine_prefix(name)) continue;
    return step.trace.ops.sequence[r] < 0 &&
           !op_row(without_engine_prefix(name)).is(stores_gradients);
  }
  return false;
}

/// The model ends where the loss begins, or with the conversions and copies before it (language
/// models: the logits but those of the last token); what follows backward belongs to the optimizer.
/// A loss with layers behind it is a part of the model (one of a code, of experts), and so is one
/// whose labels the model moves, or is handed as nanoGPT is.
void mark_pass(const Step& step, PassRange pass, Dataflow& flow) {
  const std::uint32_t rows = pass.end;
  std::uint32_t loss = rows, first_backward = rows, last_backward = 0;
  OwnLoss own_loss;
  const bool handed = std::any_of(
      flow.ops.begin() + pass.begin, flow.ops.begin() + pass.end, [&](const FlowOp& op) {
        return op.kind == OpKind::loss && op.phase == FlowPhase::forward &&
               ignores_minus_one(step.trace, flow.nesting, op.op);
      });
  for (std::uint32_t i = pass.begin; i < rows; ++i) {
    const FlowOp& op = flow.ops[i];
    if (op.phase == FlowPhase::backward) {
      if (ends_pass(op)) first_backward = std::min(first_backward, i);
      last_backward = i;
    } else if (first_backward == rows && runs_layer(step, flow, op)) {
      loss = rows;
      own_loss.see_layer();
    } else if (loss == rows && op.phase == FlowPhase::forward && !handed && !own_loss.is_there() &&
               names_loss(step.trace, flow.nesting, op.op)) {
      loss = i;
    } else if (op.phase == FlowPhase::forward) {
      own_loss.see(step, flow, op);
    }
  }
  const bool trains = first_backward < rows;
  bool part = false;
  for (; loss > pass.begin && loss < rows && flow.ops[loss - 1].kind == OpKind::cast; --loss) {
    part |= keeps_type(step, flow.ops[loss - 1]);
  }
  const std::uint32_t end = trains ? std::min(loss, first_backward) : loss;
  // Conversions of a network stand in no sequence.
  std::int64_t first_loss = -1;
  for (std::uint32_t i = loss; i < std::min(rows, first_backward) && first_loss < 0; ++i) {
    first_loss = flow.ops[i].sequence;
  }
  // What is copied is a part of what the model made: taking it launched nothing, its gradient does.
  if (part && loss > pass.begin) first_loss = flow.ops[loss - 1].sequence + 1;
  // Such nodes belong to the model from where its gradients begin.
  bool behind_loss = false;
  for (std::uint32_t i = pass.begin; i < rows; ++i) {
    FlowOp& op = flow.ops[i];
    if (op.phase == FlowPhase::forward && trains && i > last_backward) op.phase = FlowPhase::other;
    if (op.phase == FlowPhase::other || is_transfer(step, flow, op)) continue;
    if (op.phase == FlowPhase::forward) {
      op.in_model = i < end;
      continue;
    }
    if (op.sequence >= 0) behind_loss = first_loss < 0 || op.sequence < first_loss;
    op.of_view = op.sequence < 0 && runs_view_backward(step, flow, op);
    op.in_model = behind_loss && (op.sequence >= 0 || op.of_view);
  }
}

void mark_model(const Step& step, Dataflow& flow) {
  const std::vector<PassRange> passes = find_passes(flow);
  for (std::uint32_t p = 0; p < passes.size(); ++p) {
    for (std::uint32_t i = passes[p].begin; i < passes[p].end; ++i) flow.ops[i].pass = p;
    mark_pass(step, passes[p], flow);
  }
}

void bind_tensors(const Step& step, Dataflow& flow) {
  Binder binder(step, flow);
  GraphFlow graph(step, flow);
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    FlowOp& op = flow.ops[i];
    op.first_input = static_cast<std::uint32_t>(flow.inputs.size());
    op.first_output = static_cast<std::uint32_t>(flow.outputs.size());
    if (op.kind == OpKind::optimizer || !operands_of(step.trace, op.op).has_shapes) continue;
    if (op.in_graph) {
      graph.bind(i);
      binder.see_new_tensors();
    } else {
      binder.bind_op(i);
    }
  }
  graph.settle();
}

}  // namespace

bool reads_any(const Dataflow& flow, const FlowOp& op, const std::vector<bool>& tensors) {
  const auto inputs = flow.inputs_of(op);
  return std::any_of(inputs.begin(), inputs.end(),
                     [&](const FlowUse& use) { return tensors[use.tensor]; });
}

bool concatenates(const FlowOp& op) {
  return op.row != nullptr && op.row->output == OutputRule::joined;
}

bool fills_given_result(const Trace& trace, const FlowOp& op) {
  if (op.kind != OpKind::matmul || !op.row->arguments.has(ArgumentName::right)) return false;
  const auto& given = operands_of(trace, op.op).tensors.arguments;
  const auto last = op.row->arguments.at(ArgumentName::right);
  return std::any_of(given.begin(), given.end(), [&](std::uint8_t at) { return at > last; });
}

const OpTensors* product_of_batch(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  const std::uint32_t whole = enclosing(trace, flow.nesting, op.op, [](const OpRow& row) {
    return row.kind == OpKind::matmul && row.is(batched);
  });
  return whole == no_row ? nullptr : &operands_of(trace, whole).tensors;
}

bool of_pictures(const Trace& trace, const Dataflow& flow, const FlowOp& op, std::size_t image) {
  const TensorShape* x = nullptr;
  for (std::uint32_t layer = op.op; layer != no_row; layer = flow.nesting.parent[layer]) {
    if (!is_convolution(op_row(text_of(trace, trace.ops.name[layer])))) break;
    if (const TensorShape* stated = operands_of(trace, layer).tensors.at(image)) x = stated;
  }
  return x != nullptr && x->rank == image_rank;
}

bool uses_tf32(const Step& step, const Dataflow& flow, const FlowOp& op) {
  const auto works = flow.works_of(op);
  return std::any_of(works.begin(), works.end(), [&](std::uint32_t w) {
    return step.kernels.of(step.plan.works[w].source).math == DataType::tf32;
  });
}

bool ignores_minus_one(const Trace& trace, const OpNesting& nesting, std::uint32_t row) {
  constexpr std::size_t ignored = 4;  // argument of cross_entropy_loss and nll_loss
  for (std::uint32_t r = row; r != no_row; r = nesting.parent[r]) {
    if (op_row(text_of(trace, trace.ops.name[r])).kind != OpKind::loss) continue;
    if (operands_of(trace, r).argument(ignored) == Argument(std::int64_t{-1})) return true;
  }
  return false;
}

Dataflow dataflow(const Step& step) {
  Dataflow flow;
  flow.nesting = nest_ops(step.trace, step.links);
  OpRows rows(step.trace);
  OpCollector(step, rows, flow).collect();
  mark_recomputed(step, flow);
  mark_model(step, flow);
  mark_graphs(step, flow);
  bind_tensors(step, flow);
  return flow;
}

}  // namespace tandem
