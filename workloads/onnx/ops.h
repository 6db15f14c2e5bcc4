// Operations of ONNX as PyTorch runs them: a table with one row each.
#pragma once

#include <string_view>

#include "workloads/onnx/graph.h"
#include "workloads/onnx/step.h"

namespace tandem::onnx {

/// One node while it is written down.
struct Call {
  Step& step;
  const Node& node;
  const std::string& path;
  std::vector<const Value*> inputs;  // null: not given
  std::vector<Value> outputs;        // what the node's names stand for

  [[noreturn]] void fail(std::string_view found, std::string_view expected) const;
  bool has(std::size_t input) const;
  /// Errors: InputError for an input that was not given.
  const Value& input(std::size_t index) const;
  const Dims& dims(std::size_t index) const { return input(index).dims; }
  /// On the device; what the host knows is handed over as a tensor that existed before the step.
  TensorId tensor(std::size_t index) const;
  /// The input, on the device.
  Value placed(std::size_t index) const;
  /// Numbers that the host knows. Errors: InputError for what only the device knows.
  const Dims& numbers(std::size_t index) const;
  std::vector<std::int64_t> integers(std::size_t index) const;

  std::int64_t number(std::string_view attribute, std::int64_t otherwise) const;
  double fraction(std::string_view attribute, double otherwise) const;
  std::string text(std::string_view attribute, std::string_view otherwise) const;
  /// Empty: not given.
  std::vector<std::int64_t> attribute_numbers(std::string_view attribute) const;
  /// Numbers of an input, as newer opsets have them, or of the attribute of older ones.
  std::optional<std::vector<std::int64_t>> numbers_of(std::size_t index,
                                                      std::string_view attribute) const;
  /// A dimension, counted from the end where it is negative, below `rank`.
  std::size_t axis(std::int64_t axis, std::size_t rank) const;
  /// A size without symbols. Errors: InputError.
  std::int64_t fixed(const Expression& size, std::string_view what) const;

  /// One result. `backward` gets its gradient.
  void result(TensorId tensor);
  void result(TensorId tensor, std::string node, const std::vector<Value>& operands,
              std::function<void(TensorId)> backward);
  void on_host(DataType type, Dims dims, Dims numbers);
  void on_host(DataType type, Dims dims, double fraction);
};

struct OnnxOp {
  std::string_view name;
  void (*run)(Call&);
  std::uint32_t trained =
      0;  // inputs that are parameters where the file has values for them, as bits
  std::string_view domain = "";
};

/// Null for operations without a row.
const OnnxOp* find_op(std::string_view domain, std::string_view name);
/// For errors: the names that files may use.
std::string op_names();

/// Numbers that the host knows, of operations on shapes: true if all that the node reads is known.
bool run_on_host(Call& call);

/// Sizes after broadcasting. Errors: InputError.
Dims broadcast(const Call& call, const Dims& a, const Dims& b);

// products.cpp
void gemm(Call& call);
void linear(Call& call);
void matmul(Call& call);
void attention(Call& call);
// images.cpp
void convolution(Call& call);
void transposed_convolution(Call& call);
void batch_norm(Call& call);
void max_pool(Call& call);
void average_pool(Call& call);
void global_average_pool(Call& call);
// pointwise.cpp
void unary(Call& call);
void clip(Call& call);
void binary(Call& call);
void compare(Call& call);
void power(Call& call);
void where(Call& call);
void cast(Call& call);
void dropout(Call& call);
// rows.cpp
void softmax(Call& call);
void layer_norm(Call& call);
void reduce(Call& call);
void scan(Call& call);
// shapes.cpp
void identity(Call& call);
void constant(Call& call);
void constant_of_shape(Call& call);
void random_like(Call& call);
void range(Call& call);
void shape(Call& call);
void size_of(Call& call);
void reshape(Call& call);
void flatten(Call& call);
void squeeze(Call& call);
void unsqueeze(Call& call);
void transpose(Call& call);
void expand(Call& call);
void concat(Call& call);
void split(Call& call);
void slice(Call& call);
void pad(Call& call);
// tables.cpp
void gather(Call& call);
void embedding_bag(Call& call);
void gather_elements(Call& call);
void gather_nd(Call& call);
void scatter_nd(Call& call);
void triangle(Call& call);

}  // namespace tandem::onnx
