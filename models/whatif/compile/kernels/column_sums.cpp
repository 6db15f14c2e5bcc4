#include "models/whatif/compile/kernels/column_sums.h"

#include <algorithm>

namespace tandem {

bool sums_rolled(const GroupView& view, std::uint32_t op) {
  std::uint32_t maker = view.tensor(view.input(op, 0)).producer;
  while (maker != no_row && view.flow_op(maker).kind == OpKind::cast &&
         view.flow_op(maker).input_count > 0) {
    maker = view.tensor(view.inputs(maker).back()).producer;
  }
  return maker != no_row && view.flow_op(maker).row->is(rolls);
}

GeneratedKernel rolled_sum(const GroupView& view, std::uint32_t op, double columns) {
  const GeneratedCode& code = view.context().law.generated;
  GeneratedKernel k;
  k.kind = GeneratedKind::reduction;
  k.reads = {view.input(op, 0)};
  k.bytes = view.bytes(k.reads);
  const double rows = view.largest(k) / columns;
  k.us = std::max(code.reduction.floor_us + rows * code.rolled_row_us,
                  streamed_us(view.context().gpu, code.column_sum, k.bytes));
  k.geometry = flat_geometry(columns / 8, 512);
  return k;
}

}  // namespace tandem
