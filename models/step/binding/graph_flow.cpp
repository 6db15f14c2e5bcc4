#include "models/step/binding/graph_flow.h"

#include <algorithm>

#include "models/ops/op_outputs.h"
#include "models/step/binding/compiled_graphs.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

GraphFlow::GraphFlow(const Step& step, Dataflow& flow)
    : step_(step), flow_(flow), tensors_(step, flow), results_(step, tensors_), layers_(step) {}

const FusedName& GraphFlow::name_of(const FlowOp& op) {
  const auto id = step_.trace.ops.name[op.op];
  const auto [known, first] = names_.try_emplace(id.index());
  if (first) known->second = fused_name(text_of(step_.trace, id));
  return known->second;
}

void GraphFlow::use(std::uint32_t tensor, std::uint8_t argument) {
  ++flow_.tensors[tensor].consumers;
  flow_.inputs.push_back({tensor, argument, 0});
}

std::uint32_t GraphFlow::from_outside(const TensorShape& shape) {
  flow_.tensors.push_back({shape.elements(), shape.type, no_row, 0});
  tensors_.see_new();
  return static_cast<std::uint32_t>(flow_.tensors.size()) - 1;
}

/// Where all parts of something of that size are written, the first becomes the whole and the
/// others are places in it.
void GraphFlow::join(const TensorShape& shape) {
  const std::vector<std::uint32_t> parts = joined_.take(shape);
  for (const std::uint32_t part : parts) {
    tensors_.resize(part, part == parts.front() ? shape : TensorShape{});
    flow_.tensors[part].elements = part == parts.front() ? shape.elements() : 0;
  }
}

/// In another order of its elements or in 16 bits: what was made in its dimensions is the copy of
/// another one.
bool GraphFlow::copies_parameter(const FlowOp& op, const std::vector<TensorShape>& operands) {
  if (operands.size() != 2 || !same_recorded_dims(operands[0], operands[1])) return false;
  if (op.phase == FlowPhase::backward) return false;
  // For autocast: nothing of its dimensions was made, only of its size.
  const bool converted = operands[0].type == DataType::fp32 && is_half(operands[1].type) &&
                         tensors_.by_fit(tensors_.made(operands[0]), operands[0])[0].empty();
  if (!converted && operands[0].type != operands[1].type) return false;
  return !tensors_.tells_given() ? tensors_.waiting(operands[0], op) == 0
                                 : tensors_.given(operands[0], op);
}

/// What a backward graph is given is a gradient, not the result of the forward graph, of which
/// there is one of that size.
bool GraphFlow::is_tangent(const TensorShape& shape, const List& list) const {
  const auto forward = std::count_if(list.begin(), list.end(),
                                     [&](std::uint32_t t) { return !tensors_[t].backward; });
  return forward == 1 && static_cast<std::size_t>(forward) < list.size() &&
         tensors_.is_tangent(shape);
}

/// One that several operations read, as what skips of one sum do, is still none that forward kept.
bool GraphFlow::is_gradient(const FlowOp& op, const TensorShape& shape, std::uint8_t argument) {
  if (op.phase != FlowPhase::backward) return false;
  const List& list = tensors_.made(shape);
  if (is_tangent(shape, list)) return true;
  const OpArguments& arguments = op.row->arguments;
  return arguments.has(ArgumentName::grad) && arguments.at(ArgumentName::grad) == argument &&
         std::any_of(list.begin(), list.end(),
                     [&](std::uint32_t t) { return tensors_[t].backward; });
}

/// What the forward graph computed in FP32 from a 16-bit tensor of its size is not kept where that
/// one is: the backward kernel that reads the latter makes it again.
bool GraphFlow::computed_again(const FlowOp& op, const TensorShape& shape, const List& list) const {
  const auto half = [&](const TensorShape& t) {
    return is_half(t.type) && same_recorded_dims(t, shape);
  };
  if (op.kind != OpKind::generated || shape.type != DataType::fp32) return false;
  const auto& operands = operands_of(step_.trace, op.op).tensors.shapes;
  if (operands.size() > most_operands) return false;
  if (std::none_of(operands.begin(), operands.end(), half)) return false;
  return std::all_of(list.begin(), list.end(), [&](std::uint32_t t) {
    const std::uint32_t maker = flow_.tensors[t].producer;
    if (tensors_[t].backward) return true;
    if (maker == no_row || flow_.ops[maker].kind != OpKind::generated) return false;
    const auto& from = operands_of(step_.trace, flow_.ops[maker].op).tensors.shapes;
    return from.size() <= most_operands && std::any_of(from.begin(), from.end(), half);
  });
}

void GraphFlow::read(std::uint32_t row, const TensorShape& shape, std::uint8_t argument,
                     bool gradient) {
  const FlowOp& op = flow_.ops[row];
  const bool backward = op.phase == FlowPhase::backward;
  join(shape);
  List list = tensors_.fitting(shape, op);
  const auto forward = [&](std::uint32_t t) { return !tensors_[t].backward; };
  if (gradient || is_gradient(op, shape, argument)) {
    std::erase_if(list, forward);
    if (list.empty()) list = tensors_.made(shape);
    std::erase_if(list, forward);
  }
  const bool waits = !list.empty() && tensors_.waits_to_be_read(list.back(), op);
  const bool kept = backward && !waits && std::any_of(list.begin(), list.end(), forward);
  if (kept && computed_again(op, shape, list)) {
    make(flow_.ops[row], row, shape);
    return;
  }
  if (kept) {
    kept_.emplace_back(static_cast<std::uint32_t>(flow_.inputs.size()), shape);
    flow_.inputs.push_back({no_row, argument, 0});
    return;
  }
  if (list.empty()) return use(from_outside(shape), argument);
  if (tensors_[list.back()].backward == backward) tensors_[list.back()].read = true;
  use(list.back(), argument);
}

void GraphFlow::make(FlowOp& op, std::uint32_t row, const TensorShape& shape) {
  flow_.outputs.push_back(static_cast<std::uint32_t>(flow_.tensors.size()));
  flow_.tensors.push_back({shape.elements(), shape.type, row, 0});
  tensors_.see_new();
  tensors_[tensors_.size() - 1].shape = shape;
  if (op.kind == OpKind::generated) joined_.see(tensors_.size() - 1, shape);
  ++op.output_count;
}

void GraphFlow::see_state(const FlowOp& op, const FusedName& name,
                          const std::vector<TensorShape>& operands) {
  if (!name.fills_places || op.phase != FlowPhase::forward || op.output_count != 1) return;
  const std::int64_t whole = operands.back().elements();
  const auto smaller = [&](const TensorShape& t) { return t.elements() < whole; };
  if (!std::all_of(operands.begin(), operands.end() - 1, smaller)) return;
  flow_.tensors[flow_.outputs.back()].state = true;
}

void GraphFlow::bind_generated(FlowOp& op, std::uint32_t row, const OpTensors& operands) {
  const std::vector<TensorShape>& shapes = operands.shapes;
  if (shapes.empty()) return;
  const FusedName& name = name_of(op);
  ListedResults results = results_.of(op, name, shapes);
  const std::vector<std::uint32_t> again = repeated_.of(op, row, name, shapes);
  if (!again.empty()) {
    const auto last = std::find_if(again.rbegin(), again.rend(),
                                   [](std::uint32_t input) { return input != no_row; });
    const auto read = static_cast<std::size_t>(again.rend() - last);
    results.first_new = std::max(results.first_new, read);
    results.overwrites_first |= results.first_is_new && again.front() != no_row;
    results.first_is_new &= again.front() == no_row;
  }
  // The gradient of a bias: one operand and its sums.
  const bool gradients = op.phase == FlowPhase::backward && shapes.size() == 2 && name.only_sums;
  std::vector<std::uint32_t> inputs(shapes.size(), no_row);
  for (std::size_t i = results.first_is_new ? 1 : 0; i < results.first_new; ++i) {
    const auto next = static_cast<std::uint32_t>(flow_.inputs.size());
    if (!again.empty() && again[i] != no_row) {
      again_.emplace_back(next, again[i]);
      flow_.inputs.push_back({no_row, operands.arguments[i], 0});
    } else if (copies_parameter(op, shapes)) {
      use(from_outside(shapes[i]), operands.arguments[i]);
    } else {
      read(row, shapes[i], operands.arguments[i], gradients);
    }
    if (flow_.inputs.size() > next) inputs[i] = next;
  }
  op.input_count = static_cast<std::uint32_t>(flow_.inputs.size()) - op.first_input;
  op.overwrites = results.overwrites_first && op.input_count > 0;
  if (op.overwrites) {
    const std::uint32_t first = flow_.inputs[op.first_input].tensor;
    op.overwrites = first != no_row;
    if (op.overwrites) tensors_[first].overwritten = true;
  }
  repeated_.see(op, row, name, shapes, std::move(inputs));
  if (results.first_is_new || results.overwrites_first) make(op, row, shapes.front());
  for (std::size_t i = results.first_new; i < shapes.size(); ++i) make(op, row, shapes[i]);
  see_state(op, name, shapes);
}

/// Which operands of a gradient its layer has read; the other one of a product is a gradient. In
/// the order of the operands, no_row of what the layer has not read.
std::vector<std::uint32_t> GraphFlow::read_by_layer(const FlowOp& op, const OpTensors& operands) {
  const OpArguments& arguments = op.row->arguments;
  std::vector<std::uint32_t> out(operands.shapes.size(), no_row);
  if (op.phase != FlowPhase::backward) return out;
  const bool product = arguments.has(ArgumentName::right);
  for (std::size_t i = out.size(); i-- > 0;) {
    const std::uint8_t argument = operands.arguments[i];
    const bool result = product && argument > arguments.at(ArgumentName::right);
    if (result || argument == arguments.at(ArgumentName::grad)) continue;
    if (copied_.count({op.op, argument}) > 0) continue;
    out[i] = layers_.take(*op.row, operands, operands.shapes[i]);
    if (product && out[i] != no_row) break;
  }
  return out;
}

/// The latest tensor that went backward of which one of these dimensions and type is a part; no_row
/// without any.
std::uint32_t GraphFlow::whole_gradient(const TensorShape& part) const {
  for (auto t = static_cast<std::uint32_t>(tensors_.size()); t-- > 0;) {
    const TensorShape& whole = tensors_[t].shape;
    if (!tensors_[t].backward || whole.rank != part.rank || whole.type != part.type) continue;
    int longer = 0, other = 0;
    for (std::size_t d = 0; d < part.rank; ++d) {
      longer += whole.dims[d] > part.dims[d], other += whole.dims[d] < part.dims[d];
    }
    if (longer == 1 && other == 0) return t;
  }
  return no_row;
}

/// What the generated operation that made `tensor` took it from, if it is a part of that; else the
/// tensor.
std::uint32_t GraphFlow::whole_of(std::uint32_t tensor) const {
  const std::uint32_t maker = tensor == no_row ? no_row : flow_.tensors[tensor].producer;
  if (maker == no_row || flow_.ops[maker].kind != OpKind::generated) return tensor;
  const auto inputs = flow_.inputs_of(flow_.ops[maker]);
  if (inputs.size() != 1 || inputs[0].tensor == no_row) return tensor;
  const FlowTensor &from = flow_.tensors[inputs[0].tensor], &part = flow_.tensors[tensor];
  return from.type == part.type && from.elements > part.elements ? inputs[0].tensor : tensor;
}

/// The gradient of a convolution copies an operand that does not lie in one piece: a part of a
/// larger tensor. The forward pass has copied its part, too, but what is kept is the whole.
bool GraphFlow::copies_part(const FlowOp& op, const TensorShape& shape, std::uint8_t argument) {
  if (op.kind != OpKind::cast || op.phase != FlowPhase::backward) return false;
  const std::uint32_t around = enclosing(step_.trace, flow_.nesting, op.op, [](const OpRow& r) {
    return r.kind == OpKind::convolution_backward;
  });
  if (around == no_row) return false;
  const OpRow& gradient = op_row(text_of(step_.trace, step_.trace.ops.name[around]));
  const OpTensors& operands = operands_of(step_.trace, around).tensors;
  const std::uint8_t from_behind = gradient.arguments.at(ArgumentName::grad);
  std::uint32_t whole = no_row;
  for (std::size_t i = 0; i < operands.shapes.size(); ++i) {
    const std::uint8_t at = operands.arguments[i];
    if (!same_recorded_dims(operands.shapes[i], shape)) continue;
    const auto [known, first] = copied_.try_emplace({around, at}, no_row);
    if (first && at == from_behind) known->second = whole_gradient(shape);
    if (first && at != from_behind)
      known->second = whole_of(layers_.take(gradient, operands, shape));
    whole = known->second;
    if (first) break;
  }
  if (whole == no_row) return false;
  use(whole, argument);
  return true;
}

/// The product of which query, key and value are parts, where attention reads what nothing of their
/// size waits for; else no_row.
std::uint32_t GraphFlow::joined_product(const FlowOp& op, const OpTensors& operands) {
  constexpr std::int64_t parts = 3;
  if (op.kind != OpKind::attention || !tensors_.tells_given() || op.phase == FlowPhase::backward) {
    return no_row;
  }
  const TensorShape* const query = operands.at(op.row->arguments.at(ArgumentName::query));
  if (query == nullptr || tensors_.waiting(*query, op) > 0) return no_row;
  return tensors_.waiting_from_library(parts * query->elements(), query->type, op);
}

void GraphFlow::bind_library(FlowOp& op, std::uint32_t row, const Operands& operands) {
  const OpArguments& arguments = op.row->arguments;
  const bool product = arguments.has(ArgumentName::right);
  const OpTensors& tensors = operands.tensors;
  std::vector<std::uint32_t> layer = read_by_layer(op, tensors);
  const std::uint32_t joined = joined_product(op, tensors);
  for (std::size_t i = 0; i < layer.size() && joined != no_row; ++i) {
    if (same_kind(tensors.shapes[i], tensors.shapes[0])) layer[i] = joined;
  }
  if (joined != no_row) tensors_[joined].read = true;
  const bool known =
      std::any_of(layer.begin(), layer.end(), [](std::uint32_t t) { return t != no_row; });
  for (std::size_t i = 0; i < tensors.shapes.size() && op.kind != OpKind::fill; ++i) {
    const std::uint8_t argument = tensors.arguments[i];
    const bool target = op.kind == OpKind::cast && argument == 0 && tensors.shapes.size() > 1;
    const bool result = product && argument > arguments.at(ArgumentName::right);
    if (target || result || copies_part(op, tensors.shapes[i], argument)) continue;
    if (layer[i] == no_row) {
      // Each item of a batch reads the same matrix (models/whatif/compile/products.h).
      const TensorShape& shape = tensors.shapes[i];
      read(row, product ? stored_shape(shape) : shape, argument, product && known);
    } else {
      use(layer[i], argument);
      tensors_[layer[i]].by_gradient |= op.phase == FlowPhase::backward;
    }
  }
  op.input_count = static_cast<std::uint32_t>(flow_.inputs.size()) - op.first_input;
  const std::string_view name = text_of(step_.trace, step_.trace.ops.name[op.op]);
  for (const OutputShape& s : output_shapes(*op.row, name, tensors, operands.arguments)) {
    if (s.shape.type != DataType::unknown && s.known) make(op, row, s.shape);
  }
  if (op.phase == FlowPhase::forward) layers_.see(flow_, op);
}

void GraphFlow::bind(std::uint32_t row) {
  tensors_.see_new();
  FlowOp& op = flow_.ops[row];
  const Operands& operands = operands_of(step_.trace, op.op);
  if (op.kind == OpKind::generated) {
    bind_generated(op, row, operands.tensors);
  } else {
    bind_library(op, row, operands);
  }
}

void GraphFlow::settle() {
  settle_kept();
  for (const auto& [use, like] : again_) {
    flow_.inputs[use].tensor = flow_.inputs[like].tensor;
    ++flow_.tensors[flow_.inputs[use].tensor].consumers;
  }
}

void GraphFlow::settle_kept() {
  std::map<List, std::vector<std::uint32_t>> uses;  // by what they may be
  const auto has_reader = [&](std::uint32_t t) { return tensors_[t].by_gradient; };
  for (const auto& [use, shape] : kept_) {
    List forward = tensors_.made(shape);
    std::erase_if(forward, [&](std::uint32_t t) { return tensors_[t].backward; });
    if (!std::all_of(forward.begin(), forward.end(), has_reader)) {
      std::erase_if(forward, has_reader);
    }
    uses[best(tensors_.by_fit(forward, shape))].push_back(use);
  }
  for (const auto& [tensors, readers] : uses) {
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const std::size_t n = tensors.size();
      const std::uint32_t t = tensors[n - 1 - i * n / readers.size()];
      flow_.inputs[readers[i]].tensor = t;
      ++flow_.tensors[t].consumers;
    }
  }
}

}  // namespace tandem
