#include "models/ops/list_ops.h"

#include <algorithm>
#include <iterator>

#include "models/ops/op_table.h"

namespace tandem {
namespace {

// name | operation, lists, accesses, numbers (native_functions.yaml, ForeachBinaryOpList.cu and its
// like of PyTorch 2.11). Fused updates: without states of their own choice, see optimizer recipes.
constexpr ListOpRow list_rows[] = {
    {"_foreach_mul_", ListOp::multiply, 1, 2},
    {"_foreach_add_", ListOp::add, 2, 3},
    {"_foreach_add", ListOp::sum, 3, 3},
    {"_foreach_sub_", ListOp::subtract, 2, 3},
    {"_foreach_lerp_", ListOp::lerp, 2, 3},
    {"_foreach_addcmul_", ListOp::add_product, 3, 3},  // of a list with itself
    {"_foreach_maximum_", ListOp::maximum, 2, 3},
    {"_foreach_sqrt", ListOp::root, 2, 2},
    {"_foreach_sqrt_", ListOp::root_in_place, 1, 2},
    {"_foreach_pow", ListOp::power, 2, 2},
    {"_foreach_neg_", ListOp::negate, 1, 2},
    {"_foreach_reciprocal_", ListOp::reciprocal, 1, 2},
    {"_foreach_div_", ListOp::divide, 1, 2, true},
    {"_foreach_addcdiv_", ListOp::add_quotient, 3, 4, true},
    {"_fused_sgd_", ListOp::fused_sgd, 3, 5},
    {"_fused_adam_", ListOp::fused_adam, 4, 7},
    {"_fused_adamw_", ListOp::fused_adamw, 4, 7},
    {"_foreach_*"},
    {"_fused_ada*"},
};

bool stands_for(const ListOpRow& row, std::string_view name) {
  if (!row.name.ends_with('*')) return row.name == name;
  return name.starts_with(row.name.substr(0, row.name.size() - 1));
}

}  // namespace

const ListOpRow* find_list_op(std::string_view name) {
  if (!is_framework_op(name)) return nullptr;
  std::string_view bare = without_framework(name);
  bare = bare.substr(0, bare.find('.'));
  const auto* it = std::find_if(std::begin(list_rows), std::end(list_rows),
                                [&](const ListOpRow& row) { return stands_for(row, bare); });
  return it == std::end(list_rows) ? nullptr : it;
}

const ListOpRow& list_op_row(ListOp op) {
  return *std::find_if(std::begin(list_rows), std::end(list_rows),
                       [&](const ListOpRow& row) { return row.op == op; });
}

}  // namespace tandem
