// One step as it is written down: tensors, operations in the order of issue, and what the backward
// pass will do, as autograd notes it: for every differentiable operation a function from the
// gradients of its results to the operations that make the gradients of its operands.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "workloads/network.h"

namespace tandem::onnx {

using Dims = std::vector<Expression>;
using TensorId = std::uint32_t;
using Arguments = std::vector<NetworkArgument>;

inline const Expression zero(0), one(1);

/// What a name of the file stands for.
struct Value {
  DataType type = DataType::unknown;
  Dims dims;
  std::optional<TensorId> tensor;  // on the device
  std::optional<Dims> numbers;     // whole numbers that the host knows: shapes, axes
  std::optional<double> fraction;  // one number that the host knows
  std::uint32_t slot = 0;          // of its gradient
  bool needs_gradient = false;

  bool on_host() const { return numbers.has_value() || fraction.has_value(); }
};

/// Arguments of operations.
NetworkArgument nothing();
NetworkArgument of(TensorId tensor);
NetworkArgument list(std::vector<TensorId> tensors);
NetworkArgument size(Expression number);
NetworkArgument whole(std::int64_t number);
NetworkArgument sizes(Dims numbers);
NetworkArgument wholes(std::vector<std::int64_t> numbers);
NetworkArgument plain(Argument value);  // truth values, fractions, texts

class Step {
 public:
  /// Gradients of results, in their order; nothing for those that nobody asked for.
  using Gradients = std::vector<std::optional<TensorId>>;
  using Backward = std::function<void(const Gradients&)>;

  explicit Step(Network& network) : network_(network) {}

  Network& network() { return network_; }
  const NetworkTensor& tensor(TensorId id) const { return network_.tensors[id]; }
  bool trains() const { return network_.task == Task::train; }

  /// A contiguous tensor with memory of its own.
  TensorId make(DataType type, Dims dims, StorageKind kind = StorageKind::activation);
  /// A tensor in the memory of another. Strides that say no more than the sizes are left out.
  TensorId view(TensorId base, Dims dims, Dims strides);
  /// New content in the memory of a tensor.
  TensorId rewritten(TensorId tensor);

  /// Modules and nodes of the operations that follow.
  void enter(std::string_view module);
  void emit(std::string name, Arguments arguments, std::vector<TensorId> outputs);
  /// As emit, with one new contiguous result.
  TensorId run(std::string name, Arguments arguments, DataType type, Dims dims);

  Value value(TensorId tensor);
  /// What was emitted since the last call belongs to an autograd node of that name, if one of its
  /// operands needs a gradient. `give` in the function hands gradients to the operands.
  void differentiable(std::string node, std::vector<Value*> results,
                      const std::vector<Value>& operands, Backward backward);
  /// A further gradient of a value is added to the first.
  void give(const Value& value, TensorId gradient);
  /// A gradient that is not zero in some rows only.
  void give_rows(const Value& value, TensorId rows, TensorId gradient);
  std::optional<TensorId> gradient(const Value& value) const;
  struct Rows {
    TensorId of, rows, values;
  };
  const std::vector<Rows>& row_gradients() const { return row_gradients_; }
  /// Runs the notes in reverse.
  void run_backward();
  void begin_optimizer();

 private:
  struct Note {
    std::string node;
    std::int64_t sequence = 0;
    std::uint32_t module = 0;
    std::vector<std::uint32_t> slots;  // of results
    Backward backward;
  };
  Network& network_;
  Phase phase_ = Phase::forward;
  std::uint32_t module_ = 0;
  std::string node_;
  std::int64_t sequence_ = 0;
  std::uint32_t slots_ = 0;
  std::vector<Note> notes_;
  std::unordered_map<std::uint32_t, TensorId> gradients_;
  std::vector<Rows> row_gradients_;
};

}  // namespace tandem::onnx
