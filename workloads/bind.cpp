// A network at given sizes: formulas become numbers.
#include <algorithm>
#include <array>

#include "sim/core/bounds/limits.h"
#include "sim/core/error.h"
#include "workloads/network.h"
#include "workloads/tensorflow_operands.h"

namespace tandem {
namespace {

constexpr std::size_t most_dims = std::tuple_size_v<decltype(TensorShape::dims)>;

class Binder {
 public:
  Binder(const Network& network, std::span<const std::int64_t> values)
      : network_(network), values_(values) {}

  std::int64_t at(const Expression& expression, const std::string& place) const {
    const auto value = expression.at(values_);
    if (!value) {
      throw InputError(network_.path, place, "a size beyond 64 bits", "smaller symbols");
    }
    return *value;
  }

  std::int64_t size_at(const Expression& expression, const std::string& place) const {
    const std::int64_t value = at(expression, place);
    if (value < 0) {
      throw InputError(network_.path, place, "a size of " + std::to_string(value),
                       "larger symbols");
    }
    return value;
  }

  TensorShape shape(std::size_t index) const {
    const NetworkTensor& tensor = network_.tensors[index];
    const std::string place = "tensors[" + std::to_string(index) + "]";
    std::vector<std::int64_t> dims;
    std::vector<std::int64_t> strides;
    for (const Expression& e : tensor.dims) dims.push_back(size_at(e, place));
    for (const Expression& e : tensor.strides) strides.push_back(size_at(e, place));
    check_bounds(dims, strides, place);
    if (strides.empty()) strides = contiguous(dims);
    merge_leading(dims, strides);
    TensorShape out;
    out.type = tensor.type;
    out.rank = static_cast<std::uint8_t>(dims.size());
    for (std::size_t d = 0; d < dims.size(); ++d) {
      out.dims[d] = dims[d];
      out.strides[d] = strides[d];
      if (strides[d] == 0 && dims[d] > 1) out.expanded *= dims[d];
    }
    out.channels_last = has_channels_last(out);
    return out;
  }

  void check_list(std::span<const std::uint32_t> list, const std::vector<TensorShape>& tensors,
                  const std::string& place) const {
    if (list.size() < 2) return;
    std::int64_t elements = 0;
    for (const std::uint32_t t : list) {
      elements += tensors[t].elements();
      if (elements <= limits::list_elements) continue;
      throw InputError(network_.path, place,
                       "a list of " + std::to_string(elements) + " elements and more",
                       "at most " + std::to_string(limits::list_elements) + " (smaller symbols)");
    }
  }

 private:
  /// Of sizes, of what they hold, and of what the strides span.
  void check_bounds(const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& strides,
                    const std::string& place) const {
    std::int64_t elements = 1;
    std::int64_t span = 0;
    for (std::size_t d = 0; d < dims.size(); ++d) {
      elements = limits::product(elements, std::max<std::int64_t>(dims[d], 1));
      const std::int64_t stride = d < strides.size() ? strides[d] : 0;
      span = std::max(span, limits::product(std::max<std::int64_t>(dims[d], 1), stride));
    }
    if (std::max(elements, span) <= limits::elements) return;
    throw InputError(network_.path, place,
                     "a tensor of " + std::to_string(elements) + " elements that span " +
                         std::to_string(std::max(elements, span)),
                     "at most " + std::to_string(limits::elements) + " (smaller symbols)");
  }

  static std::vector<std::int64_t> contiguous(const std::vector<std::int64_t>& dims) {
    std::vector<std::int64_t> strides(dims.size(), 1);
    for (std::size_t d = dims.size(); d-- > 1;) {
      strides[d - 1] = strides[d] * std::max<std::int64_t>(dims[d], 1);
    }
    return strides;
  }

  /// Shapes hold six dimensions; the leading ones of longer tensors become one.
  static void merge_leading(std::vector<std::int64_t>& dims, std::vector<std::int64_t>& strides) {
    while (dims.size() > most_dims) {
      dims[1] *= dims[0];
      dims.erase(dims.begin());
      strides.erase(strides.begin());
    }
  }

  const Network& network_;
  std::span<const std::int64_t> values_;
};

/// Bytes from the first to the last element of a tensor.
std::int64_t span_bytes(const TensorShape& shape) {
  std::int64_t last = 0;
  for (std::size_t d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] == 0) return 0;
    last += (shape.dims[d] - 1) * shape.strides[d];
  }
  return (last + 1) * element_bytes(shape.type);
}

BoundOp bind_op(const NetworkOp& op, const Binder& binder,
                const std::vector<TensorShape>& tensors) {
  using Form = NetworkArgument::Form;
  BoundOp out;
  Operands& operands = out.operands;
  operands.has_shapes = true;
  operands.compiled_mask = op.compiled_mask;
  operands.argument_count = static_cast<std::uint16_t>(op.arguments.size());
  for (std::size_t a = 0; a < op.arguments.size(); ++a) {
    const NetworkArgument& argument = op.arguments[a];
    Argument& value = operands.arguments.emplace_back();
    binder.check_list(argument.tensors, tensors, op.name);
    for (const std::uint32_t t : argument.tensors) operands.tensors.add(a, tensors[t]);
    if (argument.form == Form::value) value = argument.value;
    if (argument.form == Form::number) value = binder.at(argument.numbers[0], op.name);
    if (argument.form != Form::numbers) continue;
    std::vector<std::int64_t> numbers;
    for (const Expression& e : argument.numbers) numbers.push_back(binder.at(e, op.name));
    value = std::move(numbers);
  }
  for (const std::uint32_t t : op.outputs) out.outputs.push_back(tensors[t]);
  return out;
}

std::vector<std::int64_t> symbol_values(const Network& network,
                                        std::span<const SymbolValue> wanted) {
  std::vector<std::int64_t> values;
  for (const Symbol& symbol : network.symbols) values.push_back(symbol.default_value);
  for (const SymbolValue& w : wanted) {
    std::size_t at = 0;
    while (at < values.size() && network.symbols[at].name != w.name) ++at;
    if (at == values.size()) {
      throw InputError("command line", "--" + std::string(w.name),
                       "a network without \"" + std::string(w.name) + "\" among its symbols (" +
                           network.path + ")",
                       "a network that was recorded with it");
    }
    if (w.value < 1) {
      throw InputError("command line", "--" + std::string(w.name), std::to_string(w.value),
                       "a positive number");
    }
    values[at] = w.value;
  }
  return values;
}

}  // namespace

std::int64_t BoundNetwork::value(std::string_view symbol, std::int64_t otherwise) const {
  for (std::size_t i = 0; i < network->symbols.size(); ++i) {
    if (network->symbols[i].name == symbol) return values[i];
  }
  return otherwise;
}

BoundNetwork bind_network(const Network& network, std::span<const SymbolValue> wanted) {
  BoundNetwork out;
  out.network = &network;
  out.values = symbol_values(network, wanted);
  const Binder binder(network, out.values);
  out.storage_bytes.assign(network.storages.size(), 0);
  out.tensors.reserve(network.tensors.size());
  for (std::size_t t = 0; t < network.tensors.size(); ++t) {
    out.tensors.push_back(binder.shape(t));
    std::int64_t& bytes = out.storage_bytes[network.tensors[t].storage];
    bytes = std::max(bytes, span_bytes(out.tensors.back()));
  }
  for (const NetworkOp& call : network.calls) {
    out.calls.push_back(bind_op(call, binder, out.tensors));
  }
  out.ops.reserve(network.ops.size());
  for (const NetworkOp& op : network.ops) {
    BoundOp& bound = out.ops.emplace_back(bind_op(op, binder, out.tensors));
    bound.on_host = uses_host_memory(network, op);
    if (network.framework == Framework::tensorflow) order_operands(network, op, bound);
  }
  return out;
}

}  // namespace tandem
