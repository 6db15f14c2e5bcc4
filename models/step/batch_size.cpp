#include "models/step/batch_size.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include "models/step/op_rows.h"

namespace tandem {
namespace {

/// The first dimension of the tensor at argument `position`.
std::optional<std::int64_t> leading_dimension(const Operands& operands, std::size_t position) {
  const TensorShape* const tensor = operands.tensors.at(position);
  if (tensor == nullptr || tensor->rank == 0 || tensor->dims[0] < 1) return {};
  return tensor->dims[0];
}

/// Position of the operand whose leading dimension counts the items, if the operation is a layer
/// that a network may begin with.
std::optional<std::size_t> items_argument(const OpRow& row) {
  const OpArguments& args = row.arguments;
  if (args.parameters == 0 || row.backward) return {};
  if (row.kind == OpKind::convolution || is_layer_product(row)) return args.at(ArgumentName::input);
  if (is_matrix_product(row)) return args.at(ArgumentName::left);
  if (row.layer == Layer::embedding) return args.at(ArgumentName::index);
  return {};
}

bool is_index(DataType type) { return type == DataType::int64 || type == DataType::int32; }

/// Of the first indices of two dimensions that compiled code is given: items and their tokens.
struct Compiled {
  bool any = false;
  std::optional<std::int64_t> items = {};
};
Compiled compiled_items(const Trace& trace, TimePoint from, OpRows& rows) {
  Compiled out;
  TimePoint first = TimePoint::max();
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    if (rows.of(i).kind != OpKind::generated) continue;
    out.any = true;
    if (trace.ops.begin[i] < from || trace.ops.begin[i] >= first) continue;
    const std::vector<TensorShape>& shapes = operands_of(trace, i).tensors.shapes;
    const auto indices = std::find_if(shapes.begin(), shapes.end(), [](const TensorShape& t) {
      return is_index(t.type) && t.rank > 1 && t.dims[0] > 0;
    });
    if (indices != shapes.end()) first = trace.ops.begin[i], out.items = indices->dims[0];
  }
  return out;
}

}  // namespace

std::optional<std::int64_t> batch_size(const Trace& trace, const Links& links) {
  if (trace.stated_batch) return trace.stated_batch;
  const TimePoint from = links.steps.front().begin;
  OpRows rows(trace);
  std::uint32_t first = no_row;
  std::optional<std::int64_t> batch;
  for (std::uint32_t i = 0; i < trace.ops.size(); ++i) {
    const TimePoint begin = trace.ops.begin[i];
    if (begin < from || (first != no_row && begin >= trace.ops.begin[first])) continue;
    const auto items = items_argument(rows.of(i));
    if (!items) continue;
    const auto leading = leading_dimension(operands_of(trace, i), *items);
    if (leading) first = i, batch = leading;
  }
  // Compiled code merges the batch with other dimensions before its products.
  if (first != no_row && !is_matrix_product(rows.of(first))) return batch;
  const Compiled compiled = compiled_items(trace, from, rows);
  return compiled.any ? compiled.items : batch;
}

}  // namespace tandem
