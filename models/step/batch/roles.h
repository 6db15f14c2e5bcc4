// Which dimension of which operand grows with the batch, from the shapes of one trace.
#pragma once

#include <cstdint>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "models/ops/op_table.h"
#include "models/step/op_nesting.h"
#include "sim/core/tensors/operands.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Shapes that stand where operations take their parameters. A matrix also counts transposed.
class ParameterShapes {
 public:
  void add(const TensorShape& shape);
  bool contains(const TensorShape& shape) const;
  bool contains(std::int64_t rows, std::int64_t columns) const;
  bool empty() const { return shapes_.empty(); }
  friend bool operator==(const ParameterShapes&, const ParameterShapes&) = default;

 private:
  using Dims = std::vector<std::int64_t>;
  std::set<Dims> shapes_;
};

/// The matrix of a product of rows of several dimensions with it: `x @ weight.T`, as programs spell
/// a layer that is no module. Null of other operations.
const TensorShape* bare_weight(const OpRow& row, const OpTensors& tensors);

/// What the shapes of a whole trace tell about those of its batch.
struct BatchShapes {
  std::int64_t batch = 1;
  ParameterShapes parameters;
  ParameterShapes joined;            // images of all items as one, which has the channels of all
  bool sequence_first = false;       // images and sequences stand behind the time step
  std::set<std::int64_t> positions;  // lengths of the items' sequences
};

/// The growing dimension of each operand. `weight_gradient`: the product is one if the order of
/// products in its backward node is the usual, which decides where the shapes leave open what it
/// is.
std::vector<std::int8_t> growing_axes(const OpRow& row, const OpTensors& tensors,
                                      const BatchShapes& shapes, bool weight_gradient);

/// A distinct operation: its operands and the dimension of each that grows with the batch.
struct BatchOp {
  std::string_view name;
  const OpRow* row = nullptr;  // what the table knows of the name; never null in BatchOps
  OpTensors tensors;
  std::span<const Argument> arguments;
  std::vector<std::int8_t> axis;  // per tensor; -1: does not grow
  bool optimizer = false;         // part of the parameter update
  bool fixed = false;             // neither it nor what it contains depends on the batch
  bool grows() const;
  bool has_shapes() const { return !tensors.shapes.empty(); }
};

/// The operands with `batch` in place of `base_batch`.
OpTensors resize(const BatchOp& op, std::int64_t base_batch, std::int64_t batch);

/// The operations of a trace; equal ones in equal surroundings share one BatchOp. Views point into
/// the trace.
class BatchOps {
 public:
  BatchOps(const Trace& trace, const OpNesting& nesting, std::int64_t base_batch);

  /// Number of the BatchOp of a row of Trace::ops.
  std::uint32_t number(std::uint32_t row) const { return number_[row]; }
  const BatchOp& op(std::uint32_t number) const { return ops_[number]; }
  std::size_t size() const { return ops_.size(); }
  const ParameterShapes& parameters() const { return shapes_.parameters; }
  /// Errors: InputError if no dimension of any operand is a multiple of the base batch.
  void require_growth() const;

 private:
  struct Key;
  std::uint32_t add(const Key& key);

  const Trace& trace_;
  BatchShapes shapes_;
  std::vector<BatchOp> ops_;
  std::vector<std::uint32_t> number_;
};

}  // namespace tandem
