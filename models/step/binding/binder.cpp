#include "models/step/binding/binder.h"

#include <algorithm>

#include "models/step/binding/layers_beside.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

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

/// Whether a forward layer has a parameter there. Products of `linear` are told by it: any other
/// product may have two activations.
bool holds_parameter(const Step& step, const Dataflow& flow, const FlowOp& op, const OpRow& row,
                     std::uint8_t argument) {
  if (op.kind != OpKind::matmul && op.kind != OpKind::convolution) return false;
  if (contains(row.arguments.parameters, argument)) return true;
  if (argument != row.arguments.at(ArgumentName::right) || row.is(batched)) return false;
  return enclosing(step.trace, flow.nesting, op.op, is_layer_product) != no_row;
}

/// Whether `op` is part of a gradient that reads the result of its operation, not its operands.
bool is_of_result(const Step& step, const Dataflow& flow, const FlowOp& op) {
  const std::uint32_t parent = flow.nesting.parent[op.op];
  if (parent == no_row) return false;
  const OpRow& row = op_row(text_of(step.trace, step.trace.ops.name[parent]));
  return row.backward && row.arguments.saved_outputs != 0 && row.arguments.saved_inputs == 0;
}

/// Whether a gradient reads the operand of its operation where that one did not overwrite it, else
/// the result.
bool reads_what_is_left(const OpRow& row) {
  return row.is(reads_operand) && row.arguments.saved_outputs != 0;
}

/// Whether no gradient is handed to `op`, or to the operation that it is a special case of (a power
/// of one is a copy), but what was kept for one.
bool reads_kept(const Step& step, const Dataflow& flow, const FlowOp& op) {
  const auto is = [](const OpRow& row) { return row.is(nonlinear); };
  return op.row->is(nonlinear) ||
         enclosing(step.trace, flow.nesting, flow.nesting.parent[op.op], is) != no_row;
}

/// `tensor`, or what was raised to a power to make it if that was read already: squares are summed
/// (norms) and what they are of is read again.
std::uint32_t not_squared(const Dataflow& flow, std::uint32_t tensor) {
  if (tensor == no_row || flow.tensors[tensor].consumers == 0) return tensor;
  const FlowTensor& power = flow.tensors[tensor];
  if (power.producer == no_row) return tensor;
  const FlowOp& maker = flow.ops[power.producer];
  const bool of_power =
      maker.row->is(nonlinear) && !maker.row->is(arithmetic) && !maker.row->is(trigonometric);
  if (!of_power || maker.input_count == 0) return tensor;
  const std::uint32_t base = flow.inputs_of(maker)[0].tensor;
  const bool alike = flow.tensors[base].elements == power.elements &&
                     flow.tensors[base].type == power.type && flow.tensors[base].producer != no_row;
  return alike ? base : tensor;
}

/// The type of what a concatenation makes where its operands differ in theirs: they are copied one
/// by one into slices of the result, and these state it. Unknown where there are none.
DataType sliced_type(const Step& step, const Dataflow& flow, const FlowOp& op,
                     const OutputShape& joined) {
  const auto& parent = flow.nesting.parent;
  for (std::uint32_t r = op.op + 1; r < parent.size() && parent[r] == op.op; ++r) {
    const TensorShape* whole = operands_of(step.trace, r).tensors.at(0);
    if (whole != nullptr && same_dims(*whole, joined.shape)) return whole->type;
  }
  return DataType::unknown;
}

/// Whether the operation writes values into some places of its first operand.
bool writes_into(const Step& step, const FlowOp& op) {
  return op.kind == OpKind::scatter && is_in_place(text_of(step.trace, step.trace.ops.name[op.op]));
}

/// What a tensor is a scaled copy of, whole, with its size; no_row: it is none.
std::uint32_t scaled_from(const Dataflow& flow, std::uint32_t tensor) {
  const FlowTensor& copy = flow.tensors[tensor];
  if (copy.producer == no_row || flow.ops[copy.producer].kind != OpKind::pointwise) return no_row;
  std::uint32_t whole = no_row;
  bool scales = false;
  for (const FlowUse& use : flow.inputs_of(flow.ops[copy.producer])) {
    const std::int64_t elements = flow.elements_of(use);
    if (elements == copy.elements && whole == no_row) whole = use.tensor;
    scales |= elements < copy.elements;
  }
  return scales ? whole : no_row;
}

/// What the first operand of a sum is a scaled copy of, and so on: a branch is scaled (gates of
/// channels, scales of layers, samples that are dropped, a step of an equation) and then added to
/// another one, not to itself.
Candidates scaled_operands(const Dataflow& flow, const FlowOp& op) {
  Candidates out;
  if (!op.row->is(adds_gradients) || flow.inputs.size() == op.first_input) return out;
  std::uint32_t t = scaled_from(flow, flow.inputs[op.first_input].tensor);
  for (; t != no_row; t = scaled_from(flow, t)) out.push_back(t);
  return out;
}

}  // namespace

Binder::Binder(const Step& step, Dataflow& flow)
    : step_(step),
      flow_(flow),
      made_(flow),
      hidden_(step, flow),
      node_(flow),
      gathered_(flow),
      norms_(step, flow) {}

void Binder::bind_op(std::uint32_t i) {
  FlowOp& op = flow_.ops[i];
  if (op.repeats != no_row) {
    bind_again(i);
    return;
  }
  const Operands& in = operands_of(step_.trace, op.op);
  node_.enter(op);
  const OpRow& row = *op.row;
  const bool joins = concatenates(op);
  const OpTensors typed = joins ? with_types(in.tensors, made_, hidden_, op) : OpTensors{};
  const OpTensors& tensors = joins ? typed : in.tensors;
  bind_inputs(op, row, tensors);
  const std::string_view name = text_of(step_.trace, step_.trace.ops.name[op.op]);
  std::vector<OutputShape> outputs = output_shapes(row, name, tensors, in.arguments);
  if (joins && outputs.size() == 1) {
    const DataType type = sliced_type(step_, flow_, op, outputs[0]);
    if (type != DataType::unknown) outputs[0].shape.type = type;
  }
  if (in.made.empty()) {
    bind_outputs(i, in, outputs);
  } else {
    bind_made(i, in, outputs);
  }
  op.output_count = static_cast<std::uint32_t>(flow_.outputs.size()) - op.first_output;
  see_activations(op);
  norms_.see(op);
  gathered_.leave(i);
  see_state(op);
  node_.leave(i);
  if (const std::uint32_t zeros = hidden_.completed_by(i); zeros != no_row) {
    ++flow_.tensors[zeros].consumers;
  }
  if (is_in_place(name)) hidden_.overwritten_by(op);
  const std::string_view asked = text_of(step_.trace, step_.trace.ops.name[op.root]);
  if (op.phase == FlowPhase::forward && is_in_place(asked)) overwritten_.insert(op.sequence);
}

void Binder::bind_outputs(std::uint32_t i, const Operands& in,
                          std::span<const OutputShape> outputs) {
  const FlowOp& op = flow_.ops[i];
  // A copy that a what-if added lies beside what it copies.
  const TensorShape* const copied = op.kind == OpKind::cast ? in.tensors.at(0) : nullptr;
  const TensorMemory memory = copied == nullptr ? TensorMemory{} : copied->memory;
  for (const OutputShape& s : outputs) {
    if (s.shape.type != DataType::unknown) {
      flow_.outputs.push_back(add(s.elements(), s.shape.type, i, memory));
    } else if (concatenates(op) && op.phase == FlowPhase::forward && s.elements() > 0) {
      core_reads_.push_back(false);
      flow_.outputs.push_back(made_.add_untyped(s.elements(), i));
    }
  }
}

/// The rules for results say their types, which a what-if may have changed; the step itself says
/// what was made, and how large.
void Binder::bind_made(std::uint32_t i, const Operands& in, std::span<const OutputShape> outputs) {
  std::vector<bool> taken(in.made.size(), false);
  for (const OutputShape& s : outputs) {
    if (s.shape.type == DataType::unknown) continue;
    const auto find = [&](auto fits) {
      std::size_t k = 0;
      while (k < in.made.size() && (taken[k] || !fits(in.made[k]))) ++k;
      return k;
    };
    const auto same_size = [&](const TensorShape& t) { return t.elements() == s.elements(); };
    const auto of_kind = [&](const TensorShape& t) {
      return is_floating(t.type) == is_floating(s.shape.type);
    };
    std::size_t k = find(same_size);
    if (k == in.made.size()) k = find(of_kind);
    if (k == in.made.size()) continue;
    taken[k] = true;
    const TensorShape& made = in.made[k];
    flow_.outputs.push_back(add(made.elements(), s.shape.type, i, made.memory));
  }
}

std::uint32_t Binder::made_last(std::uint32_t tensor) const {
  const auto it = again_.find(tensor);
  return it == again_.end() ? tensor : it->second;
}

void Binder::bind_again(std::uint32_t i) {
  FlowOp& op = flow_.ops[i];
  const FlowOp& first = flow_.ops[op.repeats];
  for (std::uint32_t u = 0; u < first.input_count; ++u) {
    FlowUse use = flow_.inputs[first.first_input + u];
    use.tensor = made_last(use.tensor);
    ++flow_.tensors[use.tensor].consumers;
    flow_.inputs.push_back(use);
  }
  for (std::uint32_t o = 0; o < first.output_count; ++o) {
    const std::uint32_t output = flow_.outputs[first.first_output + o];
    const FlowTensor made = flow_.tensors[output];
    again_[output] = add(made.elements, made.type, i);
    flow_.outputs.push_back(again_[output]);
  }
  op.input_count = first.input_count;
  op.output_count = first.output_count;
  node_.leave(i);
}

void Binder::see_new_tensors() {
  for (auto t = static_cast<std::uint32_t>(core_reads_.size()); t < flow_.tensors.size(); ++t) {
    const FlowTensor& tensor = flow_.tensors[t];
    core_reads_.push_back(false);
    if (tensor.producer != no_row) made_.known(tensor.elements, tensor.type).push_back(t);
  }
}

std::uint32_t Binder::add(std::int64_t elements, DataType type, std::uint32_t producer,
                          TensorMemory memory) {
  core_reads_.push_back(false);
  return made_.add(elements, type, producer, memory);
}

void Binder::see_activations(const FlowOp& op) {
  const auto inputs = flow_.inputs_of(op);
  const bool made = is_core(op.kind) || op.kind == OpKind::gather ||
                    std::any_of(inputs.begin(), inputs.end(), [&](const FlowUse& use) {
                      return use.tensor < activations_.size() && activations_[use.tensor];
                    });
  if (!made) return;
  for (const std::uint32_t t : flow_.outputs_of(op)) {
    if (t >= activations_.size()) activations_.resize(t + std::size_t{1}, false);
    activations_[t] = true;
  }
}

std::uint32_t Binder::latest_parameter(const Candidates& list, const FlowOp& op) const {
  const auto at = std::find_if(list.rbegin(), list.rend(), [&](std::uint32_t t) {
    const bool activation = t < activations_.size() && activations_[t];
    return !activation && !of_other_pass(flow_, t, op);
  });
  return at == list.rend() ? no_row : *at;
}

std::uint32_t Binder::latest(const Candidates& list, const FlowOp& op, bool further) const {
  const bool backward = op.phase == FlowPhase::backward;
  const bool adds_up = backward && op.row->is(adds_gradients);
  const Candidates scaled = further && !backward ? scaled_operands(flow_, op) : Candidates{};
  const std::size_t oldest = list.size() > 64 ? list.size() - 64 : 0;
  std::uint32_t any = no_row, seen = no_row, free = no_row, other = no_row;
  for (std::size_t k = list.size(); k-- > oldest;) {
    const std::uint32_t t = list[k];
    if (reads(flow_, op, t)) continue;
    if (std::find(scaled.begin(), scaled.end(), t) != scaled.end()) continue;
    if (!adds_up && of_other_pass(flow_, t, op)) continue;
    if (backward && !runs_backward(flow_.ops[flow_.tensors[t].producer])) continue;
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

std::uint32_t Binder::latest_whole(const Candidates& list, const FlowOp& op) const {
  const auto whole = std::find_if(list.rbegin(), list.rend(),
                                  [&](std::uint32_t t) { return !hidden_.from(t, op, false); });
  return whole == list.rend() ? no_row : *whole;
}

std::uint32_t Binder::find_backward(const FlowOp& op, const OpRow& row, const TensorShape& shape,
                                    std::uint8_t argument, bool further) {
  const Candidates& list = made_.known(distinct_elements(shape), shape.type);
  const bool left = reads_what_is_left(row) && overwritten_.count(op.sequence) == 0;
  const bool input = contains(row.arguments.saved_inputs, argument) ||
                     (left && contains(row.arguments.saved_outputs, argument));
  if (input && is_slice(shape)) {
    return node_.saved_whole(made_.known(whole_elements(shape), shape.type), op);
  }
  if (input || contains(row.arguments.saved_outputs, argument)) {
    return node_.saved(list, op, input);
  }
  // What is put side by side are gradients of parts, none of which its node was given first.
  if (node_.gradient() != no_row && !accumulates(flow_, op) && !concatenates(op)) {
    std::uint32_t t = node_.factor(op, distinct_elements(shape), shape.type, further);
    // Gradients of rows are added to a table of zeros.
    if (further && op.kind == OpKind::scatter) t = latest(list, op, further);
    if (t == no_row && reads(flow_, op, node_.gradient())) {
      t = node_.matrix(op, distinct_elements(shape), shape.type);
    }
    return t != no_row ? t : node_.within_node(list, op, !is_of_result(step_, flow_, op));
  }
  if (!further && reads_kept(step_, flow_, op)) return node_.saved(list, op, true);
  if (node_.is_matrix(op, distinct_elements(shape))) {
    const std::uint32_t t = node_.matrix(op, distinct_elements(shape), shape.type);
    return t != no_row ? t : node_.saved(list, op, true);
  }
  if (further && accumulates(flow_, op)) {
    const std::uint32_t met = gathered_.met_by(op, flow_.inputs.back().tensor);
    if (met != no_row) return met;
  }
  const std::uint32_t t = latest(list, op, further);
  if (!accumulates(flow_, op) && !node_.made(op, t)) node_.set_gradient(t);
  return t;
}

/// A gradient reads what its operation kept: of several copies that layers made, its layer's.
std::uint32_t Binder::find_in_memory(const FlowOp& op, const TensorShape& shape) const {
  const Candidates list = made_.in_memory(shape.memory, shape.type);
  if (list.empty()) return no_row;
  const std::uint32_t kept = runs_backward(op) ? node_.saved(list, op, false) : no_row;
  return kept != no_row ? kept : list.back();
}

std::uint32_t Binder::find(const FlowOp& op, const OpRow& row, const TensorShape& shape,
                           std::uint8_t argument, bool further) {
  if (shape.memory.known()) return find_in_memory(op, shape);
  if (!contains(row.arguments.made, argument) || converts_weight(step_, flow_, op, shape))
    return no_row;
  if (op.phase == FlowPhase::backward) return find_backward(op, row, shape, argument, further);
  if (is_slice(shape)) return latest_whole(made_.known(whole_elements(shape), shape.type), op);
  const Candidates& list = made_.known(distinct_elements(shape), shape.type);
  if (holds_parameter(step_, flow_, op, row, argument)) return latest_parameter(list, op);
  const std::uint32_t found =
      not_beside(step_, flow_, op, shape, argument, latest(list, op, further));
  const std::uint32_t meant = further ? norms_.summed(op, shape, found) : found;
  const std::uint32_t last = made_.type_given(shape, not_squared(flow_, meant));
  const std::uint32_t t = state_meant(op, argument, list, last);
  // Rows that an index picked are multiplied or added to others soon: what was read before is none.
  const bool rows =
      further && (t == no_row || (made_.waits_since(t) && flow_.tensors[t].consumers > 0));
  // What is written into is rather kept from step to step.
  const bool first = t == no_row && argument == 0 && !writes_into(step_, op);
  const std::uint32_t given = rows || first ? made_.shape_given(shape) : no_row;
  return given != no_row ? given : t;
}

std::uint32_t Binder::state_meant(const FlowOp& op, std::uint8_t argument, const Candidates& list,
                                  std::uint32_t tensor) const {
  if (tensor == no_row || !flow_.tensors[tensor].state) return tensor;
  if (writes_into(step_, op) && argument == 0) return no_row;
  const auto unread = std::find_if(list.rbegin(), list.rend(), [&](std::uint32_t t) {
    return flow_.tensors[t].state && flow_.tensors[t].consumers == 0;
  });
  return unread == list.rend() ? tensor : *unread;
}

void Binder::see_state(const FlowOp& op) {
  const auto inputs = flow_.inputs_of(op);
  const auto outputs = flow_.outputs_of(op);
  if (op.phase != FlowPhase::forward || inputs.empty() || outputs.empty()) return;
  FlowTensor& table = flow_.tensors[inputs[0].tensor];
  if (table.producer != no_row || inputs[0].argument != 0 || !writes_into(step_, op)) return;
  table.state = flow_.tensors[outputs[0]].state = true;
}

void Binder::bind_inputs(FlowOp& op, const OpRow& row, const OpTensors& operands) {
  op.first_input = static_cast<std::uint32_t>(flow_.inputs.size());
  const bool turned = adds_to_turned(op, operands);
  bool further = false;
  for (std::size_t k = 0; k < operands.shapes.size(); ++k) {
    const std::size_t i = turned ? operands.shapes.size() - 1 - k : k;
    const std::uint8_t argument = operands.arguments[i];
    if (row.kind == OpKind::cast && argument == 0 && operands.shapes.size() > 1) continue;
    if (is_place(row.arguments, argument)) continue;
    const TensorShape& shape = operands.shapes[i];
    if (row.kind == OpKind::fill) continue;  // only written
    std::uint32_t t = find(op, row, shape, argument, further);
    if (runs_backward(op)) t = made_last(t);
    if (t == no_row) t = add(distinct_elements(shape), shape.type, no_row, shape.memory);
    further = true;
    ++flow_.tensors[t].consumers;
    if (is_core(op.kind)) core_reads_[t] = true;
    const FlowTensor& whole = flow_.tensors[t];
    const bool fewer = shape.memory.known() && distinct_elements(shape) < whole.elements;
    const bool part = whole.producer != no_row && (fewer || is_slice(shape));
    flow_.inputs.push_back({t, argument, part ? distinct_elements(shape) : 0});
  }
  if (turned) std::reverse(flow_.inputs.begin() + op.first_input, flow_.inputs.end());
  op.input_count = static_cast<std::uint32_t>(flow_.inputs.size()) - op.first_input;
}

}  // namespace tandem
