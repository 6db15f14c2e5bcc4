// Gradients of a row norm's scale and shift: sums over all rows, a column of 32 for each block.
#pragma once

#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/time/laws/cached_memory.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// Documentation: row_sums.cpp; times in us.
struct RowSums {
  double kept_row_us = 0, row_us = 0;
  L2Keeps l2;
  double parts_us = 0;
};
std::vector<Field<RowSums>> row_sums_fields();

/// Of `rows` x `columns` gradients and operands in FP32, without the floor; in parts
/// (sums_rows_in_parts): without the two kernels that add them up, which take `parts_us`.
double row_sums_us(const GpuArch& gpu, const RowSums& sums, const CachedMemory& memory, double rows,
                   double columns);

}  // namespace tandem
