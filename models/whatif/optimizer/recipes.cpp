#include "models/whatif/optimizer/recipes.h"

#include <algorithm>

#include "sim/core/named.h"

namespace tandem {
namespace {

constexpr Named<UpdateRule> rule_names[] = {
    {UpdateRule::sgd, "SGD"}, {UpdateRule::adam, "Adam"}, {UpdateRule::adamw, "AdamW"}};
constexpr Named<UpdateWay> way_names[] = {{UpdateWay::fused, "fused"},
                                          {UpdateWay::foreach, "foreach"}};
constexpr bool both[] = {false, true};

ListCall list_call(ListOp op) {
  const ListOpRow& row = list_op_row(op);
  return {op, row.lists, row.accesses, row.numbers, false};
}

/// Adds a number to each tensor.
ListCall adding_number(bool counters) { return {ListOp::add, 1, 2, false, counters}; }

// torch/optim/sgd.py, _multi_tensor_sgd
std::vector<ListCall> sgd_calls(const UpdateRecipe& recipe) {
  std::vector<ListCall> calls;
  if (recipe.decay) calls.push_back(list_call(ListOp::sum));
  if (recipe.momentum) {
    calls.push_back(list_call(ListOp::multiply));
    calls.push_back(list_call(ListOp::add));
  }
  if (recipe.nesterov) calls.push_back(list_call(ListOp::add));
  calls.push_back(list_call(ListOp::add));
  return calls;
}

// torch/optim/adam.py, _multi_tensor_adam; the numbers of steps are the host's.
std::vector<ListCall> adam_calls(const UpdateRecipe& recipe) {
  std::vector<ListCall> calls;
  const ListOp decays = recipe.rule == UpdateRule::adamw ? ListOp::multiply : ListOp::sum;
  if (recipe.decay) calls.push_back(list_call(decays));
  for (const ListOp op : {ListOp::lerp, ListOp::multiply, ListOp::add_product}) {
    calls.push_back(list_call(op));
  }
  if (recipe.maxima) calls.push_back(list_call(ListOp::maximum));
  calls.push_back(list_call(ListOp::root));
  calls.push_back(list_call(ListOp::divide));
  calls.push_back(adding_number(false));
  calls.push_back(list_call(ListOp::add_quotient));
  return calls;
}

}  // namespace

std::string_view to_string(UpdateRule rule) { return name_of(rule_names, rule); }

std::string_view to_string(UpdateWay way) { return name_of(way_names, way); }

UpdateWay parse_update_way(std::string_view name) {
  return parse_named(way_names, name, "command line", "--update");
}

std::vector<UpdateRecipe> update_recipes() {
  std::vector<UpdateRecipe> out;
  for (const bool decay : both) {
    for (const bool maxima : both) {
      out.push_back({.rule = UpdateRule::adamw, .decay = decay, .maxima = maxima});
      // Without decay both are the same.
      if (decay) out.push_back({.rule = UpdateRule::adam, .decay = decay, .maxima = maxima});
    }
    out.push_back({.rule = UpdateRule::sgd, .decay = decay});
    out.push_back({.rule = UpdateRule::sgd, .decay = decay, .momentum = true});
    out.push_back({.rule = UpdateRule::sgd, .decay = decay, .momentum = true, .nesterov = true});
  }
  std::stable_sort(out.begin(), out.end(), [](const UpdateRecipe& a, const UpdateRecipe& b) {
    return foreach_calls(a).size() > foreach_calls(b).size();
  });
  return out;
}

std::vector<ListCall> foreach_calls(const UpdateRecipe& recipe) {
  return recipe.rule == UpdateRule::sgd ? sgd_calls(recipe) : adam_calls(recipe);
}

ListOp fused_op(const UpdateRecipe& recipe) {
  switch (recipe.rule) {
    case UpdateRule::sgd: return ListOp::fused_sgd;
    case UpdateRule::adam: return ListOp::fused_adam;
    case UpdateRule::adamw: break;
  }
  return ListOp::fused_adamw;
}

int lists_of(const UpdateRecipe& recipe) {
  if (recipe.rule == UpdateRule::sgd) return recipe.momentum ? 3 : 2;
  return recipe.maxima ? 5 : 4;
}

std::vector<ListCall> fused_calls(const UpdateRecipe& recipe, bool checked, bool scaled) {
  const int lists = lists_of(recipe);
  // All are read, and all but the gradients written; those too, where they are scaled.
  const ListCall update{fused_op(recipe), lists, 2 * lists - 1 + (scaled ? 1 : 0), false, false};
  if (recipe.rule == UpdateRule::sgd) return {update};
  std::vector<ListCall> calls = {adding_number(true), update};
  // A step that was skipped does not count.
  if (checked) calls.push_back({ListOp::subtract, 2, 3, false, true});
  return calls;
}

}  // namespace tandem
