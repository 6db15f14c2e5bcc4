#include "models/whatif/compile/kernels/table_adds.h"

#include <algorithm>
#include <cmath>

#include "models/whatif/compile/inductor/clamped_rows.h"

namespace tandem {
namespace {

/// Rather than writing them.
bool adds_values(const GroupView& view, const FlowOp& op) {
  constexpr std::size_t accumulates = 3;  // argument of index_put
  if (op.kind != OpKind::scatter) return false;
  return op.row->is(per_element) || op.row->is(adds_rows) ||
         operands_of(view.context().step.trace, op.op).argument(accumulates) == Argument(true);
}

/// Whether the channels of the places that a FuseRole::spread adds to lie side by side.
bool spreads_over_channels(const GroupView& view, const FlowOp& op) {
  if (view.context().images.channels_last) return true;
  // The places are those of what the forward operation read, in its order.
  return std::any_of(view.context().flow.ops.begin(), view.context().flow.ops.end(),
                     [&](const FlowOp& forward) {
                       return op.sequence >= 0 && forward.sequence == op.sequence &&
                              forward.phase == FlowPhase::forward && view.lies_last(forward, 0);
                     });
}

/// That reach the L2 together: those of a row are neighbours.
double values_of_a_sector(const GroupView& view, const FlowOp& op) {
  const auto outs = view.context().flow.outputs_of(op);
  if (op.row->is(per_element) || outs.empty()) return 1;
  return sector_bytes / std::max(1, element_bytes(view.tensor(outs[0]).type));
}

/// The same of a FuseRole::spread: neighbours of a row reach it together, channels that lie side
/// by side do not.
double spread_together(const GroupView& view, std::uint32_t i) {
  const FlowOp& op = view.flow_op(i);
  const double together = view.context().law.generated.added_together;
  constexpr std::size_t strides = 5;  // argument of col2im
  const auto steps = integers_of(operands_of(view.context().step.trace, op.op).argument(strides));
  const bool folds = op.row->output == OutputRule::folded && !steps.empty();
  if (view.outputs(i).empty() || (!folds && spreads_over_channels(view, op))) return 1;
  if (folds) return std::max(1.0, together / double(std::max<std::int64_t>(1, steps.back())));
  // Neighbours that meet in one place follow one another.
  const double values = view.values_of(i, 0),
               places = double(view.tensor(view.outputs(i).front()).elements);
  return std::max(1.0, 2 * together / std::sqrt(std::max(4.0, values / places)));
}

/// Whether the lanes of a warp have one row of a gradient between them; else each has one of its
/// own, because rows are short or lie across.
bool adds_rows_together(const GroupView& view, const FlowOp& op) {
  const TensorShape* x = operands_of(view.context().step.trace, op.op).tensors.at(0);
  if (x == nullptr || x->rank == 0) return false;
  const auto last = static_cast<std::size_t>(x->rank - 1);
  return x->dims[last] >= view.context().gpu.warp_size && x->strides[last] <= 1;
}

}  // namespace

double scattered_bytes(const GroupView& view) {
  double sum = 0;
  for (const std::uint32_t i : view.group().ops) {
    if (view.flow_op(i).kind != OpKind::scatter || view.input(i, 0) == no_row) continue;
    const FlowTensor& table = view.tensor(view.input(i, 0));
    const bool part = view.fills_state(i) && !adds_values(view, view.flow_op(i));
    const double values = view.values_of(i, 1) * element_bytes(table.type);
    sum += part ? std::min(values, table.bytes()) : 2 * table.bytes();
  }
  return sum;
}

double adds(const GroupView& view) {
  double sum = 0;
  for (const std::uint32_t i : view.group().ops) {
    const FlowOp& op = view.flow_op(i);
    if (adds_values(view, op)) sum += view.values_of(i, 1) / values_of_a_sector(view, op);
    if (view.context().plan.roles[i] == FuseRole::spread) {
      sum += spread_places(op) * view.values_of(i, 0) / spread_together(view, i);
    }
  }
  return sum;
}

double adds_in_turn(const GroupView& view) {
  double most = 0;
  for (const std::uint32_t i : view.group().ops) {
    const FlowOp& op = view.flow_op(i);
    const auto outs = view.context().flow.outputs_of(op);
    if (outs.empty() || op.row->output != OutputRule::table) continue;
    const FlowTensor& table = view.tensor(outs.front());
    const double rows = std::max(1.0, view.values_of(i, 1));
    const double width = std::max(1.0, view.values_of(i, 0) / rows);
    const double columns = double(sector_bytes) / element_bytes(DataType::fp32);
    const double together = adds_rows_together(view, op) ? columns : 1;
    const double sectors = std::max(1.0, table.bytes() / sector_bytes);
    const double even = rows * width / together / sectors;
    const double share = clamped_row_share(view.context().step.trace, view.context().flow, op);
    const double known = share * rows * std::min(width, columns) / together;
    most = std::max(most, share > 0 ? known : even * view.context().law.generated.uneven_adds);
  }
  return most;
}

double half_adds(const GroupView& view) {
  double sum = 0;
  for (const std::uint32_t i : view.group().ops) {
    if (view.flow_op(i).kind != OpKind::scatter || view.input(i, 0) == no_row) continue;
    // Neighbours of a row are added as pairs, in one instruction; a value alone is compared and
    // swapped until no other came between.
    if (!view.flow_op(i).row->is(per_element) && adds_rows_together(view, view.flow_op(i)))
      continue;
    const FlowTensor& table = view.tensor(view.input(i, 0));
    if (table.type == DataType::fp16)
      sum += std::max(0.0, view.values_of(i, 1) - double(table.elements));
  }
  return sum;
}

}  // namespace tandem
