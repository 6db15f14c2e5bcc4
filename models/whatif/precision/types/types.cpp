#include "models/whatif/precision/types/types.h"

#include <algorithm>
#include <utility>

#include "models/whatif/precision/types/graph_types.h"
#include "models/whatif/precision/types/retyping.h"
#include "models/whatif/precision/types/rules.h"

namespace tandem {
namespace {

using K = OpKind;

/// Argument position of the activation of a layer; the others are parameters if nobody made them.
std::uint8_t activation_argument(const FlowOp& op, std::size_t inputs) {
  const bool second = op.kind == K::cast || (op.kind == K::matmul && inputs >= 3);
  return second ? 1 : 0;
}

/// Softmax makes FP32 of FP16 itself; BF16 is converted before (aten/native/SoftMax.cpp).
CastPolicy policy_in(DataType half, const FlowOp& op, CastPolicy policy) {
  const bool converts = op.kind == K::softmax && half == DataType::bf16;
  return converts && policy == CastPolicy::widen ? CastPolicy::full : policy;
}

DataType result_type(CastPolicy policy, DataType half, DataType widest) {
  switch (policy) {
    case CastPolicy::lower: return half;
    case CastPolicy::full:
    case CastPolicy::widen: return DataType::fp32;
    case CastPolicy::promote: break;
  }
  return widest;
}

/// Products that follow each other directly read one tensor (queries, keys, values) rather than
/// each other's results, where shapes alone tell what they read.
std::uint32_t shared_input(const Dataflow& flow, std::uint32_t tensor) {
  if (flow.tensors[tensor].memory.known()) return tensor;
  for (std::uint32_t t = tensor; flow.tensors[t].producer != no_row;) {
    const FlowOp& maker = flow.ops[flow.tensors[t].producer];
    const auto inputs = flow.inputs_of(maker);
    const bool layer = maker.kind == K::matmul && runs_forward(maker) && !maker.row->is(batched);
    if (!layer) return t;
    const std::size_t at = inputs.size() >= 3 ? 1 : 0;
    const std::uint32_t read = inputs[at].tensor;
    if (flow.tensors[read].elements != flow.tensors[t].elements) break;
    t = read;
  }
  return tensor;
}

/// What is filled within an operation that is handed a tensor of another size has its type: images
/// with a border, new zeros beside others.
DataType type_of_model(const Trace& trace, const Dataflow& flow, const MadeTypes& made,
                       std::uint32_t i) {
  const FlowOp& op = flow.ops[i];
  if (op.output_count == 0) return DataType::unknown;
  const FlowTensor& filled = flow.tensors[flow.outputs_of(op)[0]];
  for (std::uint32_t r = flow.nesting.parent[op.op]; r != no_row; r = flow.nesting.parent[r]) {
    if (is_in_place(text_of(trace, trace.ops.name[r]))) continue;
    const TensorShape* model = operands_of(trace, r).tensors.at(0);
    if (model == nullptr || model->type != filled.type || model->elements() <= 1) continue;
    return model->elements() == filled.elements ? DataType::unknown
                                                : made.latest(i, model->elements());
  }
  return DataType::unknown;
}

CastPolicy policy_under(const Trace& trace, const Dataflow& flow, DataType half, std::uint32_t i) {
  if (makes_angles(flow, i)) return CastPolicy::promote;
  return policy_in(half, flow.ops[i], policy_of(trace, flow, flow.ops[i]));
}

/// Queries, keys and values come from products, through views that leave no trace, unless they were
/// turned by their positions.
bool was_computed(const Dataflow& flow, std::uint32_t tensor) {
  const std::uint32_t maker = flow.tensors[tensor].producer;
  if (maker == no_row || flow.tensors[tensor].consumers > 1) return false;
  return flow.ops[maker].kind == K::pointwise && runs_forward(flow.ops[maker]);
}

/// Per operation: whether it is a layer of a compiled graph that autocast lowers.
std::vector<bool> lowered_in_graphs(const Trace& trace, const Dataflow& flow) {
  std::vector<bool> out;
  for (const FlowOp& op : flow.ops) {
    out.push_back(op.in_graph && policy_of(trace, flow, op) == CastPolicy::lower);
  }
  return out;
}

/// What autocast makes of the types of a step.
class Autocast : Retyping {
 public:
  Autocast(const Trace& trace, const Dataflow& flow, DataType half, std::int64_t fused_width)
      : Retyping(trace, flow, half, fused_width),
        graph_(flow, half, lowered_in_graphs(trace, flow)) {}

  TypeChange run();

 private:
  void forward(std::uint32_t i, const FlowOp& op) {
    if (op.in_graph) return in_graph(i, op);
    const bool aligned = align_list(i, op);
    if (change_.ops[i] == DataType::unknown) return;
    forward_of_[op.sequence] = i;
    if (const DataType inside = attention_.type_within(i, op); inside != DataType::unknown) {
      change_.policies[i] = is_half(inside) ? CastPolicy::lower : CastPolicy::full;
      if (op.kind == K::attention) cast_inputs(i, op, inside);
      set_outputs(i, op, inside);
      return;
    }
    if (aligned) {
      change_.policies[i] = policy_of(trace_, flow_, op);
      set_outputs(i, op, half_);
      return;
    }
    resolve_parts(i, op);
    bool mixed = false;
    const CastPolicy policy = change_.policies[i] = policy_under(trace_, flow_, half_, i);
    DataType type = result_type(policy, half_, promoted(flow_, op, change_.tensors, mixed));
    if (op.kind == K::fill && op.input_count == 0) type = type_of_model(trace_, flow_, made_, i);
    if (const DataType joined = made_.of_parts(trace_, i); joined != DataType::unknown)
      type = joined;
    if (type == DataType::unknown) type = change_.ops[i];
    if (policy == CastPolicy::promote) {
      if (const DataType own = own_type(op); own != DataType::unknown) type = own;
    }
    if (policy == CastPolicy::promote && !(mixed && op.row->is(aligns_types))) {
      change_.mixed[i] = mixed;
      if (mixed) gradients_.promoted_gradients(i, op);
    } else if (policy == CastPolicy::widen) {
      gradients_.narrowed_gradients(i, op);
    } else {
      cast_inputs(i, op, type);
    }
    set_outputs(i, op, type);
  }

  void in_graph(std::uint32_t i, const FlowOp& op) {
    if (change_.ops[i] == DataType::unknown) return;
    change_.policies[i] = policy_under(trace_, flow_, half_, i);
    if (graph_.lowers(i) && runs_forward(op)) cast_inputs(i, op, half_);
    graph_.retype(i, change_);
  }

  /// `x.to(y.dtype)` does something once autocast makes y 16-bit. True if it does for the list that
  /// `op` joins.
  bool align_list(std::uint32_t i, const FlowOp& op) {
    const AlignedList list = next_list(op);
    if (list.conversions == 0 || !made_.made_in_half(i, list.elements)) return false;
    const FlowUse& use = flow_.inputs_of(op)[0];
    for (std::size_t k = 0; k < list.conversions; ++k) {
      change_.casts.push_back(
          {i, false, list.elements, DataType::fp32, half_, false, i, use.argument});
      gradients_.cast_back(op,
                           {i, true, list.elements, half_, DataType::fp32, false, i, use.argument});
    }
    joined_ = list.elements * static_cast<std::int64_t>(list.operands);
    return true;
  }

  /// Activations that no operation of the step makes.
  void resolve_parts(std::uint32_t i, const FlowOp& op) {
    const auto inputs = flow_.inputs_of(op);
    const bool many = op.kind == K::attention || op.row->is(batched);
    for (const FlowUse& use : inputs) {
      const FlowTensor& tensor = flow_.tensors[use.tensor];
      if (tensor.producer != no_row || tensor.type != DataType::fp32 || tensor.elements <= 1)
        continue;
      const TensorShape* shape = operands_of(trace_, op.op).tensors.at(use.argument);
      DataType type = made_.of_whole(i, trace_.ops.begin[op.op], shape);
      if (joined_ > 0 && tensor.elements == joined_) type = half_;
      if (!is_half(type)) {
        if (!many && use.argument != activation_argument(op, inputs.size())) continue;
        type = made_.nearby(i, tensor.elements);
        if (type == DataType::unknown && shape != nullptr) type = made_.rows_of_latest(i, *shape);
      }
      if (is_half(type)) change_.tensors[use.tensor] = type;
    }
  }

  void set_outputs(std::uint32_t i, const FlowOp& op, DataType type) {
    change_.ops[i] = type;
    for (const std::uint32_t t : flow_.outputs_of(op)) {
      if (is_autocast_type(flow_.tensors[t].type)) change_.tensors[t] = type;
    }
  }

  void cast_inputs(std::uint32_t i, const FlowOp& op, DataType type) {
    const auto inputs = flow_.inputs_of(op);
    std::size_t floats = 0;
    for (const FlowUse& use : inputs) floats += is_autocast_type(change_.tensors[use.tensor]);
    for (const FlowUse& use : inputs) {
      const std::uint32_t t = op.kind == K::matmul ? shared_input(flow_, use.tensor) : use.tensor;
      const DataType from = change_.tensors[t];
      if (!is_autocast_type(from) || from == type) continue;
      const FlowTensor& tensor = flow_.tensors[t];
      if (op.kind == K::attention && !was_computed(flow_, t)) continue;
      // Parameters of norms stay in FP32; so do their kernels.
      if (type == DataType::fp32 && tensor.producer == no_row) continue;
      const bool activation = use.argument == activation_argument(op, floats);
      const bool parameter = tensor.producer == no_row && !activation;
      const std::int64_t elements = t == use.tensor ? flow_.elements_of(use) : tensor.elements;
      change_.casts.push_back({i, false, elements, from, type, parameter, i, use.argument});
      if (parameter || tensor.producer != no_row) {
        gradients_.cast_back(op, {i, true, elements, type, from, parameter, i, use.argument});
      }
    }
  }

  void backward(std::uint32_t i, const FlowOp& op);

  std::int64_t joined_ = 0;  // elements of the latest list brought to 16 bits
  GraphTypes graph_;
};

void Autocast::backward(std::uint32_t i, const FlowOp& op) {
  if (change_.ops[i] == DataType::unknown) return;
  if (op.in_graph) return in_graph(i, op);
  set_outputs(i, op, gradient_type(i, op, change_.ops[i]));
  gradients_.retype_gradients(op);
}

TypeChange Autocast::run() {
  for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
    const FlowOp& op = flow_.ops[i];
    if (runs_forward(op)) {
      forward(i, op);
    } else if (runs_backward(op)) {
      backward(i, op);
    }
  }
  graph_.fuse(change_.casts);
  sort_casts(change_.casts);
  return std::move(change_);
}

}  // namespace

TypeChange autocast(const Trace& trace, const Dataflow& flow, DataType half,
                    std::int64_t fused_width) {
  return Autocast(trace, flow, half, fused_width).run();
}

TypeChange without_autocast(const Dataflow& flow) {
  TypeChange change = unchanged(flow);
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (op.phase == FlowPhase::other) continue;
    if (is_precision_cast(flow, op)) change.removed.push_back(i);
    if (is_half(change.ops[i])) change.ops[i] = DataType::fp32;
  }
  for (DataType& type : change.tensors) {
    if (is_half(type)) type = DataType::fp32;
  }
  return change;
}

TypeChange without_whole(const Dataflow& flow) {
  TypeChange change = without_autocast(flow);
  for (DataType& type : change.ops) type = is_half(type) ? DataType::fp32 : type;
  return change;
}

TypeChange with_half(const Dataflow& flow, DataType half) {
  TypeChange change = unchanged(flow);
  for (DataType& type : change.ops) {
    if (is_half(type)) type = half;
  }
  for (DataType& type : change.tensors) {
    if (is_half(type)) type = half;
  }
  return change;
}

}  // namespace tandem
