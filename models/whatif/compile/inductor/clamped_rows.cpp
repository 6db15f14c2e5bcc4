#include "models/whatif/compile/inductor/clamped_rows.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "models/ops/op_table.h"
#include "models/step/binding/compiled_graphs.h"
#include "sim/core/tensors/data_type.h"
#include "sim/core/tensors/operands.h"

namespace tandem {
namespace {

using Bounds = std::pair<std::int64_t, std::int64_t>;

/// Between which whole numbers the operation clamps integers of these dimensions; positions are not
/// further apart than `furthest`.
std::optional<Bounds> bounds_of(const Trace& trace, const FlowOp& op, const TensorShape& index) {
  constexpr std::size_t lower = 1, upper = 2;  // arguments of clamp
  constexpr std::int64_t furthest = std::int64_t{1} << 40;
  if (op.row == nullptr || !op.row->is(clamps)) return std::nullopt;
  const Operands& operands = operands_of(trace, op.op);
  const TensorShape* x = operands.tensors.at(0);
  if (x == nullptr || is_floating(x->type) || !same_recorded_dims(*x, index)) return std::nullopt;
  const auto low = integers_of(operands.argument(lower)),
             high = integers_of(operands.argument(upper));
  if (low.size() != 1 || high.size() != 1) return std::nullopt;
  if (low[0] < -furthest || low[0] > high[0] || high[0] > furthest) return std::nullopt;
  return Bounds{low[0], high[0]};
}

/// How many of the distances k - q lie at `bound` or below: of each query q + bound + 1, none
/// before the first and at most all keys from the last on.
double at_most(double bound, double queries, double keys) {
  const double own = bound + 1;
  const double first = std::clamp(-own, 0.0, queries);
  const double last = std::clamp(keys - own, first, std::max(first, queries));
  return (last - first) * (first + last - 1 + 2 * own) / 2 + (queries - last) * keys;
}

}  // namespace

double clamped_row_share(const Trace& trace, const Dataflow& flow, const FlowOp& scatter) {
  constexpr std::size_t named = 1, row_count = 2;  // arguments of embedding_dense_backward
  const Operands& operands = operands_of(trace, scatter.op);
  const TensorShape* index = operands.tensors.at(named);
  const auto rows = integers_of(operands.argument(row_count));
  if (index == nullptr || index->rank < 2 || rows.size() != 1) return 0;
  const auto queries = double(index->dims[index->rank - 2]),
             keys = double(index->dims[index->rank - 1]);
  for (const FlowOp& op : flow.ops) {
    const auto bounds = bounds_of(trace, op, *index);
    if (!bounds || bounds->second - bounds->first + 1 != rows[0]) continue;
    const double low = at_most(double(bounds->first), queries, keys);
    // Distances at the upper bound or above are, seen from the keys, those at its negative or
    // below.
    const double high = at_most(-double(bounds->second), keys, queries);
    return std::max(low, high) / std::max(1.0, queries * keys);
  }
  return 0;
}

}  // namespace tandem
