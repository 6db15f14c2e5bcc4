#include "models/step/unrecorded/indices.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"

namespace tandem {
namespace {

constexpr std::uint8_t index_argument = 1;

bool lacks_indices(const OpRow& row, const OpTensors& tensors) {
  if (row.output != OutputRule::indexed || tensors.at(0) == nullptr) return false;
  return std::none_of(tensors.arguments.begin(), tensors.arguments.end(),
                      [](std::uint8_t a) { return a == index_argument; });
}

/// The indices, all of one shape, that a view of the tensor by sizes and strides stands for.
struct Indices {
  TensorShape shape;
  std::size_t count = 0;
};
std::optional<Indices> indices_of(const Operands& view, const TensorShape& indexed) {
  constexpr std::size_t size_argument = 1, stride_argument = 2;
  const auto sizes = integers_of(view.argument(size_argument));
  const auto strides = integers_of(view.argument(stride_argument));
  const auto named =
      std::find_if(strides.begin(), strides.end(), [](std::int64_t stride) { return stride != 0; });
  const auto rank = static_cast<std::size_t>(named - strides.begin());
  const std::size_t kept = strides.size() - rank;
  Indices out;
  if (sizes.size() != strides.size() || rank == 0 || rank > out.shape.dims.size()) return {};
  if (kept >= indexed.rank) return {};
  if (std::any_of(sizes.begin(), sizes.end(), [](std::int64_t n) { return n < 0; })) return {};
  out.count = indexed.rank - kept;
  out.shape.rank = static_cast<std::uint8_t>(rank);
  out.shape.type = DataType::int64;
  std::copy_n(sizes.begin(), rank, out.shape.dims.begin());
  return out;
}

}  // namespace

void infer_unrecorded_indices(Trace& trace, const Links& links) {
  OpRows rows(trace);
  std::vector<bool> incomplete(trace.ops.size());
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    incomplete[op] = lacks_indices(rows.of(op), operands_of(trace, op).tensors);
  }
  if (std::find(incomplete.begin(), incomplete.end(), true) == incomplete.end()) return;
  const OpNesting nesting = nest_ops(trace, links);
  for (std::uint32_t view = 0; view < trace.ops.size(); ++view) {
    const std::uint32_t op = nesting.parent[view];
    if (op == no_row || !incomplete[op]) continue;
    Operands completed = operands_of(trace, op);
    const auto indices = indices_of(operands_of(trace, view), *completed.tensors.at(0));
    if (!indices) continue;
    for (std::size_t i = 0; i < indices->count; ++i) {
      completed.tensors.add(index_argument, indices->shape);
    }
    trace.ops.operands[op] = trace.operands.intern(std::move(completed));
    incomplete[op] = false;
  }
}

}  // namespace tandem
