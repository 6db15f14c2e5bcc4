// What optimizers do with lists of tensors: the operations of torch._foreach_* and torch._fused_*,
// told apart by what they compute, and what a kernel of each reads and writes.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem {

enum class ListOp : std::uint8_t {
  other,        // of lists, but none of these
  multiply,     // by a number
  add,          // another list, or a number
  sum,          // the same into a new list
  subtract,     // another list
  lerp,         // towards another list
  add_product,  // of two lists
  maximum,      // with another list
  root,         // into a new list
  root_in_place,
  power,   // of a number, into a new list
  negate,  // in place, as the next
  reciprocal,
  divide,        // by numbers, one a tensor
  add_quotient,  // of two lists, times numbers, one a tensor
  fused_sgd,
  fused_adam,
  fused_adamw,
};

/// Of an operation; null of one that is none of lists. `name` as a profiler writes it.
struct ListOpRow {
  std::string_view name;  // without "aten::" and overload; a trailing '*' stands for any ending
  ListOp op = ListOp::other;
  int lists = 1;         // of tensors that a kernel walks over
  int accesses = 2;      // reads and writes of an element, over all lists
  bool numbers = false;  // beside each tensor stands a number of its own
};
const ListOpRow* find_list_op(std::string_view name);
/// The row of an operation other than ListOp::other.
const ListOpRow& list_op_row(ListOp op);

/// Whether one call updates parameters and all states of the optimizer.
constexpr bool is_fused_update(ListOp op) { return op >= ListOp::fused_sgd; }
/// Whether it allocates its result for all tensors at once.
constexpr bool makes_list(ListOp op) { return op == ListOp::sum || op == ListOp::root; }

}  // namespace tandem
