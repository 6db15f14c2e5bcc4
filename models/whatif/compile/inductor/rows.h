// Which rows a kernel of TorchInductor holds whole in a block ("persistent"), and which it goes
// through in loops.
#pragma once

#include "models/whatif/compile/inductor/splits.h"
#include "sim/core/tensors/tensor.h"

namespace tandem {

/// Whether the compiler asks of every operand that it lies as the rows do before a block holds
/// them: so many rows keep the GPU busy that how their sums might be split is never asked.
bool asks_for_order(const GpuArch& gpu, const SumShape& rows);

/// Whether an operand lies in memory as the rows of `full` do: its dimensions are the last ones of
/// these, without gaps. A mask of each item that all heads share does not, a bias that all items
/// share does.
bool lies_as_rows(const TensorShape& operand, const TensorShape& full);

/// Whether what is one number of `width` bytes for each row of `full`, a sum or a largest element,
/// has gaps.
bool results_lie_apart(const TensorShape& full, std::int64_t width);

/// Whether the kernel of a softmax of `scores` [item, head, query, key] of attention that is
/// computed by products, or of its gradient, goes through rows in loops that are no longer than
/// `longest`: where something lies with gaps. Forward that is whether any score of a row is finite,
/// a byte for each row; backward the weights, or the sums of rows. Longer ones it does always.
bool loops_scores(const GpuArch& gpu, const TensorShape& scores, double longest, bool back);

}  // namespace tandem
