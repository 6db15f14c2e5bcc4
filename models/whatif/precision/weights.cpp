#include "models/whatif/precision/weights.h"

#include "models/kernel/residual.h"
#include "models/kernel/work/work.h"

namespace tandem {
namespace {

DataType type_of_weights(Precision precision) {
  return is_whole(precision) ? half_of(precision) : DataType::fp32;
}

}  // namespace

bool retypes_weights(const TypedStep& s) {
  return is_whole(s.precision) || is_whole(s.report.from);
}

void retype_lists(TypedStep& s, std::uint32_t index) {
  for (const std::uint32_t w : s.flow.works_of(s.flow.ops[index])) {
    const KernelTraits& kernel = s.kernel_class(w).traits;
    const DataType from = kernel.data, to = type_of_weights(s.precision);
    if (row_of(kernel).loop != Loop::chunks || !is_autocast_type(from) || from == to) continue;
    const KernelWork work = kernel_work(s.kernel_class(w), s.work_context(w));
    const double bytes = work.read_bytes + work.write_bytes;
    const double narrower = double(element_bytes(to)) / element_bytes(from);
    // What a block takes to find its tensor and place stays, as beside sums.
    const double moving_share = bytes > 0 ? dram_us(s.c.gpu, bytes, 1) / s.us(w) : 1;
    const double ratio = beside_bytes(s.c.law.ratios.reduction_power, narrower, moving_share);
    s.set_time(w, carried_us(s.us(w), s.c.law.floor_us, ratio));
    s.edit.set_kernel(w, s.retyped(w, from, to));
    ++s.report.kernels_retyped;
  }
}

}  // namespace tandem
