// Which rows a kernel of TorchInductor holds whole in a block ("persistent"), and which it goes
// through in loops.
#pragma once

#include <cstdint>

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

/// Whether the sums of rows, or their largest elements, have gaps: FP32 numbers, one for each row
/// of `full`.
bool sums_lie_apart(const TensorShape& full);

/// Scores of attention that is computed by products, of an item and one of its heads.
struct ScoreRows {
  std::int64_t items = 0, heads = 0, queries = 0, keys = 0;
};
/// Whether the kernel of their softmax, or of its gradient, goes through rows of no more than
/// `longest` in loops too: where something lies with gaps. Forward that is whether any score of a
/// row is finite, a byte for each row; backward the weights, or the sums of rows.
bool loops_scores(const GpuArch& gpu, const ScoreRows& rows, double longest, bool back);

}  // namespace tandem
