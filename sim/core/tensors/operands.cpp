#include "sim/core/tensors/operands.h"

#include <algorithm>
#include <functional>
#include <string_view>

namespace tandem {

namespace {

class Hash {
 public:
  void mix(std::uint64_t value) {
    value_ = (value_ ^ value) * 0x9e3779b97f4a7c15ULL;
    value_ ^= value_ >> 29U;
  }
  std::size_t value() const { return value_; }

  void operator()(std::monostate) { mix(0); }
  void operator()(bool value) { mix(value ? 1 : 2); }
  void operator()(std::int64_t value) { mix(static_cast<std::uint64_t>(value)); }
  void operator()(double value) { mix(std::hash<double>{}(value)); }
  void operator()(const std::string& text) { mix(std::hash<std::string_view>{}(text)); }
  template <class T>
  void operator()(const std::vector<T>& list) {
    mix(list.size());
    for (const T& value : list) (*this)(value);
  }

 private:
  std::uint64_t value_ = 0;
};

}  // namespace

const TensorShape* OpTensors::at(std::size_t position) const {
  const auto it = std::find(arguments.begin(), arguments.end(), position);
  return it == arguments.end() ? nullptr
                               : &shapes[static_cast<std::size_t>(it - arguments.begin())];
}

void OpTensors::add(std::size_t position, const TensorShape& shape) {
  shapes.push_back(shape);
  arguments.push_back(static_cast<std::uint8_t>(std::min<std::size_t>(position, 255)));
}

std::span<const std::int64_t> integers_of(const Argument& argument) {
  if (const auto* const list = std::get_if<std::vector<std::int64_t>>(&argument)) return *list;
  if (const auto* const one = std::get_if<std::int64_t>(&argument)) return {one, 1};
  return {};
}

const Argument& Operands::argument(std::size_t position) const {
  static const Argument none;
  return position < arguments.size() ? arguments[position] : none;
}

std::string shapes_text(const OpTensors& tensors) {
  std::string out = "[";
  for (const TensorShape& shape : tensors.shapes) {
    out += out.size() > 1 ? ",[" : "[";
    for (std::size_t i = 0; i < shape.rank; ++i) {
      out.append(i > 0 ? "," : "").append(std::to_string(shape.dims[i]));
    }
    out += ']';
  }
  return out += ']';
}

std::size_t hash_of(const Operands& operands) {
  Hash hash;
  for (const TensorShape& shape : operands.tensors.shapes) {
    for (std::size_t i = 0; i < shape.rank; ++i) {
      hash(shape.dims[i]);
      hash(shape.strides[i]);
    }
    hash.mix(std::uint64_t{shape.rank} << 8U | static_cast<std::uint64_t>(shape.type));
    if (shape.memory.known()) hash.mix(shape.memory.storage);
  }
  for (const std::uint8_t position : operands.tensors.arguments) hash.mix(position);
  for (const Argument& argument : operands.arguments) {
    hash.mix(argument.index());
    std::visit(hash, argument);
  }
  hash.mix(operands.argument_count);
  hash.mix(static_cast<std::uint64_t>(operands.compiled_mask));
  return hash.value();
}

std::size_t memory_bytes(const Operands& operands) {
  std::size_t bytes = sizeof(Operands) + operands.tensors.shapes.capacity() * sizeof(TensorShape) +
                      operands.made.capacity() * sizeof(TensorShape) +
                      operands.dropped.capacity() * sizeof(TensorShape) +
                      operands.tensors.arguments.capacity() +
                      operands.arguments.capacity() * sizeof(Argument);
  for (const Argument& argument : operands.arguments) {
    if (const auto* const text = std::get_if<std::string>(&argument)) bytes += text->capacity();
    bytes += integers_of(argument).size_bytes();
    if (const auto* const list = std::get_if<std::vector<double>>(&argument)) {
      bytes += list->capacity() * sizeof(double);
    }
  }
  return bytes;
}

}  // namespace tandem
