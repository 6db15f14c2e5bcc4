// Which inputs a generated kernel shares with one before it.
#pragma once

#include <cstdint>
#include <vector>

#include "models/kernel/classify/fused_name.h"
#include "models/step/dataflow.h"

namespace tandem {

/// Kernels of the backward pass that read what a kernel before them read: a pointwise kernel behind
/// a reduction of the same operands (gradients of norms: sums, then what they are for), and sums
/// for the parameters of a norm behind the gradient of its rows.
class RepeatedReads {
 public:
  using Shapes = std::vector<TensorShape>;

  /// `inputs`: per operand of `op`, row `row` of the data flow, its row of Dataflow::inputs, or
  /// no_row. Sums of parts, which may stand between, read one operand of full size.
  void see(const FlowOp& op, std::uint32_t row, const FusedName& name, const Shapes& operands,
           std::vector<std::uint32_t> inputs);

  /// Per operand of `op`, a kernel of row `row`: which input of another kernel before it that is,
  /// or no_row. Behind a reduction, one that reads all that the reduction read in full size; sums
  /// for the parameters of a norm behind the kernel that computes the gradient of its rows, if that
  /// read all that they read in full size. Two at least: one alone may be another tensor.
  std::vector<std::uint32_t> of(const FlowOp& op, std::uint32_t row, const FusedName& name,
                                const Shapes& operands) const;

 private:
  /// Generated code that went backward.
  struct Reader {
    Shapes operands;
    std::vector<std::uint32_t> inputs;  // per operand: row of Dataflow::inputs, or no_row
    std::uint32_t op = no_row;
  };
  static std::vector<std::uint32_t> like_inputs(const Reader& before, const Shapes& operands);

  Reader reduction_, norm_;  // the latest reduction, and gradient of rows of a norm
};

}  // namespace tandem
