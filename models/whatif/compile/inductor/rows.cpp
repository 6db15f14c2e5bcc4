#include "models/whatif/compile/inductor/rows.h"

#include "models/memory/laid_apart.h"

// The numbers are those of TorchInductor 2.11: SIMDKernelFeatures.reduction_hint
// (torch/_inductor/codegen/simd_kernel_features.py), should_use_persistent_reduction (choices.py)
// and MemoryDep.is_contiguous (dependencies.py).

namespace tandem {

bool asks_for_order(const GpuArch& gpu, const SumShape& rows) {
  return !holds_columns(rows) && !may_be_split(gpu, rows);
}

bool lies_as_rows(const TensorShape& operand, const TensorShape& full) {
  std::size_t first = 0;
  while (first < operand.rank && operand.dims[first] == 1) ++first;
  const std::size_t kept = operand.rank - first;
  if (kept > full.rank) return false;
  std::int64_t stride = 1;
  for (std::size_t back = 1; back <= kept; ++back) {
    const std::size_t d = operand.rank - back;
    if (operand.dims[d] != full.dims[full.rank - back]) return false;
    const bool recorded = operand.strides[operand.rank - 1] != 0;
    if (recorded && operand.dims[d] > 1 && operand.strides[d] != stride) return false;
    stride *= operand.dims[d];
  }
  return true;
}

bool results_lie_apart(const TensorShape& full, std::int64_t width) {
  std::int64_t stride = 1;
  for (std::size_t d = full.rank; d-- > 2;) {
    stride *= full.dims[d - 1];
    if (laid_apart(stride, width)) return true;
  }
  return false;
}

bool loops_scores(const GpuArch& gpu, const TensorShape& scores, double longest, bool back) {
  constexpr std::int64_t truth = 1, wide = 4;  // bytes
  const std::int64_t keys = scores.dims[scores.rank - 1];
  if (double(keys) > longest) return true;
  if (!asks_for_order(gpu, {double(scores.elements()) / double(keys), double(keys)})) return false;
  if (!back) return results_lie_apart(scores, truth);
  return results_lie_apart(scores, wide) || laid_apart(scores.dims[scores.rank - 2] * keys, wide);
}

}  // namespace tandem
