#include "models/step/binding/norm_order.h"

#include "models/step/binding/node_operands.h"

namespace tandem {
bool adds_to_turned(const FlowOp& op, const OpTensors& operands) {
  if (!runs_forward(op) || !op.row->is(adds_gradients) || operands.shapes.size() != 2) return false;
  const TensorShape &first = operands.shapes[0], &second = operands.shapes[1];
  if (!lies_turned(first) || !same_dims(first, second)) return false;
  return second.strides[static_cast<std::size_t>(second.rank - 1)] == 1;
}

NormOrder::NormOrder(const Step& step, const Dataflow& flow) : step_(step), flow_(flow) {
  std::unordered_set<std::uint32_t> adding;  // nodes below which gradients meet
  for (const FlowOp& op : flow.ops) {
    if (runs_backward(op) && accumulates(flow, op)) adding.insert(op.root);
  }
  for (const FlowOp& op : flow.ops) {
    if (op.kind != OpKind::row_norm_backward) continue;
    trains_ = true;
    if (adding.count(op.root) > 0) first_.insert(op.sequence);
  }
}

/// What a norm read, before it was put in order.
std::uint32_t NormOrder::normalised(const FlowOp& norm) const {
  if (norm.input_count == 0) return no_row;
  const std::uint32_t read = flow_.inputs_of(norm)[0].tensor;
  const std::uint32_t producer = flow_.tensors[read].producer;
  if (producer == no_row) return no_row;
  const FlowOp& copy = flow_.ops[producer];
  if (copy.kind != OpKind::cast || copy.input_count == 0) return read;
  const std::uint32_t copied = flow_.inputs_of(copy)[0].tensor;
  return look_alike(flow_.tensors[copied], flow_.tensors[read]) ? copied : read;
}

/// Whether pictures went through convolutions and what generated code computes alone.
bool NormOrder::of_patches(std::uint32_t tensor) const {
  constexpr int most_steps = 16;
  for (int i = 0; i < most_steps && tensor != no_row; ++i) {
    const std::uint32_t producer = flow_.tensors[tensor].producer;
    if (producer == no_row) return false;
    const FlowOp& maker = flow_.ops[producer];
    if (maker.kind == OpKind::convolution) {
      const auto image = maker.row->arguments.at(ArgumentName::input);
      return of_pictures(step_.trace, flow_, maker, image);
    }
    if (is_core(maker.kind) || maker.input_count == 0) return false;
    const auto inputs = flow_.inputs_of(maker);
    tensor = inputs[0].tensor;
    for (const FlowUse& use : inputs) {  // class tokens and places are parameters
      if (flow_.tensors[use.tensor].producer != no_row) tensor = use.tensor;
    }
  }
  return false;
}

void NormOrder::see(const FlowOp& op) {
  if (seen_ || op.kind != OpKind::row_norm || !runs_forward(op)) return;
  seen_ = true;
  patches_ = of_patches(normalised(op));
}

std::uint32_t NormOrder::summed(const FlowOp& op, const TensorShape& shape,
                                std::uint32_t tensor) const {
  if (tensor == no_row || !op.row->is(adds_gradients)) return tensor;
  const std::uint32_t producer = flow_.tensors[tensor].producer;
  if (producer == no_row || flow_.ops[producer].kind != OpKind::row_norm) return tensor;
  const FlowOp& norm = flow_.ops[producer];
  const bool first = lies_turned(shape) || (trains_ ? first_.count(norm.sequence) > 0 : patches_);
  const std::uint32_t read = first ? normalised(norm) : no_row;
  if (read == no_row || !look_alike(flow_.tensors[read], flow_.tensors[tensor])) return tensor;
  const std::uint32_t maker = flow_.tensors[read].producer;
  if (maker == no_row || reads(flow_, op, read)) return tensor;
  // What a layer made for the norm alone is no sum: what is added is what went into the layer.
  const OpKind kind = flow_.ops[maker].kind;
  return is_core(kind) || kind == OpKind::cast ? tensor : read;
}

}  // namespace tandem
