#include "workloads/onnx/ops.h"

#include <algorithm>

#include "sim/core/error.h"

namespace tandem::onnx {

void Call::fail(std::string_view found, std::string_view expected) const {
  const std::string domain = node.domain.empty() ? "ai.onnx" : node.domain;
  throw InputError(path, node.place() + " of " + domain, found, expected);
}

bool Call::has(std::size_t input) const {
  return input < inputs.size() && inputs[input] != nullptr;
}

const Value& Call::input(std::size_t index) const {
  if (!has(index)) fail("no input " + std::to_string(index), "one");
  return *inputs[index];
}

TensorId Call::tensor(std::size_t index) const {
  const Value& value = input(index);
  if (value.tensor) return *value.tensor;
  return step.make(value.type, value.dims, StorageKind::buffer);
}

Value Call::placed(std::size_t index) const {
  Value value = input(index);
  value.tensor = tensor(index);
  return value;
}

const Dims& Call::numbers(std::size_t index) const {
  const Value& value = input(index);
  if (!value.numbers) {
    fail("input \"" + node.inputs[index] + "\", whose numbers are not known before the step",
         "numbers in the file, or made from shapes");
  }
  return *value.numbers;
}

std::vector<std::int64_t> Call::integers(std::size_t index) const {
  std::vector<std::int64_t> out;
  for (const Expression& e : numbers(index)) out.push_back(fixed(e, node.inputs[index]));
  return out;
}

std::int64_t Call::number(std::string_view attribute, std::int64_t otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : found->second.number;
}

double Call::fraction(std::string_view attribute, double otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? otherwise : found->second.fraction;
}

std::string Call::text(std::string_view attribute, std::string_view otherwise) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? std::string(otherwise) : found->second.text;
}

std::vector<std::int64_t> Call::attribute_numbers(std::string_view attribute) const {
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? std::vector<std::int64_t>() : found->second.numbers;
}

std::optional<std::vector<std::int64_t>> Call::numbers_of(std::size_t index,
                                                          std::string_view attribute) const {
  if (has(index)) return integers(index);
  if (node.attributes.count(attribute) > 0) return attribute_numbers(attribute);
  return {};
}

std::size_t Call::axis(std::int64_t axis, std::size_t rank) const {
  const auto signed_rank = static_cast<std::int64_t>(rank);
  if (axis < -signed_rank || axis >= signed_rank) {
    fail("axis " + std::to_string(axis), "an axis of " + std::to_string(rank) + " dimensions");
  }
  return static_cast<std::size_t>(from_front(axis, signed_rank));
}

std::int64_t Call::fixed(const Expression& size, std::string_view what) const {
  const auto number = size.number();
  if (!number) fail(std::string(what) + " that depends on the batch or the sequence", "a number");
  return *number;
}

void Call::result(TensorId tensor) { outputs.push_back(step.value(tensor)); }

void Call::result(TensorId tensor, std::string name, const std::vector<Value>& operands,
                  std::function<void(TensorId)> backward) {
  result(tensor);
  step.differentiable(std::move(name), {&outputs.back()}, operands,
                      [run = std::move(backward)](const Step::Gradients& g) { run(*g[0]); });
}

void Call::on_host(DataType type, Dims dims, Dims numbers) {
  Value value;
  value.type = type;
  value.dims = std::move(dims);
  value.numbers = std::move(numbers);
  outputs.push_back(std::move(value));
}

void Call::on_host(DataType type, Dims dims, double fraction) {
  Value value;
  value.type = type;
  value.dims = std::move(dims);
  value.fraction = fraction;
  outputs.push_back(std::move(value));
}

Dims broadcast(const Call& call, const Dims& a, const Dims& b) {
  Dims out(std::max(a.size(), b.size()), one);
  for (std::size_t d = 0; d < out.size(); ++d) {
    const std::size_t from_end = out.size() - d;
    const Expression& x = from_end > a.size() ? one : a[a.size() - from_end];
    const Expression& y = from_end > b.size() ? one : b[b.size() - from_end];
    if (x != y && x != one && y != one) {
      call.fail("operands whose sizes differ in dimension " + std::to_string(d),
                "equal sizes, or one of them 1");
    }
    out[d] = x == one ? y : x;
  }
  return out;
}

}  // namespace tandem::onnx
