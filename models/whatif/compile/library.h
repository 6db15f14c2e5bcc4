// Library kernels inside of compiled code: convolutions in channels-last order, aligned products,
// attention.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/kernel/kinds.h"
#include "models/kernel/work/gemm_shape.h"
#include "models/step/one_call.h"
#include "models/whatif/compile/attention.h"
#include "models/whatif/compile/kernels/generated_kernel.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {

/// What becomes of the works of one library operation.
struct LibraryChange {
  std::vector<std::uint32_t> dropped;                     // works
  std::vector<std::pair<std::uint32_t, double>> retimed;  // work, us
  std::vector<ExtraKernel> before;                        // on the stream of the first work
  std::vector<ExtraKernel> after;                         // the framework's own, behind all works
};

class LibraryRewrite {
 public:
  /// `turns_weights`: the weights of every convolution and their gradients are transposed each
  /// step, as by XLA, which keeps parameters in the order of the program.
  LibraryRewrite(const KernelContext& context, bool turns_weights)
      : c_(context), blocks_(context.step.trace, context.flow), turns_weights_(turns_weights) {}

  LibraryChange rewrite(const FlowOp& op);

 private:
  const KernelClass& kernel_class(std::uint32_t work) const;
  double aligned_us(double flops, double bytes, DataType type) const;
  void convolution(const FlowOp& op, LibraryChange& change);
  bool measured_convolution(const FlowOp& op, DataType type, LibraryChange& change) const;
  bool reorder_pass(std::span<const LayerKernel> kernels, const MeasuredChange& layers,
                    std::span<const std::uint32_t> works, LibraryChange& change) const;
  void turn_weights(const FlowOp& op, LibraryChange& change) const;
  /// The framework stores a gradient in the order of its parameter: what compiled code made in
  /// another one is copied.
  void restore_gradient(const FlowOp& op, LibraryChange& change) const;
  /// Whether compiled code makes the operand.
  bool is_made(const FlowOp& op, const TensorShape& shape) const;
  void matmul(const FlowOp& op, LibraryChange& change);
  /// A fused kernel takes the place of both products of attention that the program writes out; true
  /// if `op` is one of them.
  bool fused_attention(const FlowOp& op, LibraryChange& change) const;
  /// Attention of a layer that the framework ran in one call: of the projection behind which a
  /// compiler adds the bias, query, key and value are copies of their own.
  void take_apart(const FlowOp& op, LibraryChange& change) const;
  /// A product of the type that the compiler gives it takes the place of the traced one.
  void lowered_product(const FlowOp& op, const ProductOperands& operands,
                       LibraryChange& change) const;
  /// The items of a batch by themselves, where the framework copies them into one matrix.
  void product_of_items(const FlowOp& op, const ProductOperands& operands,
                        LibraryChange& change) const;
  /// `us`: of the product that takes the place of the traced one.
  void replace_product(const FlowOp& op, const ProductOperands& operands, double bytes, double us,
                       LibraryChange& change) const;

  const KernelContext& c_;
  WholeBlocks blocks_;
  bool turns_weights_;
};

/// The operation's operands as kernels' work is counted from; no geometry.
OpContext context_of(const Trace& trace, const FlowOp& op);

}  // namespace tandem
