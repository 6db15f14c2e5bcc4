#include "models/whatif/compile/kernels/column_sums.h"

#include <algorithm>
#include <bit>

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

std::uint32_t summed_scores(const GroupView& view, std::uint32_t op) {
  const std::uint32_t scores = view.input(op, 0);
  const std::uint32_t maker = scores == no_row ? no_row : view.tensor(scores).producer;
  if (!view.holds(maker) || view.flow_op(maker).kind != OpKind::softmax_backward) return no_row;
  const auto& stored = view.group().writes;
  return std::find(stored.begin(), stored.end(), scores) == stored.end() ? maker : no_row;
}

bool walks_windows(const GroupView& view, std::uint32_t op) {
  const KernelContext& c = view.context();
  const Operands& in = operands_of(c.step.trace, view.flow_op(op).op);
  const TensorShape* scores = in.tensors.at(0);
  const bool over_windows =
      scores != nullptr && scores->rank > 2 && integers_of(in.argument(1)).size() == 1;
  if (!over_windows) return false;
  const auto side = [&](int from_back) {
    return static_cast<std::uint64_t>(
        scores->dims[static_cast<std::size_t>(scores->rank - from_back)]);
  };
  return std::has_single_bit(side(1)) && std::has_single_bit(side(2));
}

}  // namespace tandem
