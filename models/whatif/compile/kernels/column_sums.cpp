#include "models/whatif/compile/kernels/column_sums.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/whatif/compile/inductor/rows.h"
#include "models/whatif/compile/inductor/splits.h"

namespace tandem {
namespace {

/// Whether what the operation adds up is a copy of what was rolled.
bool sums_rolled(const GroupView& view, std::uint32_t op) {
  std::uint32_t maker = view.tensor(view.input(op, 0)).producer;
  while (maker != no_row && view.flow_op(maker).kind == OpKind::cast &&
         view.flow_op(maker).input_count > 0) {
    maker = view.tensor(view.inputs(maker).back()).producer;
  }
  return maker != no_row && view.flow_op(maker).row->is(rolls);
}

/// The places are those before the roll, which an index gives: the sum is left to as few blocks as
/// there are columns, eight in each.
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

/// The gradient of a softmax that the operation adds up and nothing stores (a product reads it in
/// 16 bits): the kernel of the sum computes it once more from what the softmax made. no_row: it
/// adds up something else, or what is stored.
std::uint32_t summed_scores(const GroupView& view, std::uint32_t op) {
  const std::uint32_t scores = view.input(op, 0);
  const std::uint32_t maker = scores == no_row ? no_row : view.tensor(scores).producer;
  if (!view.holds(maker) || view.flow_op(maker).kind != OpKind::softmax_backward) return no_row;
  const auto& stored = view.group().writes;
  return std::find(stored.begin(), stored.end(), scores) == stored.end() ? maker : no_row;
}

/// Whether the sum is over the first dimension (windows) of scores whose sides are powers of two.
/// It goes to a table of relative places, and the code that adds it to its rows then has an index
/// for each side: a block takes 32 scores of one row and goes through all windows. (Of other sides
/// there is one index, and many blocks share the windows.)
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

}  // namespace

std::vector<std::uint32_t> ColumnSums::stored_images(std::uint32_t like) const {
  std::vector<std::uint32_t> out;
  for (const std::uint32_t t : group_.writes) {
    if (view_.tensor(t).elements == view_.tensor(like).elements) out.push_back(t);
  }
  return out;
}

void ColumnSums::add_pixel_sum(std::uint32_t op, std::size_t norms) {
  const auto outs = view_.outputs(op);
  const std::uint32_t x = view_.input(op, 0);
  const double results = std::max(1.0, double(view_.tensor(outs.front()).elements));
  const SumShape sum{results, std::ceil(double(view_.tensor(x).elements) / results)};
  if (outer_parts(c_.gpu, sum) == 1) {
    const bool whole = holds_columns(sum);
    add_whole(GeneratedKind::reduction, whole ? SumOrder::short_columns : SumOrder::streamed);
  } else if (const auto stored = stored_images(x); norms > 0 || !stored.empty()) {
    add_whole(GeneratedKind::pointwise);
    reduce(norms > 0 ? std::vector{x} : stored, {.columns = results});
  } else {
    reduce(group_.reads, {.columns = results});
  }
}

void ColumnSums::sum_gradient_rows(std::uint32_t op) {
  const std::uint32_t scale = view_.input(op, 5), grad = view_.input(op, 0);
  const double columns = scale == no_row ? 1 : double(view_.tensor(scale).elements);
  const double all = grad == no_row ? 1 : double(view_.tensor(grad).elements);
  const bool across = view_.saved_across(op);
  if (sums_along_rows(all / columns, columns) && !across) {
    for (int i = 0; i < 2; ++i) finish(columns, c_.law.generated.mixed_sum_us);
    return;
  }
  reduce({grad, view_.input(op, 1)},
         {.columns = std::max(1.0, columns), .kinds = 2, .across = across});
}

void ColumnSums::sum_columns() {
  for (const std::uint32_t i : group_.ops) {
    if (c_.plan.roles[i] != FuseRole::column_sum || view_.input(i, 0) == no_row) continue;
    const auto outs = view_.outputs(i);
    const double columns = outs.empty() ? 1 : std::max(1.0, double(view_.tensor(outs[0]).elements));
    const std::uint32_t scores = summed_scores(view_, i);
    if (sums_rolled(view_, i)) {
      out_.push_back(rolled_sum(view_, i, columns));
    } else if (scores != no_row) {
      const double row_us = walks_windows(view_, i) ? c_.law.generated.window_row_us : 0;
      reduce({view_.loaded(view_.input(scores, 0)), view_.input(scores, 1)},
             {.columns = columns, .row_us = row_us});
    } else {
      reduce({view_.input(i, 0)}, {.columns = columns, .plain = true});
    }
  }
}

}  // namespace tandem
