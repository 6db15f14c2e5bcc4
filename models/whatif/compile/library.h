// Library kernels inside of compiled code: convolutions in channels-last order, aligned products,
// attention.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/kernel/kinds.h"
#include "models/kernel/work/gemm_shape.h"
#include "models/whatif/compile/attention.h"
#include "models/whatif/compile/kernels.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {

/// What becomes of the works of one library operation.
struct LibraryChange {
  std::vector<std::uint32_t> dropped;                     // works
  std::vector<std::pair<std::uint32_t, double>> retimed;  // work, us
  std::vector<ExtraKernel> before;                        // on the stream of the first work
};

class LibraryRewrite {
 public:
  /// `turns_weights`: the weights of every convolution and their gradients are transposed each
  /// step, as by XLA, which keeps parameters in the order of the program.
  LibraryRewrite(const KernelContext& context, bool trains, bool turns_weights)
      : c_(context), trains_(trains), turns_weights_(turns_weights) {}

  LibraryChange rewrite(const FlowOp& op);

 private:
  const KernelClass& kernel_class(std::uint32_t work) const;
  double aligned_us(double flops, double bytes, DataType type) const;
  void convolution(const FlowOp& op, LibraryChange& change);
  bool grouped_convolution(const FlowOp& op, LibraryChange& change) const;
  void turn_weights(const FlowOp& op, LibraryChange& change) const;
  void matmul(const FlowOp& op, LibraryChange& change);

  const KernelContext& c_;
  bool trains_;
  bool turns_weights_;
};

/// Whether the compiler puts the convolutions of the step into channels-last order (rules of
/// TorchInductor, decide_layout_opt). In training none, a grouped one that is not depthwise, few
/// output channels and small layers speak against it; in inference their share of the work does.
bool prefers_channels_last(const Step& step, const Dataflow& flow, const FusionPlan& plan,
                           const FusionLaw& law);
/// Whether images between operations of the compiled model are in channels-last order: the compiler
/// prefers it, or the program did.
bool runs_channels_last(const Step& step, const Dataflow& flow, const FusionPlan& plan,
                        const FusionLaw& law);

}  // namespace tandem
