#include "models/whatif/precision/types/conversions.h"

#include <algorithm>
#include <string_view>

#include "models/step/op_rows.h"
#include "sim/core/tensors/operands.h"

namespace tandem {
namespace {

bool is_user_code(std::string_view around) {
  return !is_framework_op(around) && !is_backward_node(around);
}

/// `to(tensor, dtype, non_blocking, copy, memory_format)`; the one with a device has 8 arguments.
bool names_type_only(const Operands& operands) {
  return operands.tensors.shapes.size() == 1 && operands.argument_count == 5;
}

}  // namespace

std::vector<IdleConversion> idle_conversions(const Trace& trace, const OpNesting& nesting) {
  const HostOps& ops = trace.ops;
  std::vector<bool> has_inner(ops.size(), false);
  for (const std::uint32_t parent : nesting.parent) {
    if (parent != no_row) has_inner[parent] = true;
  }
  OpRows rows(trace);
  std::vector<IdleConversion> out;
  for (std::uint32_t row = 0; row < ops.size(); ++row) {
    if (!rows.of(row).is(converts) || has_inner[row]) continue;
    const std::uint32_t parent = nesting.parent[row];
    if (parent != no_row && !is_user_code(text_of(trace, ops.name[parent]))) continue;
    const Operands& operands = operands_of(trace, row);
    if (!names_type_only(operands)) continue;
    const TensorShape& tensor = operands.tensors.shapes[0];
    if (tensor.type == DataType::fp32) out.push_back({ops.begin[row], tensor.elements()});
  }
  std::sort(out.begin(), out.end(),
            [](const IdleConversion& a, const IdleConversion& b) { return a.at < b.at; });
  return out;
}

AlignedList aligned_list(const Trace& trace, const FlowOp& op, TimePoint since,
                         std::span<const IdleConversion> idle) {
  AlignedList list;
  for (const TensorShape& tensor : operands_of(trace, op.op).tensors.shapes) {
    if (tensor.type != DataType::unknown || tensor.elements() <= 1) continue;
    if (list.operands > 0 && tensor.elements() != list.elements) return {};
    ++list.operands, list.elements = tensor.elements();
  }
  const TimePoint until = trace.ops.begin[op.op];
  list.conversions =
      static_cast<std::size_t>(std::count_if(idle.begin(), idle.end(), [&](const auto& c) {
        return c.at > since && c.at < until && c.elements == list.elements;
      }));
  return list.conversions < list.operands ? list : AlignedList{};
}

}  // namespace tandem
