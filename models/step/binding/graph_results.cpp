#include "models/step/binding/graph_results.h"

#include <algorithm>

#include "models/step/binding/compiled_graphs.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

/// Whether it is an activation's gradient of two operands alike: the one from behind, whose place
/// the result takes, and what the activation kept, without which there is no such gradient.
bool overwrites_gradient(const FlowOp& op, const FusedName& name,
                         const GraphResults::Shapes& operands) {
  if (op.phase != FlowPhase::backward || operands.size() != 2 || name.reduces) return false;
  return name.activation_gradient && same_kind(operands[0], operands[1]);
}

}  // namespace

/// How many operands at the end nothing has made; the first one is read or overwritten.
std::size_t GraphResults::new_at_end(const FlowOp& op, const FusedName& name,
                                     const Shapes& operands) {
  const bool forward = op.phase != FlowPhase::backward;
  const TensorShape& last = operands.back();
  std::size_t count = 0;
  for (; count + 1 < operands.size(); ++count) {
    const TensorShape& shape = operands[operands.size() - 1 - count];
    // Without a list of what is given, parameters are told by another first dimension.
    const bool foreign =
        !tensors_.tells_given() && (shape.rank != last.rank || shape.dims[0] != last.dims[0]);
    if (tensors_.given(shape, op) || foreign) break;
    const GraphTensors::List& list = tensors_.made(shape);
    if (list.empty()) continue;
    if (!forward || !name.reduces) break;
    // Sums and norms keep several results for backward, as large as those of the layer before.
    bool has_like = false, awaited = false;
    for (const std::uint32_t t : list) {
      if (!same_recorded_dims(tensors_[t].shape, shape)) continue;
      has_like = true;
      awaited = awaited || (tensors_[t].by_library && tensors_.waits_to_be_read(t, op));
    }
    if (!has_like || (awaited && shape.type != DataType::boolean)) break;
  }
  return count;
}

/// The first operand that is a mask which the operation makes for the gradient, or their number:
/// the forward graph reads none of these, so that all behind it are results, too.
std::size_t GraphResults::first_mask(const FlowOp& op, const FusedName& name,
                                     const Shapes& operands) const {
  if (op.phase == FlowPhase::backward || !name.makes_mask) return operands.size();
  std::size_t i = 1;
  while (i < operands.size() &&
         (operands[i].type != DataType::boolean || tensors_.given(operands[i], op))) {
    ++i;
  }
  return std::min(i, operands.size());
}

/// Whether what stands among the operands of the kernel can be known to be results: graphs list
/// what they were given, and nothing was kept for it.
bool GraphResults::tells_results(const FlowOp& op) const {
  return tensors_.tells_given() && op.phase != FlowPhase::backward;
}

/// Whether the operand may stand behind a result: no parameter, and nothing that a library has made
/// for the kernel, unless operands `before` are that.
bool GraphResults::may_result(const FlowOp& op, const FusedName& name,
                              std::span<const TensorShape> before, const TensorShape& shape) {
  if (tensors_.listed(shape)) return name.updates_operand;
  const GraphTensors::List& list = tensors_.made(shape);
  const auto from_library = std::count_if(list.begin(), list.end(), [&](std::uint32_t t) {
    return tensors_[t].by_library && tensors_.waits_to_be_read(t, op);
  });
  return from_library <= std::count_if(before.begin(), before.end(),
                                       [&](const TensorShape& t) { return same_kind(t, shape); });
}

/// The first operand that nothing has made and no graph was given, or their number: it is a result,
/// and so is all behind it, unless operands follow that cannot be. Then it is one of those that
/// stand first, which the kernel computes in place; some of them nothing has made, either.
std::size_t GraphResults::first_unmade(const FlowOp& op, const FusedName& name,
                                       const Shapes& operands) {
  if (!tells_results(op)) return operands.size();
  std::size_t begin = 0, first = operands.size();
  while (begin < operands.size() && tensors_.unmade(operands[begin])) ++begin;
  for (std::size_t i = operands.size(); i-- > std::max<std::size_t>(begin, 1);) {
    if (tensors_.unmade(operands[i])) {
      if (is_floating(operands[i].type)) first = i;
    } else if (!may_result(op, name, std::span(operands).first(i), operands[i])) {
      break;
    }
  }
  return first;
}

/// Whether the last operand is read, too, and the result stands first.
bool GraphResults::ends_with_operand(const FlowOp& op, const Shapes& operands) {
  const TensorShape &first = operands.front(), &last = operands.back();
  if (operands.size() == 1) return true;
  if (tensors_.given(last, op) && first.elements() > last.elements()) return true;  // a bias
  if (tells_results(op) && tensors_.unmade(first) && tensors_.waiting(last, op) > 0) return true;
  const auto same = static_cast<std::size_t>(
      std::count_if(operands.begin(), operands.end() - 1,
                    [&](const TensorShape& t) { return same_kind(t, last); }));
  return first.elements() == last.elements() && !tensors_.made(first).empty() &&
         tensors_.waiting(last, op) > same;
}

ListedResults GraphResults::find(const FlowOp& op, const FusedName& name, const Shapes& operands,
                                 std::size_t first_unmade) {
  const std::size_t first_result = std::min(first_mask(op, name, operands), first_unmade);
  const std::size_t count =
      std::max(new_at_end(op, name, operands), operands.size() - first_result);
  if (count > 0) return {operands.size() - count, false, false};
  if (overwrites_gradient(op, name, operands)) return {operands.size(), false, true};
  if (!ends_with_operand(op, operands)) return {operands.size() - 1, false, false};
  const bool overwrites = tensors_.waiting(operands.front(), op) > 0;
  return {operands.size(), !overwrites, overwrites};
}

/// Of a kernel that has run before, the results that nothing could have made then, when less was
/// there that it might have read.
ListedResults GraphResults::of(const FlowOp& op, const FusedName& name, const Shapes& operands) {
  const std::size_t unmade = first_unmade(op, name, operands);
  const ListedResults now = find(op, name, operands, unmade);
  std::vector<KnownKernel>& kernels = kernels_[step_.trace.ops.name[op.op].index()];
  const auto known = std::find_if(kernels.begin(), kernels.end(), [&](const KnownKernel& kernel) {
    return kernel.phase == op.phase &&
           std::equal(operands.begin(), operands.end(), kernel.operands.begin(),
                      kernel.operands.end(), alike);
  });
  if (known != kernels.end()) {
    return known->results.first_new < now.first_new ? known->results : now;
  }
  if (unmade < operands.size()) kernels.push_back({operands, op.phase, now});
  return now;
}

}  // namespace tandem
