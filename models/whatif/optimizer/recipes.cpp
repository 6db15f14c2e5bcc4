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
  return {op, row.lists, row.accesses, row.numbers, false, false};
}

ListCall on_counters(ListOp op) {
  ListCall call = list_call(op);
  call.counters = true;
  return call;
}

/// Adds a number to each tensor.
ListCall adding_number(bool counters) { return {ListOp::add, 1, 2, false, counters, false}; }

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

/// By a number on the GPU for each tensor, for which there is no kernel on lists.
ListCall dividing_each() {
  ListCall call = list_call(ListOp::divide);
  call.each = true;
  return call;
}

// torch/optim/adam.py, _multi_tensor_adam. Unless it is capturable the numbers of steps are the
// host's, and their corrections numbers beside each tensor.
std::vector<ListCall> adam_calls(const UpdateRecipe& recipe) {
  std::vector<ListCall> calls;
  if (recipe.capturable) calls.push_back(adding_number(true));
  const ListOp decays = recipe.rule == UpdateRule::adamw ? ListOp::multiply : ListOp::sum;
  if (recipe.decay) calls.push_back(list_call(decays));
  for (const ListOp op : {ListOp::lerp, ListOp::multiply, ListOp::add_product}) {
    calls.push_back(list_call(op));
  }
  if (recipe.maxima) calls.push_back(list_call(ListOp::maximum));
  if (recipe.capturable) {
    for (const ListOp op :
         {ListOp::power, ListOp::power, ListOp::subtract, ListOp::subtract, ListOp::negate,
          ListOp::divide, ListOp::reciprocal, ListOp::root_in_place}) {
      calls.push_back(on_counters(op));
    }
  }
  calls.push_back(list_call(ListOp::root));
  calls.push_back(recipe.capturable ? dividing_each() : list_call(ListOp::divide));
  calls.push_back(adding_number(false));
  if (recipe.capturable) calls.push_back(dividing_each());
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
      for (const bool capturable : both) {
        const UpdateRecipe adamw{
            .rule = UpdateRule::adamw, .decay = decay, .maxima = maxima, .capturable = capturable};
        out.push_back(adamw);
        if (!decay) continue;  // both are the same
        out.push_back(adamw);
        out.back().rule = UpdateRule::adam;
      }
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
  const int accesses = 2 * lists - 1 + (scaled ? 1 : 0);
  const ListCall update{fused_op(recipe), lists, accesses, false, false, false};
  if (recipe.rule == UpdateRule::sgd) return {update};
  std::vector<ListCall> calls = {adding_number(true), update};
  // A step that was skipped does not count.
  if (checked) calls.push_back(on_counters(ListOp::subtract));
  return calls;
}

}  // namespace tandem
