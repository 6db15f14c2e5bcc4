#include "models/whatif/compile/host/host_lists.h"

#include <algorithm>
#include <unordered_set>

#include "models/step/op_nesting.h"
#include "sim/core/copy_direction.h"

namespace tandem {
namespace {

bool copies_to_device(const Step& step, const Dataflow& flow, const FlowOp& op) {
  const auto works = flow.works_of(op);
  return std::any_of(works.begin(), works.end(), [&](std::uint32_t w) {
    const StringId name = step.trace.activities.name[step.plan.works[w].source];
    return copy_direction(text_of(step.trace, name)) == CopyDirection::to_device;
  });
}

/// Whether random numbers were drawn on the host from row `begin` of its operations to `end`.
bool draws(const Step& step, const std::vector<bool>& launches, std::uint32_t begin,
           std::uint32_t end) {
  for (std::uint32_t r = begin; r < end; ++r) {
    if (!launches[r] && op_row(text_of(step.trace, step.trace.ops.name[r])).is(draws_numbers)) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::uint32_t rows_around(const Step& step, const Dataflow& flow, const FlowOp& op) {
  return enclosing(step.trace, flow.nesting, op.op, [](const OpRow& row) {
    return row.kind == OpKind::gather || row.kind == OpKind::scatter;
  });
}

std::vector<bool> host_lists(const Step& step, const Dataflow& flow) {
  std::vector<bool> out(step.trace.ops.size(), false), launches(step.trace.ops.size(), false);
  std::unordered_set<std::int64_t> read_again;  // numbers of operations whose gradients take rows
  for (const FlowOp& op : flow.ops) {
    launches[op.op] = true;
    if (runs_backward(op) && rows_around(step, flow, op) != no_row) read_again.insert(op.sequence);
  }
  std::uint32_t last = 0;  // row of the list before
  for (const FlowOp& op : flow.ops) {
    const std::uint32_t rows = rows_around(step, flow, op);
    if (rows == no_row || !copies_to_device(step, flow, op)) continue;
    const bool again = read_again.count(op.sequence) > 0;
    out[rows] = again || draws(step, launches, last, rows);
    last = rows;
  }
  return out;
}

}  // namespace tandem
