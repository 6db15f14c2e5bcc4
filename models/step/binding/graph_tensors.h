// Which tensors there are for the operations of graphs that a compiler made, and what is known of
// each.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// Of one type and the same dimensions.
bool alike(const TensorShape& a, const TensorShape& b);
/// Of one type and as many elements.
bool same_kind(const TensorShape& a, const TensorShape& b);

/// Generated kernels read less; more operands are no kernel's.
inline constexpr std::size_t most_operands = 64;

/// Tensors of a data flow as graphs see them: by size and type, with what has become of each.
/// Dimensions of one do not count: libraries put them into signals over time.
class GraphTensors {
 public:
  struct Known {
    TensorShape shape;  // as it was made; rank 0: not by a graph
    bool backward = false;
    bool by_library = false;  // not by generated code
    bool read = false;        // in the phase that made it
    bool overwritten = false;
    bool by_gradient = false;  // a library's gradient reads it
  };
  using List = std::vector<std::uint32_t>;  // tensors of the data flow

  GraphTensors(const Step& step, const Dataflow& flow);

  /// Operations outside of graphs make tensors, too.
  void see_new();
  Known& operator[](std::uint32_t tensor) { return known_[tensor]; }
  const Known& operator[](std::uint32_t tensor) const { return known_[tensor]; }
  /// The tensor turns out to have this shape: parts of it were written one by one.
  void resize(std::uint32_t tensor, const TensorShape& shape);
  std::uint32_t size() const { return static_cast<std::uint32_t>(known_.size()); }

  /// Of its size and type, in the order in which they were made.
  List& made(const TensorShape& shape);
  /// The latest of that many elements and type that a library made and nothing has read; no_row
  /// without any.
  std::uint32_t waiting_from_library(std::int64_t elements, DataType type, const FlowOp& op) const;
  /// Of the dimensions of `shape`, of those in another order, of as many elements.
  std::array<List, 3> by_fit(const List& list, const TensorShape& shape) const;
  /// Those that wait to be read, whatever their dimensions; else those that fit best.
  List fitting(const TensorShape& shape, const FlowOp& op);
  /// Whether nothing has read the tensor in the phase of `op`, which made it.
  bool waits_to_be_read(std::uint32_t tensor, const FlowOp& op) const;
  std::size_t waiting(const TensorShape& shape, const FlowOp& op);

  /// Whether training graphs say what they were given.
  bool tells_given() const { return !given_.empty(); }
  /// Whether graphs list something of its dimensions and type.
  bool listed(const TensorShape& shape) const;
  /// ... for an operation that does not go backward.
  bool given(const TensorShape& shape, const FlowOp& op) const;
  /// Whether backward graphs are given something of its kind.
  bool is_tangent(const TensorShape& shape) const;
  /// Whether no graph was given it, and no operation has made something of its size and type and of
  /// its dimensions: generated code reads what was made as it was made.
  bool unmade(const TensorShape& shape);

 private:
  /// Whether a gradient has the dimensions of another operand of the kernel, and not these.
  bool waits_for_another(std::uint32_t tensor, const TensorShape& shape, const FlowOp& op) const;

  const Step& step_;
  const Dataflow& flow_;
  std::vector<TensorShape> given_;     // that training graphs list
  std::vector<TensorShape> tangents_;  // ... and their backward graphs
  std::vector<Known> known_;           // per tensor
  std::map<std::pair<std::int64_t, DataType>, List> made_;
};

/// Of lists by how well their tensors fit: the best that is not empty.
const GraphTensors::List& best(const std::array<GraphTensors::List, 3>& lists);

}  // namespace tandem
