// Which operation contains which, and which one each activity belongs to.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/ops/op_table.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Nesting of Trace::ops by time on their thread. All entries are rows of Trace::ops, or no_row.
struct OpNesting {
  std::vector<std::uint32_t> parent;  // per operation
  /// Per call: the innermost operation around it, or that of its node.
  std::vector<std::uint32_t> of_call;
  std::vector<std::uint32_t> of_activity;  // per activity: of its call, else by external id
};

/// Rows that a what-if has added stand closer to each other than times tell: an operation and its
/// call have one external id from here downwards, and no others are in it.
inline constexpr std::int64_t first_added_id = -(std::int64_t{1} << 62);
inline bool is_added(std::int64_t external_id) { return external_id <= first_added_id; }

OpNesting nest_ops(const Trace& trace, const Links& links);

/// The nearest of `op` (or no_row) and what contains it whose row in the operation table `is`, or
/// no_row.
template <typename Is>
std::uint32_t enclosing(const Trace& trace, const OpNesting& nesting, std::uint32_t op, Is is) {
  while (op != no_row && !is(op_row(text_of(trace, trace.ops.name[op])))) op = nesting.parent[op];
  return op;
}

/// What contains `op` (or no_row) and lies in nothing itself.
inline std::uint32_t outermost(const OpNesting& nesting, std::uint32_t op) {
  while (op != no_row && nesting.parent[op] != no_row) op = nesting.parent[op];
  return op;
}

/// Whether `op` (or no_row) is `outer` or lies within it.
inline bool lies_within(const OpNesting& nesting, std::uint32_t op, std::uint32_t outer) {
  while (op != no_row && op != outer) op = nesting.parent[op];
  return op != no_row;
}

/// Per operation: whether it began inside an annotation of an optimizer (`Optimizer.step#...`).
std::vector<bool> ops_of_optimizer(const Trace& trace);

}  // namespace tandem
