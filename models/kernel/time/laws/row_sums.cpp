#include "models/kernel/time/laws/row_sums.h"

#include "models/kernel/launch_rules.h"
#include "sim/core/fields/field.h"

namespace tandem {

std::vector<Field<RowSums>> row_sums_fields() {
  using S = RowSums;
  std::vector<Field<S>> fields{
      field("norm_sum_kept_row_us", "us",
            "of a row in the gradient of a row norm's scale and shift, one block for 32 columns, "
            "operands in L2",
            &S::kept_row_us),
      field("norm_sum_row_us", "us", "... and in DRAM", &S::row_us)};
  add_fields(fields, &S::l2,
             {field("norm_sum_full_share", "ratio", "operands / L2 size up to which all hit",
                    &L2Keeps::full_share),
              field("norm_sum_none_share", "ratio", "operands / L2 size from which none hit",
                    &L2Keeps::none_share)});
  fields.push_back(field("norm_sum_parts_us", "us",
                         "both kernels that add up the parts of such a gradient", &S::parts_us));
  return fields;
}

double row_sums_us(const GpuArch& gpu, const RowSums& sums, const CachedMemory& memory, double rows,
                   double columns) {
  constexpr double element_bytes = 8;  // of the gradient and of the operand
  const double bytes = element_bytes * rows * columns;
  if (sums_rows_in_parts(gpu, rows, columns)) return cached_memory_us(gpu, memory, bytes);
  const double missed = l2_missed(gpu, bytes, sums.l2);
  return rows * (sums.kept_row_us + missed * (sums.row_us - sums.kept_row_us));
}

}  // namespace tandem
