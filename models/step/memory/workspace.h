// Memory that libraries ask for: while one operation runs, and for all of them.
#pragma once

#include "models/step/dataflow.h"

namespace tandem {

/// A tensor that is there a second time, in the order of the library's kernels.
struct ReorderedTensor {
  std::int64_t elements = 0;
  std::int64_t bytes = 0;
};

/// What the kernels of `op` hold beside its operands and results: copies of images and weights of a
/// convolution where cuDNN's kernel reads another order of dimensions than the tensors have. The
/// gradients of a convolution run one after the other, each with a workspace of its own: of them
/// the one that takes more. Nothing for an operation that launches no such copies.
std::vector<ReorderedTensor> reordered_tensors(const Step& step, const Dataflow& flow,
                                               const FlowOp& op);

/// Handles of the library of products of matrices, each with a workspace that stays: the framework
/// asks for one where a thread runs its first product. The backward pass has a thread of its own,
/// and a step of convolutions alone has none. Of a step whose operations are not seen (CUDA graphs)
/// those that it may have.
int product_handles(const Step& step, const Dataflow& flow, bool training);

}  // namespace tandem
