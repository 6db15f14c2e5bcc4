#include "workloads/onnx/step.h"

#include <utility>

#include "workloads/onnx/views.h"

namespace tandem::onnx {

namespace {

using Form = NetworkArgument::Form;

}  // namespace

NetworkArgument nothing() { return {}; }
NetworkArgument of(TensorId tensor) { return {Form::tensor, {tensor}, {}, {}}; }
NetworkArgument list(std::vector<TensorId> tensors) {
  return {Form::tensors, std::move(tensors), {}, {}};
}
NetworkArgument size(Expression number) { return {Form::number, {}, {std::move(number)}, {}}; }
NetworkArgument whole(std::int64_t number) { return size(Expression(number)); }
NetworkArgument sizes(Dims numbers) { return {Form::numbers, {}, std::move(numbers), {}}; }
NetworkArgument wholes(std::vector<std::int64_t> numbers) {
  return sizes(Dims(numbers.begin(), numbers.end()));
}
NetworkArgument plain(Argument value) { return {Form::value, {}, {}, std::move(value)}; }

TensorId Step::make(DataType type, Dims dims, StorageKind kind) {
  network_.storages.push_back(kind);
  const auto storage = static_cast<std::uint32_t>(network_.storages.size() - 1);
  network_.tensors.push_back({type, std::move(dims), {}, storage});
  return static_cast<TensorId>(network_.tensors.size() - 1);
}

TensorId Step::view(TensorId base, Dims dims, Dims strides) {
  if (is_contiguous(dims, strides)) strides.clear();
  const NetworkTensor& of = network_.tensors[base];
  network_.tensors.push_back({of.type, std::move(dims), std::move(strides), of.storage});
  return static_cast<TensorId>(network_.tensors.size() - 1);
}

TensorId Step::rewritten(TensorId id) {
  network_.tensors.push_back(NetworkTensor(network_.tensors[id]));
  return static_cast<TensorId>(network_.tensors.size() - 1);
}

void Step::enter(std::string_view module) {
  network_.modules.emplace_back(module);
  module_ = static_cast<std::uint32_t>(network_.modules.size() - 1);
}

void Step::emit(std::string name, Arguments arguments, std::vector<TensorId> outputs) {
  NetworkOp op;
  op.name = std::move(name);
  op.phase = phase_;
  op.module = module_;
  op.node = node_;
  if (trains() && phase_ != Phase::optimizer) op.sequence = sequence_;
  op.arguments = std::move(arguments);
  op.outputs = std::move(outputs);
  network_.ops.push_back(std::move(op));
}

TensorId Step::run(std::string name, Arguments arguments, DataType type, Dims dims) {
  const TensorId out = make(type, std::move(dims));
  emit(std::move(name), std::move(arguments), {out});
  return out;
}

Value Step::value(TensorId id) {
  Value out;
  out.type = tensor(id).type;
  out.dims = tensor(id).dims;
  out.tensor = id;
  out.slot = slots_++;
  return out;
}

void Step::differentiable(std::string node, std::vector<Value*> results,
                          const std::vector<Value>& operands, Backward backward) {
  bool needed = false;
  for (const Value& v : operands) needed = needed || v.needs_gradient;
  if (!needed || phase_ != Phase::forward) return;
  Note note{std::move(node), sequence_++, module_, {}, std::move(backward)};
  for (Value* result : results) {
    result->needs_gradient = true;
    note.slots.push_back(result->slot);
  }
  notes_.push_back(std::move(note));
}

void Step::give(const Value& value, TensorId gradient) {
  if (!value.needs_gradient) return;
  const auto [known, first] = gradients_.emplace(value.slot, gradient);
  if (first) return;
  const TensorId sum = rewritten(known->second);
  emit("aten::add_", {of(known->second), of(gradient), whole(1)}, {sum});
  known->second = sum;
}

void Step::give_rows(const Value& value, TensorId rows, TensorId gradient) {
  if (value.needs_gradient) row_gradients_.push_back({*value.tensor, rows, gradient});
}

std::optional<TensorId> Step::gradient(const Value& value) const {
  const auto found = gradients_.find(value.slot);
  if (found == gradients_.end()) return {};
  return found->second;
}

void Step::run_backward() {
  phase_ = Phase::backward;
  for (std::size_t n = notes_.size(); n-- > 0;) {
    const Note& note = notes_[n];
    Gradients gradients;
    bool any = false;
    for (const std::uint32_t slot : note.slots) {
      const auto found = gradients_.find(slot);
      gradients.push_back(found == gradients_.end() ? std::nullopt
                                                    : std::optional<TensorId>(found->second));
      any = any || gradients.back().has_value();
    }
    if (!any) continue;
    node_ = note.node;
    sequence_ = note.sequence;
    module_ = note.module;
    note.backward(gradients);
  }
}

void Step::begin_optimizer() {
  phase_ = Phase::optimizer;
  node_.clear();
  module_ = 0;
}

}  // namespace tandem::onnx
