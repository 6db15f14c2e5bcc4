#include "models/whatif/optimizer/update.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "models/step/op_rows.h"
#include "models/whatif/edit/gradients.h"
#include "sim/core/bounds/limits.h"
#include "sim/core/error.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

constexpr std::string_view asked_by = "--update";
constexpr std::string_view expected_update =
    "an eager update by SGD, Adam or AdamW of torch.optim with foreach=True (its default on GPUs) "
    "or fused=True";

/// List operations of the optimizer in the order of time; those inside its annotations, where a
/// trace has them: programs use such operations for other things, too.
std::vector<std::uint32_t> list_op_rows(const Trace& trace) {
  const std::vector<bool> in_optimizer = ops_of_optimizer(trace);
  const bool annotated =
      std::find(in_optimizer.begin(), in_optimizer.end(), true) != in_optimizer.end();
  std::vector<std::uint32_t> rows;
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (annotated && !in_optimizer[op]) continue;
    if (find_list_op(text_of(trace, trace.ops.name[op])) != nullptr) rows.push_back(op);
  }
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace.ops.begin[a] < trace.ops.begin[b];
  });
  return rows;
}

std::vector<TracedCall> traced_calls(const Step& step, const OpNesting& nesting) {
  std::vector<TracedCall> calls;
  std::vector<std::uint32_t> call_of_op(step.trace.ops.size(), no_row);
  for (const std::uint32_t op : list_op_rows(step.trace)) {
    call_of_op[op] = static_cast<std::uint32_t>(calls.size());
    calls.push_back({op, {}, find_list_op(text_of(step.trace, step.trace.ops.name[op]))->op});
  }
  for (std::uint32_t w = 0; w < step.plan.works.size(); ++w) {
    const DeviceWork& work = step.plan.works[w];
    std::uint32_t op = nesting.of_activity[work.source];
    // What another what-if put before a list operation lies within it by time alone.
    const bool added = op != no_row && is_added(step.trace.ops.external_id[op]);
    while (op != no_row && call_of_op[op] == no_row) op = added ? no_row : nesting.parent[op];
    if (op != no_row && work.item != no_index) calls[call_of_op[op]].works.push_back(w);
  }
  return calls;
}

/// Whether the calls from `at` on, those without kernels left out, are `wanted`.
bool matches(const std::vector<TracedCall>& calls, std::size_t at,
             const std::vector<ListCall>& wanted) {
  if (calls.size() - at < wanted.size()) return false;
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    if (calls[at + k].list_op != wanted[k].op) return false;
  }
  return true;
}

/// The argument of a fused update, as a truth value; `otherwise` where none was recorded.
bool is_set(const Trace& trace, std::uint32_t op, std::size_t argument, bool otherwise) {
  const Argument& value = operands_of(trace, op).argument(argument);
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* number = std::get_if<double>(&value)) return *number != 0;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return *whole != 0;
  return otherwise;
}

/// Arguments stand as in native_functions.yaml; without them the usual options.
UpdateRecipe fused_recipe(const Trace& trace, const TracedCall& call) {
  UpdateRecipe recipe;
  if (call.list_op != ListOp::fused_sgd) {
    recipe.rule = call.list_op == ListOp::fused_adam ? UpdateRule::adam : UpdateRule::adamw;
    recipe.decay = is_set(trace, call.op, 9, recipe.rule == UpdateRule::adamw);
    recipe.maxima = is_set(trace, call.op, 11, false);
    return recipe;
  }
  recipe.momentum = is_set(trace, call.op, 4, true);
  recipe.decay = is_set(trace, call.op, 3, false);
  recipe.nesterov = is_set(trace, call.op, 7, false);
  return recipe;
}

/// The update that begins with call `at`; none: its first call is of no known recipe.
Update update_at(const Step& step, const std::vector<TracedCall>& calls, std::size_t at) {
  Update out;
  const auto take = [&](std::size_t count) {
    out.calls.assign(calls.begin() + std::ptrdiff_t(at),
                     calls.begin() + std::ptrdiff_t(at + count));
  };
  for (std::size_t k = at; k < calls.size() && k <= at + 1; ++k) {
    if (!is_fused_update(calls[k].list_op)) continue;
    if (k > at && calls[at].list_op != ListOp::add) break;  // of the numbers of steps
    const bool checked = k + 1 < calls.size() && calls[k + 1].list_op == ListOp::subtract;
    out.way = UpdateWay::fused;
    out.recipe = fused_recipe(step.trace, calls[k]);
    take(k + 1 - at + (checked ? 1 : 0));
    return out;
  }
  for (const UpdateRecipe& recipe : update_recipes()) {
    const std::vector<ListCall> wanted = foreach_calls(recipe);
    if (!matches(calls, at, wanted)) continue;
    out.recipe = recipe;
    take(wanted.size());
    return out;
  }
  return out;
}

std::int64_t elements_of(std::span<const std::int64_t> dims) {
  std::int64_t elements = 1;
  for (const std::int64_t dim : dims) elements = limits::product(elements, dim);
  return elements;
}

/// Of the tensors of a list that the operation was given, or allocates for its results.
std::vector<std::int64_t> stated_sizes(const Trace& trace, const OpNesting& nesting, OpRows& rows,
                                       const TracedCall& call) {
  std::vector<std::int64_t> sizes;
  const OpTensors& tensors = operands_of(trace, call.op).tensors;
  for (std::size_t i = 0; i < tensors.shapes.size(); ++i) {
    if (tensors.arguments[i] == 0) sizes.push_back(tensors.shapes[i].elements());
  }
  if (sizes.size() > 1 || !makes_list(call.list_op)) return sizes;
  sizes.clear();
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (nesting.parent[op] != call.op || rows.of(op).kind != OpKind::view) continue;
    const Argument& shape = operands_of(trace, op).argument(0);
    if (!std::holds_alternative<std::vector<std::int64_t>>(shape)) continue;
    sizes.push_back(elements_of(integers_of(shape)));
  }
  return sizes;
}

/// Of the parameters that gradients reach, as the forward pass needs them first: the reverse of the
/// order in which their gradients are ready.
std::vector<std::int64_t> reached_sizes(const Step& step, const OpNesting& nesting) {
  if (step.links.steps.empty()) return {};
  std::vector<std::int64_t> sizes;
  for (const Gradient& gradient : last_gradients_of(step, nesting)) {
    sizes.push_back(elements_of(gradient.dims));
  }
  std::reverse(sizes.begin(), sizes.end());
  return sizes;
}

std::string name_of(const Trace& trace, std::uint32_t op) {
  return std::string(text_of(trace, trace.ops.name[op]));
}

/// What stands where list operations were expected.
std::string what_updates(const Trace& trace) {
  OpRows rows(trace);
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (rows.of(op).is(checks_gradients)) {
      return "a step whose update the gradient scaler skipped, or a graph holds";
    }
  }
  const std::vector<bool> in_optimizer = ops_of_optimizer(trace);
  const auto first = std::find(in_optimizer.begin(), in_optimizer.end(), true);
  if (first == in_optimizer.end()) return "a step without an operation of an optimizer";
  const auto op = static_cast<std::uint32_t>(first - in_optimizer.begin());
  return fmt::format("an update without lists of tensors: {} and {} more operations",
                     name_of(trace, op),
                     std::count(in_optimizer.begin(), in_optimizer.end(), true) - 1);
}

/// Errors: InputError for more elements than any GPU holds: a trace may say anything.
void check_sizes(const std::vector<std::int64_t>& sizes, std::string_view path) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::int64_t sum = 0;
  for (const std::int64_t size : sizes) {
    if (size >= 0 && size <= most - sum) {
      sum += size;
      continue;
    }
    throw InputError(std::string(path), std::string(asked_by),
                     fmt::format("a parameter of {} elements", size),
                     fmt::format("parameters of at most {} elements in all", most));
  }
}

void find_sizes(const Step& step, const OpNesting& nesting, std::string_view path,
                std::vector<Update>& updates) {
  OpRows rows(step.trace);
  for (Update& update : updates) {
    const std::vector<ListCall> calls = list_calls(update);
    for (std::size_t k = 0; k < calls.size() && update.sizes.empty(); ++k) {
      if (calls[k].counters) continue;
      update.sizes = stated_sizes(step.trace, nesting, rows, update.calls[k]);
    }
    update.order_known = !update.sizes.empty();
    if (update.order_known) continue;
    if (updates.size() == 1) update.sizes = reached_sizes(step, nesting);
    if (!update.sizes.empty()) continue;
    throw InputError(std::string(path), std::string(asked_by),
                     updates.size() > 1 ? "several updates whose parameters are not recorded"
                                        : "an update whose parameters are not recorded",
                     "gradients with their shapes (record_shapes=True)");
  }
}

}  // namespace

std::vector<ListCall> list_calls(const Update& update) {
  if (update.way == UpdateWay::foreach) return foreach_calls(update.recipe);
  const bool checked = update.calls.back().list_op == ListOp::subtract;
  std::vector<ListCall> calls = fused_calls(update.recipe, checked, false);
  // Numbers of steps that are counted elsewhere.
  if (calls.size() > update.calls.size()) calls.erase(calls.begin());
  return calls;
}

bool has_fused_update(const Trace& trace) {
  return std::any_of(trace.ops.name.begin(), trace.ops.name.end(), [&](StringId name) {
    const ListOpRow* row = find_list_op(text_of(trace, name));
    return row != nullptr && is_fused_update(row->op);
  });
}

std::vector<Update> find_updates(const Step& step, const OpNesting& nesting,
                                 std::string_view path) {
  std::vector<TracedCall> calls = traced_calls(step, nesting);
  std::vector<TracedCall> launching;
  for (const TracedCall& call : calls) {
    if (!call.works.empty()) launching.push_back(call);
  }
  const auto fail = [&](const std::string& found) {
    throw InputError(std::string(path), std::string(asked_by), found, std::string(expected_update));
  };
  if (launching.empty()) fail(what_updates(step.trace));
  std::vector<Update> updates;
  for (std::size_t at = 0; at < launching.size();) {
    Update update = update_at(step, launching, at);
    if (update.calls.empty()) {
      fail(fmt::format("an update that calls {}", name_of(step.trace, launching[at].op)));
    }
    at += update.calls.size();
    const std::uint32_t first = step.plan.works[update.first_work()].source;
    const DataType type = step.kernels.of(first).traits.data;
    if (type != DataType::unknown) update.type = type;
    updates.push_back(std::move(update));
  }
  // Operations on the host between two updates, which count steps, belong to the later one.
  auto call = calls.begin();
  for (Update& update : updates) {
    update.begin = step.trace.ops.begin[call->op];
    while (call->op != update.calls.back().op) ++call;
    ++call;
  }
  find_sizes(step, nesting, path, updates);
  for (const Update& update : updates) check_sizes(update.sizes, path);
  return updates;
}

}  // namespace tandem
