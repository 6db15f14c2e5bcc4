#include "models/step/dataflow.h"

#include <algorithm>
#include <unordered_map>

#include "models/ops/op_outputs.h"
#include "models/step/memory/graph_flow.h"
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
    // An operation notes the number of the autograd node that is made next: innermost is exact.
    for (std::uint32_t r = row; r != no_row; r = flow_.nesting.parent[r]) {
      op.root = r;
      if (op.sequence < 0) op.sequence = ops.sequence[r];
      const bool node = has_engine_prefix(text_of(step_.trace, ops.name[r]));
      if (!node && ops.forward_thread[r] <= 0) continue;  // old profilers only note the thread
      op.phase = FlowPhase::backward;
      if (ops.sequence[r] >= 0) op.sequence = ops.sequence[r];
    }
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
  for (; row != no_row; row = nesting.parent[row]) {
    if (op_row(text_of(trace, trace.ops.name[row])).kind == OpKind::loss) return true;
  }
  return false;
}

/// Whether a copy only changes the layout.
bool keeps_type(const Step& step, const FlowOp& op) {
  const OpTensors& in = operands_of(step.trace, op.op).tensors;
  const TensorShape *to = in.at(0), *from = in.at(1);
  return to != nullptr && from != nullptr && to->type == from->type;
}

/// The model ends where the loss begins, or with the conversions and copies before it (language
/// models: the logits but those of the last token); what follows backward belongs to the optimizer.
void mark_model(const Step& step, Dataflow& flow) {
  const auto rows = static_cast<std::uint32_t>(flow.ops.size());
  std::uint32_t loss = rows, first_backward = rows, last_backward = 0;
  for (std::uint32_t i = 0; i < rows; ++i) {
    const FlowOp& op = flow.ops[i];
    if (op.phase == FlowPhase::backward) {
      first_backward = std::min(first_backward, i);
      last_backward = i;
    } else if (loss == rows && op.phase == FlowPhase::forward &&
               names_loss(step.trace, flow.nesting, op.op)) {
      loss = i;
    }
  }
  const bool trains = first_backward < rows;
  bool part = false;
  for (; loss > 0 && loss < rows && flow.ops[loss - 1].kind == OpKind::cast; --loss) {
    part |= keeps_type(step, flow.ops[loss - 1]);
  }
  const std::uint32_t end = trains ? std::min(loss, first_backward) : loss;
  std::int64_t first_loss = loss < rows ? flow.ops[loss].sequence : -1;
  // What is copied is a part of what the model made: taking it launched nothing, its gradient does.
  if (part && loss > 0) first_loss = flow.ops[loss - 1].sequence + 1;
  for (std::uint32_t i = 0; i < rows; ++i) {
    FlowOp& op = flow.ops[i];
    if (op.phase == FlowPhase::forward && trains && i > last_backward) op.phase = FlowPhase::other;
    if (op.phase == FlowPhase::other || is_transfer(step, flow, op)) continue;
    op.in_model = op.phase == FlowPhase::forward
                      ? i < end
                      : op.sequence >= 0 && (first_loss < 0 || op.sequence < first_loss);
  }
}

std::int64_t unique_elements(const TensorShape& shape) {
  return shape.elements() / std::max<std::int64_t>(1, shape.expanded);
}

/// Whether the strides are those of a part of a larger tensor.
bool is_slice(const TensorShape& shape) {
  double last = 0;  // place of the last element
  for (std::size_t d = 0; d < shape.rank; ++d) {
    last += (double(shape.dims[d]) - 1) * double(shape.strides[d]);
  }
  return last >= double(shape.elements());
}

/// Elements of the tensor that a slice is a part of: its longest stride steps over whole rows.
std::int64_t whole_elements(const TensorShape& slice) {
  std::int64_t elements = 0;
  for (std::size_t d = 0; d < slice.rank; ++d) {
    elements = std::max(elements, slice.dims[d] * slice.strides[d]);
  }
  return elements;
}

using Candidates = std::vector<std::uint32_t>;

/// The tensors that were made so far, by (elements, type), the latest last.
class MadeTensors {
 public:
  explicit MadeTensors(Dataflow& flow) : flow_(flow) {}

  Candidates& known(std::int64_t elements, DataType type) {
    return by_key_[static_cast<std::uint64_t>(elements) << 5U | static_cast<std::uint64_t>(type)];
  }

  std::uint32_t add(std::int64_t elements, DataType type, std::uint32_t producer) {
    const auto t = static_cast<std::uint32_t>(flow_.tensors.size());
    flow_.tensors.push_back({elements, type, producer, 0});
    if (producer == no_row) return t;
    if (elements > 0) {
      known(elements, type).push_back(t);
    } else {
      unshaped_.push_back(t);
    }
    return t;
  }

  /// What is joined of parts whose types the trace does not tell: its first reader does.
  std::uint32_t add_untyped(std::int64_t elements, std::uint32_t producer) {
    const auto t = static_cast<std::uint32_t>(flow_.tensors.size());
    flow_.tensors.push_back({elements, DataType::unknown, producer, 0});
    untyped_[elements] = t;
    return t;
  }

  /// The latest such tensor, if it was made after `found` (no_row: nothing was found).
  std::uint32_t type_given(const TensorShape& shape, std::uint32_t found) {
    const auto waits = untyped_.find(unique_elements(shape));
    if (waits == untyped_.end() || (found != no_row && waits->second < found)) return found;
    const std::uint32_t t = waits->second;
    untyped_.erase(waits);
    flow_.tensors[t].type = shape.type;
    known(unique_elements(shape), shape.type).push_back(t);
    return t;
  }

  /// Of the latest tensor with that many elements; unknown where there is none.
  DataType latest_type(std::int64_t elements) {
    constexpr DataType types[] = {DataType::fp32, DataType::fp16,   DataType::bf16,
                                  DataType::fp64, DataType::int64,  DataType::int32,
                                  DataType::int8, DataType::boolean};
    DataType found = DataType::unknown;
    std::uint32_t latest = 0;
    for (const DataType type : types) {
      const Candidates& list = known(elements, type);
      if (list.empty() || (found != DataType::unknown && list.back() < latest)) continue;
      found = type, latest = list.back();
    }
    return found;
  }

  /// Whether an output made after `tensor` has no shape yet.
  bool waits_since(std::uint32_t tensor) const {
    return !unshaped_.empty() && unshaped_.back() > tensor;
  }

  /// An output whose shape the trace does not tell gets that of the next operand without a maker.
  std::uint32_t shape_given(const TensorShape& shape) {
    if (unshaped_.empty()) return no_row;
    const std::uint32_t t = unshaped_.back();
    if (flow_.tensors[t].type != shape.type) return no_row;
    unshaped_.pop_back();
    flow_.tensors[t].elements = unique_elements(shape);
    known(unique_elements(shape), shape.type).push_back(t);
    return t;
  }

 private:
  Dataflow& flow_;
  std::unordered_map<std::uint64_t, Candidates> by_key_;
  std::unordered_map<std::int64_t, std::uint32_t> untyped_;  // by elements: the latest
  Candidates unshaped_;
};

/// A trace tells the shapes of a list's members, not their types. What is joined has one type:
/// that of the first member that the step made. Slices (the halves of rotary positions) cannot be
/// told from other tensors of their size.
OpTensors with_types(OpTensors tensors, MadeTensors& made) {
  DataType type = DataType::unknown;
  for (const TensorShape& shape : tensors.shapes) {
    if (is_slice(shape)) return tensors;
    if (type == DataType::unknown) type = shape.type;
    if (type == DataType::unknown) type = made.latest_type(unique_elements(shape));
  }
  for (TensorShape& shape : tensors.shapes) {
    if (shape.type == DataType::unknown) shape.type = type;
  }
  return tensors;
}

bool made_by_core(const Dataflow& flow, std::uint32_t tensor) {
  return is_core(flow.ops[flow.tensors[tensor].producer].kind);
}

/// A conversion of autocast within a layer, of an operand with the dimensions of the layer's
/// weight: nothing in the step made it, though a tensor of the step may be as large.
bool converts_weight(const Step& step, const Dataflow& flow, const FlowOp& op,
                     const TensorShape& shape) {
  if (op.kind != OpKind::cast || op.phase == FlowPhase::backward) return false;
  for (std::uint32_t r = flow.nesting.parent[op.op]; r != no_row; r = flow.nesting.parent[r]) {
    const OpRow& row = op_row(text_of(step.trace, step.trace.ops.name[r]));
    if (row.kind != OpKind::matmul && row.kind != OpKind::convolution) continue;
    const std::uint8_t weight = row.arguments.at(ArgumentName::weight);
    const std::uint8_t input = row.arguments.at(ArgumentName::input);
    if (weight == no_argument || input == no_argument) return false;
    const OpTensors& in = operands_of(step.trace, r).tensors;
    const auto is = [&](const TensorShape* t) { return t != nullptr && same_dims(*t, shape); };
    return is(in.at(weight)) && !is(in.at(input));
  }
  return false;
}

/// What the first operand of a sum is a scaled copy of: a branch is scaled (gates of channels,
/// scales of layers) and then added to another one, not to itself.
std::uint32_t scaled_operand(const Dataflow& flow, const FlowOp& op) {
  if (!op.row->is(adds_gradients) || flow.inputs.size() == op.first_input) return no_row;
  const FlowTensor& sum = flow.tensors[flow.inputs[op.first_input].tensor];
  if (sum.producer == no_row || flow.ops[sum.producer].kind != OpKind::pointwise) return no_row;
  std::uint32_t whole = no_row;
  bool scales = false;
  for (const FlowUse& use : flow.inputs_of(flow.ops[sum.producer])) {
    const std::int64_t elements = flow.tensors[use.tensor].elements;
    if (elements == sum.elements && whole == no_row) whole = use.tensor;
    scales |= elements > 1 && elements < sum.elements;
  }
  return scales ? whole : no_row;
}

/// The layer within which autocast converts an operand, or the layer itself brings it into another
/// order: nothing outside of it sees the result.
std::uint32_t converting_layer(const Step& step, const Dataflow& flow, const FlowOp& op) {
  if (op.kind != OpKind::cast || op.phase == FlowPhase::backward) return no_row;
  for (std::uint32_t r = flow.nesting.parent[op.op]; r != no_row; r = flow.nesting.parent[r]) {
    const OpKind kind = op_row(text_of(step.trace, step.trace.ops.name[r])).kind;
    if (kind == OpKind::cast || kind == OpKind::view) continue;
    return is_core(kind) || kind == OpKind::row_norm || kind == OpKind::softmax ? r : no_row;
  }
  return no_row;
}

/// Whether a tensor is the batch norm of a sum, perhaps behind an activation. Networks that
/// normalise their sums add the next branch to the sum, not to the branch's own normalised operand.
bool normalises_sum(const Dataflow& flow, std::uint32_t tensor) {
  constexpr int most = 2;  // activation and norm
  for (int i = 0; i < most; ++i) {
    const std::uint32_t maker = flow.tensors[tensor].producer;
    if (maker == no_row) return false;
    const FlowOp& op = flow.ops[maker];
    const auto inputs = flow.inputs_of(op);
    if (inputs.empty()) return false;
    const std::uint32_t from = inputs.front().tensor;
    if (op.kind == OpKind::batch_norm) {
      const std::uint32_t summed = flow.tensors[from].producer;
      return summed != no_row && flow.ops[summed].row->is(adds_gradients);
    }
    if (op.kind != OpKind::pointwise || inputs.size() != 1) return false;
    tensor = from;
  }
  return false;
}

/// What the node multiplied for a factor that was broadcast: the sum is that factor's gradient.
std::uint32_t unread_product(const Dataflow& flow, const Candidates& list, const FlowOp& op) {
  for (std::size_t k = list.size(); k-- > 0;) {
    const FlowTensor& tensor = flow.tensors[list[k]];
    const FlowOp& maker = flow.ops[tensor.producer];
    if (maker.phase != FlowPhase::backward || maker.root != op.root) break;
    if (maker.kind == OpKind::pointwise && tensor.consumers == 0) return list[k];
  }
  return no_row;
}

/// Whether `tensor` is an operand of `op` that was found so far.
bool reads(const Dataflow& flow, const FlowOp& op, std::uint32_t tensor) {
  for (std::uint32_t u = op.first_input; u < flow.inputs.size(); ++u) {
    if (flow.inputs[u].tensor == tensor) return true;
  }
  return false;
}

/// Whether an operand that was found so far was made by the node of `op`.
bool reads_own(const Dataflow& flow, const FlowOp& op) {
  for (std::uint32_t u = op.first_input; u < flow.inputs.size(); ++u) {
    const std::uint32_t maker = flow.tensors[flow.inputs[u].tensor].producer;
    if (maker != no_row && flow.ops[maker].root == op.root) return true;
  }
  return false;
}

/// What an operation of the forward pass cannot have meant, or hardly.
class HiddenTensors {
 public:
  HiddenTensors(const Step& step, const Dataflow& flow) : flow_(flow) {
    for (const FlowOp& op : flow.ops) layer_.push_back(converting_layer(step, flow, op));
  }

  /// Operation `op` works in place: who names its first operand afterwards means the result.
  void overwritten_by(const FlowOp& op) {
    if (op.input_count == 0 || op.output_count == 0) return;
    const FlowUse& first = flow_.inputs_of(op)[0];
    if (first.argument != 0) return;  // a copy names only what it reads
    if (first.tensor >= overwritten_.size()) overwritten_.resize(first.tensor + 1, false);
    overwritten_[first.tensor] = true;
  }

  bool from(std::uint32_t tensor, const FlowOp& op, bool further) const {
    if (op.phase == FlowPhase::backward) return false;
    if (tensor < overwritten_.size() && overwritten_[tensor]) return true;
    const std::uint32_t layer = layer_[flow_.tensors[tensor].producer];
    std::uint32_t r = op.op;
    while (layer != no_row && r != layer && r != no_row) r = flow_.nesting.parent[r];
    if (layer != no_row && r == no_row) return true;
    return further && op.row->is(adds_gradients) && normalises_sum(flow_, tensor);
  }

 private:
  const Dataflow& flow_;
  std::vector<std::uint32_t> layer_;  // per operation: of which it converts an operand, or no_row
  std::vector<bool> overwritten_;     // per tensor
};

/// Per operation: its number of autograd, or the latest one before it.
std::vector<std::int64_t> numbers_of(const Dataflow& flow) {
  std::vector<std::int64_t> numbers;
  std::int64_t latest = -1;
  for (const FlowOp& op : flow.ops) {
    const bool numbered = op.phase == FlowPhase::forward && op.sequence >= 0;
    if (numbered) latest = std::max(latest, op.sequence);
    numbers.push_back(numbered ? op.sequence : latest);
  }
  return numbers;
}

/// Finds out which tensor each operand is.
class Binder {
 public:
  Binder(const Step& step, Dataflow& flow)
      : step_(step), flow_(flow), made_(flow), hidden_(step, flow), number_(numbers_of(flow)) {}

  void bind_op(std::uint32_t i) {
    FlowOp& op = flow_.ops[i];
    const Operands& in = operands_of(step_.trace, op.op);
    if (op.root != node_) node_ = op.root, gradient_ = no_row, factors_.clear();
    const OpRow& row = *op.row;
    const bool joins = concatenates(op);
    const OpTensors typed = joins ? with_types(in.tensors, made_) : OpTensors{};
    const OpTensors& tensors = joins ? typed : in.tensors;
    bind_inputs(op, row, tensors);
    const std::string_view name = text_of(step_.trace, step_.trace.ops.name[op.op]);
    for (const OutputShape& s : output_shapes(row, name, tensors, in.arguments)) {
      if (s.shape.type != DataType::unknown) {
        flow_.outputs.push_back(add(s.elements(), s.shape.type, i));
      } else if (joins && op.phase == FlowPhase::forward && s.elements() > 0) {
        core_reads_.push_back(false);
        flow_.outputs.push_back(made_.add_untyped(s.elements(), i));
      }
    }
    op.output_count = static_cast<std::uint32_t>(flow_.outputs.size()) - op.first_output;
    const bool product = op.row->is(multiplies) && op.input_count == 2;
    if (product && op.phase == FlowPhase::forward) products_.try_emplace(op.sequence, i);
    if (is_in_place(name)) hidden_.overwritten_by(op);
  }

  /// Of compiled graphs.
  void see_new_tensors() {
    for (auto t = static_cast<std::uint32_t>(core_reads_.size()); t < flow_.tensors.size(); ++t) {
      const FlowTensor& tensor = flow_.tensors[t];
      core_reads_.push_back(false);
      if (tensor.producer != no_row) made_.known(tensor.elements, tensor.type).push_back(t);
    }
  }

 private:
  std::uint32_t add(std::int64_t elements, DataType type, std::uint32_t producer) {
    core_reads_.push_back(false);
    return made_.add(elements, type, producer);
  }

  bool taken(std::uint32_t tensor, const FlowOp& op) const { return reads(flow_, op, tensor); }

  /// What the forward operation of number `sequence` read (`input`) or made.
  std::uint32_t saved(const Candidates& list, const FlowOp& op, bool input) const {
    for (std::size_t k = list.size(); k-- > 0;) {
      const std::uint32_t maker = flow_.tensors[list[k]].producer;
      if (flow_.ops[maker].phase != FlowPhase::forward || taken(list[k], op)) continue;
      if (number_[maker] < op.sequence || (!input && number_[maker] == op.sequence)) return list[k];
    }
    return no_row;
  }

  /// The latest one; for further operands rather one that nobody has read yet, or that no library
  /// kernel made or read: those are read once.
  std::uint32_t latest(const Candidates& list, const FlowOp& op, bool further) const {
    const bool backward = op.phase == FlowPhase::backward;
    const std::uint32_t scaled = further && !backward ? scaled_operand(flow_, op) : no_row;
    const std::size_t oldest = list.size() > 64 ? list.size() - 64 : 0;
    std::uint32_t any = no_row, seen = no_row, free = no_row, other = no_row;
    for (std::size_t k = list.size(); k-- > oldest;) {
      const std::uint32_t t = list[k];
      if (taken(t, op) || t == scaled) continue;
      if (backward && flow_.ops[flow_.tensors[t].producer].phase != FlowPhase::backward) continue;
      if (any == no_row) any = t;
      if (hidden_.from(t, op, further)) continue;
      if (seen == no_row) seen = t;
      if (free == no_row && flow_.tensors[t].consumers == 0) free = t;
      if (other == no_row && !(backward ? core_reads_[t] : made_by_core(flow_, t))) other = t;
    }
    if (seen == no_row) return any;
    if (!further && !backward) return seen;
    if (free != no_row) return free;
    return other != no_row ? other : seen;
  }

  /// The latest tensor that a slice can be a part of; an operation may read several parts of one.
  std::uint32_t latest_whole(const TensorShape& slice, const FlowOp& op) {
    const Candidates& list = made_.known(whole_elements(slice), slice.type);
    const bool backward = op.phase == FlowPhase::backward;
    const auto whole = std::find_if(list.rbegin(), list.rend(), [&](std::uint32_t t) {
      const std::uint32_t maker = flow_.tensors[t].producer;
      if (backward)
        return flow_.ops[maker].phase == FlowPhase::forward && number_[maker] < op.sequence;
      return !hidden_.from(t, op, false);
    });
    return whole == list.rend() ? no_row : *whole;
  }

  /// Gradients that meet are added right below the node that reads the sum.
  bool accumulates(const FlowOp& op) const {
    return op.row->is(adds_gradients) && flow_.nesting.parent[op.op] == op.root;
  }

  /// The gradient of a product of two tensors is multiplied by each of them.
  std::uint32_t factor(const FlowOp& op, std::int64_t elements, bool further) {
    const auto product = products_.find(op.sequence);
    if (product == products_.end() || !op.row->is(multiplies)) return no_row;
    if (!further) return flow_.tensors[gradient_].elements == elements ? gradient_ : no_row;
    for (const FlowUse& use : flow_.inputs_of(flow_.ops[product->second])) {
      const std::uint32_t t = use.tensor;
      const bool used = std::find(factors_.begin(), factors_.end(), t) != factors_.end();
      if (used || flow_.tensors[t].producer == no_row || flow_.elements_of(use) != elements)
        continue;
      factors_.push_back(t);
      return t;
    }
    return no_row;
  }

  /// An operand within an autograd node: the node's gradient, what the node made, or what its
  /// forward operation kept.
  std::uint32_t within_node(const Candidates& list, const FlowOp& op) const {
    const bool gradient =
        std::find(list.begin(), list.end(), gradient_) != list.end() && !taken(gradient_, op);
    const bool reads_gradient = op.kind == OpKind::matmul || op.kind == OpKind::reduction;
    const std::uint32_t product =
        op.kind == OpKind::reduction ? unread_product(flow_, list, op) : no_row;
    if (product != no_row) return product;
    if (gradient && reads_gradient) return gradient_;
    for (std::size_t k = list.size(); k-- > 0 && !reads_gradient;) {
      const FlowOp& maker = flow_.ops[flow_.tensors[list[k]].producer];
      if (maker.phase != FlowPhase::backward || maker.root != op.root) break;
      if (!taken(list[k], op)) return list[k];
    }
    // The gradient times a constant is already the first factor: the other one was kept.
    if (gradient && op.row->is(multiplies) && reads_own(flow_, op)) {
      const std::uint32_t kept = saved(list, op, true);
      if (kept != no_row) return kept;
    }
    return gradient ? gradient_ : saved(list, op, true);
  }

  std::uint32_t find(const FlowOp& op, const OpRow& row, const TensorShape& shape,
                     std::uint8_t argument, bool further) {
    if (!contains(row.arguments.made, argument) || converts_weight(step_, flow_, op, shape))
      return no_row;
    const Candidates& list = made_.known(unique_elements(shape), shape.type);
    std::uint32_t t = no_row;
    if (op.phase == FlowPhase::backward) {
      const bool input = contains(row.arguments.saved_inputs, argument);
      if (input && is_slice(shape)) return latest_whole(shape, op);
      if (input || contains(row.arguments.saved_outputs, argument)) return saved(list, op, input);
      if (gradient_ != no_row && !accumulates(op)) {
        t = factor(op, unique_elements(shape), further);
        // Gradients of rows are added to a table of zeros.
        if (further && op.kind == OpKind::scatter) t = latest(list, op, further);
        return t != no_row ? t : within_node(list, op);
      }
      t = latest(list, op, further);
      if (!accumulates(op)) gradient_ = t;
      return t;
    }
    if (is_slice(shape)) return latest_whole(shape, op);
    t = made_.type_given(shape, latest(list, op, further));
    // Rows that an index picked and that are added to others are those that it picked last.
    const bool rows = op.row->is(adds_rows) && further && (t == no_row || made_.waits_since(t));
    const std::uint32_t given =
        rows || (t == no_row && argument == 0) ? made_.shape_given(shape) : no_row;
    return given != no_row ? given : t;
  }

  void bind_inputs(FlowOp& op, const OpRow& row, const OpTensors& operands) {
    op.first_input = static_cast<std::uint32_t>(flow_.inputs.size());
    bool further = false;
    for (std::size_t i = 0; i < operands.shapes.size(); ++i) {
      const std::uint8_t argument = operands.arguments[i];
      if (row.kind == OpKind::cast && argument == 0 && operands.shapes.size() > 1) continue;
      const TensorShape& shape = operands.shapes[i];
      if (row.kind == OpKind::fill) continue;  // only written
      std::uint32_t t = find(op, row, shape, argument, further);
      if (t == no_row) t = add(unique_elements(shape), shape.type, no_row);
      further = true;
      ++flow_.tensors[t].consumers;
      if (is_core(op.kind)) core_reads_[t] = true;
      const bool part = flow_.tensors[t].producer != no_row && is_slice(shape);
      flow_.inputs.push_back({t, argument, part ? unique_elements(shape) : 0});
    }
    op.input_count = static_cast<std::uint32_t>(flow_.inputs.size()) - op.first_input;
  }

  const Step& step_;
  Dataflow& flow_;
  MadeTensors made_;
  HiddenTensors hidden_;
  std::vector<std::int64_t> number_;                          // per operation
  std::vector<bool> core_reads_;                              // per tensor
  std::uint32_t node_ = no_row;                               // root of the operation at hand
  Candidates factors_;                                        // what this node has multiplied by
  std::unordered_map<std::int64_t, std::uint32_t> products_;  // of two tensors, by number
  std::uint32_t gradient_ = no_row;  // that the autograd node of this root was given
};

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

bool concatenates(const FlowOp& op) {
  return op.row != nullptr && op.row->output == OutputRule::joined;
}

Dataflow dataflow(const Step& step) {
  Dataflow flow;
  flow.nesting = nest_ops(step.trace, step.links);
  OpRows rows(step.trace);
  OpCollector(step, rows, flow).collect();
  mark_model(step, flow);
  mark_graphs(step, flow);
  bind_tensors(step, flow);
  return flow;
}

}  // namespace tandem
