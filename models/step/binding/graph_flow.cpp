#include "models/step/binding/graph_flow.h"

#include <algorithm>

#include "models/kernel/classify/classify.h"
#include "models/kernel/kinds.h"
#include "models/ops/op_outputs.h"
#include "models/step/binding/compiled_graphs.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

bool permuted(const TensorShape& a, const TensorShape& b) {
  return a.rank > 0 && a.rank == b.rank &&
         std::is_permutation(a.dims.begin(), a.dims.begin() + a.rank, b.dims.begin());
}

/// Libraries see signals over time as images of one row: such a view moves nothing.
TensorShape without_ones(const TensorShape& shape) {
  TensorShape out;
  out.type = shape.type;
  for (std::size_t d = 0; d < shape.rank; ++d) {
    if (shape.dims[d] != 1) out.dims[out.rank++] = shape.dims[d];
  }
  return out;
}

bool same_kind(const TensorShape& a, const TensorShape& b) {
  return a.type == b.type && a.elements() == b.elements();
}

/// Of lists by how well their tensors fit: the best that is not empty.
const std::vector<std::uint32_t>& best(const std::array<std::vector<std::uint32_t>, 3>& lists) {
  return !lists[0].empty() ? lists[0] : !lists[1].empty() ? lists[1] : lists[2];
}

/// Of one type and the same dimensions.
bool alike(const TensorShape& a, const TensorShape& b) {
  return a.type == b.type && same_recorded_dims(a, b);
}

/// Whether the kernel is called by operations that add up, beside some that only move numbers.
bool only_sums(std::string_view name) {
  constexpr std::string_view fused = "_fused_", sum = "sum";
  constexpr std::string_view words[] = {sum,       "view",    "unsafe", "clone", "transpose",
                                        "permute", "reshape", "t",      "to",    "copy"};
  const std::size_t begin = name.find(fused);
  if (begin == name.npos) return false;
  std::string_view rest = name.substr(begin + fused.size());
  rest = rest.substr(0, rest.rfind('_'));  // its number
  bool sums = false;
  while (!rest.empty()) {
    const std::string_view word = rest.substr(0, rest.find('_'));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.empty()) continue;
    if (std::find(std::begin(words), std::end(words), word) == std::end(words)) return false;
    sums |= word == sum;
  }
  return sums;
}

constexpr std::string_view norm_gradients[] = {"norm_backward"};

/// Kernels read less; more operands are no kernel's.
constexpr std::size_t most_operands = 64;

}  // namespace

GraphFlow::GraphFlow(const Step& step, Dataflow& flow) : step_(step), flow_(flow), layers_(step) {
  for (const bool backward : {false, true}) {
    for (const std::uint32_t call : graph_calls(step, flow, backward)) {
      const std::vector<TensorShape>& shapes = operands_of(step.trace, call).tensors.shapes;
      auto& list = backward ? tangents_ : given_;
      list.insert(list.end(), shapes.begin(), shapes.end());
    }
  }
}

GraphFlow::Tensors& GraphFlow::made(const TensorShape& shape) {
  return made_[{shape.elements(), shape.type}];
}

/// Operations outside of graphs make tensors, too.
void GraphFlow::see_new_tensors() {
  for (auto t = static_cast<std::uint32_t>(known_.size()); t < flow_.tensors.size(); ++t) {
    const FlowTensor& tensor = flow_.tensors[t];
    Known known;
    if (tensor.producer != no_row) {
      const FlowOp& maker = flow_.ops[tensor.producer];
      known.backward = maker.phase == FlowPhase::backward;
      known.by_library = maker.kind != OpKind::generated;
      made_[{tensor.elements, tensor.type}].push_back(t);
    }
    known_.push_back(known);
  }
}

std::array<GraphFlow::Tensors, 3> GraphFlow::by_fit(const Tensors& list,
                                                    const TensorShape& shape) const {
  std::array<Tensors, 3> out;
  const TensorShape wanted = without_ones(shape);
  for (const std::uint32_t t : list) {
    const TensorShape made = without_ones(known_[t].shape);
    if (same_recorded_dims(made, wanted)) out[0].push_back(t);
    if (permuted(made, wanted)) out[1].push_back(t);
    out[2].push_back(t);
  }
  return out;
}

/// Those that wait to be read, whatever their dimensions; else those that fit best.
GraphFlow::Tensors GraphFlow::fitting(const TensorShape& shape, const FlowOp& op) {
  Tensors free;
  for (const std::uint32_t t : made(shape)) {
    const bool taken = std::any_of(flow_.inputs.begin() + op.first_input, flow_.inputs.end(),
                                   [t](const FlowUse& use) { return use.tensor == t; });
    if (!taken && !known_[t].overwritten) free.push_back(t);
  }
  const auto lists = by_fit(free, shape);
  for (Tensors list : lists) {
    std::erase_if(list, [&](std::uint32_t t) {
      return !waits_to_be_read(t, op) || waits_for_another(t, shape, op);
    });
    if (!list.empty()) return list;
  }
  return best(lists);
}

/// Whether a gradient has the dimensions of another operand of the kernel, and not these.
bool GraphFlow::waits_for_another(std::uint32_t tensor, const TensorShape& shape,
                                  const FlowOp& op) const {
  if (op.kind != OpKind::generated || op.phase != FlowPhase::backward) return false;
  const TensorShape& made = known_[tensor].shape;
  if (same_recorded_dims(made, shape)) return false;
  const auto& operands = operands_of(step_.trace, op.op).tensors.shapes;
  if (operands.size() > most_operands) return false;
  return std::any_of(operands.begin(), operands.end(),
                     [&](const TensorShape& other) { return alike(other, made); });
}

bool GraphFlow::waits_to_be_read(std::uint32_t tensor, const FlowOp& op) const {
  const Known& known = known_[tensor];
  return !known.read && !known.overwritten && known.backward == (op.phase == FlowPhase::backward);
}

std::size_t GraphFlow::waiting(const TensorShape& shape, const FlowOp& op) {
  const Tensors& list = made(shape);
  return static_cast<std::size_t>(std::count_if(
      list.begin(), list.end(), [&](std::uint32_t t) { return waits_to_be_read(t, op); }));
}

bool GraphFlow::given(const TensorShape& shape, const FlowOp& op) const {
  return op.phase != FlowPhase::backward && listed(shape);
}

bool GraphFlow::reduces(const FlowOp& op) const {
  const std::string_view name = text_of(step_.trace, step_.trace.ops.name[op.op]);
  return classify(name).traits.kind != Kind::triton_pointwise;
}

/// The compiler calls a kernel by the operations that it fused.
bool GraphFlow::fuses_any(const FlowOp& op, std::span<const std::string_view> operations) const {
  const std::string_view name = text_of(step_.trace, step_.trace.ops.name[op.op]);
  return std::any_of(operations.begin(), operations.end(), [&](std::string_view operation) {
    return name.find(operation) != std::string_view::npos;
  });
}

/// How many operands at the end nothing has made; the first one is read or overwritten.
std::size_t GraphFlow::new_at_end(const FlowOp& op, const std::vector<TensorShape>& operands) {
  const bool forward = op.phase != FlowPhase::backward;
  const TensorShape& last = operands.back();
  std::size_t count = 0;
  for (; count + 1 < operands.size(); ++count) {
    const TensorShape& shape = operands[operands.size() - 1 - count];
    // Without a list of what is given, parameters are told by another first dimension.
    const bool foreign =
        given_.empty() && (shape.rank != last.rank || shape.dims[0] != last.dims[0]);
    if (given(shape, op) || foreign) break;
    const Tensors& list = made(shape);
    if (list.empty()) continue;
    if (!forward || !reduces(op)) break;
    // Sums and norms keep several results for backward, as large as those of the layer before.
    bool alike = false, awaited = false;
    for (const std::uint32_t t : list) {
      if (!same_recorded_dims(known_[t].shape, shape)) continue;
      alike = true;
      awaited = awaited || (known_[t].by_library && waits_to_be_read(t, op));
    }
    if (!alike || (awaited && shape.type != DataType::boolean)) break;
  }
  return count;
}

/// The first operand that is a mask which the operation makes for the gradient, or their number:
/// the forward graph reads none of these, so that all behind it are results, too.
std::size_t GraphFlow::first_mask(const FlowOp& op,
                                  const std::vector<TensorShape>& operands) const {
  constexpr std::string_view makers[] = {"native_dropout", "threshold_backward"};
  if (op.phase == FlowPhase::backward || !fuses_any(op, makers)) return operands.size();
  std::size_t i = 1;
  while (i < operands.size() && (operands[i].type != DataType::boolean || given(operands[i], op))) {
    ++i;
  }
  return std::min(i, operands.size());
}

/// Whether what stands among the operands of the kernel can be known to be results: graphs list
/// what they were given, and nothing was kept for it.
bool GraphFlow::tells_results(const FlowOp& op) const {
  return !given_.empty() && op.phase != FlowPhase::backward;
}

/// Whether graphs list something of its dimensions and type.
bool GraphFlow::listed(const TensorShape& shape) const {
  return std::any_of(given_.begin(), given_.end(),
                     [&](const TensorShape& g) { return alike(g, shape); });
}

/// Whether the kernel writes into what its graph was given, as norms do with running statistics.
bool GraphFlow::updates_given(const FlowOp& op) const {
  constexpr std::string_view update = "copy__", conversion = "_to_";
  const std::string_view name = text_of(step_.trace, step_.trace.ops.name[op.op]);
  for (std::size_t at = name.find(update); at != name.npos; at = name.find(update, at + 1)) {
    if (!name.substr(0, at).ends_with(conversion)) return true;
  }
  return false;
}

/// Whether no graph was given it, and no operation has made something of its size and type and of
/// its dimensions: generated code reads what was made as it was made.
bool GraphFlow::unmade(const TensorShape& shape) {
  const Tensors& list = made(shape);
  return !listed(shape) && std::none_of(list.begin(), list.end(), [&](std::uint32_t t) {
    return known_[t].shape.rank == 0 || same_recorded_dims(known_[t].shape, shape);
  });
}

/// Whether the operand may stand behind a result: no parameter, and nothing that a library has made
/// for the kernel, unless operands `before` are that.
bool GraphFlow::may_result(const FlowOp& op, std::span<const TensorShape> before,
                           const TensorShape& shape) {
  if (listed(shape)) return updates_given(op);
  const Tensors& list = made(shape);
  const auto waiting = std::count_if(list.begin(), list.end(), [&](std::uint32_t t) {
    return known_[t].by_library && waits_to_be_read(t, op);
  });
  return waiting <= std::count_if(before.begin(), before.end(),
                                  [&](const TensorShape& t) { return same_kind(t, shape); });
}

/// The first operand that nothing has made and no graph was given, or their number: it is a result,
/// and so is all behind it, unless operands follow that cannot be. Then it is one of those that
/// stand first, which the kernel computes in place; some of them nothing has made, either.
std::size_t GraphFlow::first_unmade(const FlowOp& op, const std::vector<TensorShape>& operands) {
  if (!tells_results(op)) return operands.size();
  std::size_t begin = 0, first = operands.size();
  while (begin < operands.size() && unmade(operands[begin])) ++begin;
  for (std::size_t i = operands.size(); i-- > std::max<std::size_t>(begin, 1);) {
    if (unmade(operands[i])) {
      if (is_floating(operands[i].type)) first = i;
    } else if (!may_result(op, std::span(operands).first(i), operands[i])) {
      break;
    }
  }
  return first;
}

/// Whether it is an activation's gradient of two operands alike: the one from behind, whose place
/// the result takes, and what the activation kept, without which there is no such gradient.
bool GraphFlow::overwrites_gradient(const FlowOp& op,
                                    const std::vector<TensorShape>& operands) const {
  constexpr std::string_view activations[] = {
      "gelu_backward",      "silu_backward",       "sigmoid_backward", "tanh_backward",
      "hardswish_backward", "leaky_relu_backward", "elu_backward",     "softplus_backward"};
  if (op.phase != FlowPhase::backward || operands.size() != 2 || reduces(op)) return false;
  return same_kind(operands[0], operands[1]) && fuses_any(op, activations);
}

/// Whether the last operand is read, too, and the result stands first.
bool GraphFlow::ends_with_operand(const FlowOp& op, const std::vector<TensorShape>& operands) {
  const TensorShape &first = operands.front(), &last = operands.back();
  if (operands.size() == 1) return true;
  if (given(last, op) && first.elements() > last.elements()) return true;  // a bias
  if (tells_results(op) && unmade(first) && waiting(last, op) > 0) return true;
  const auto same = static_cast<std::size_t>(
      std::count_if(operands.begin(), operands.end() - 1,
                    [&](const TensorShape& t) { return same_kind(t, last); }));
  return first.elements() == last.elements() && !made(first).empty() && waiting(last, op) > same;
}

/// Of a kernel that has run before, the results that nothing could have made then, when less was
/// there that it might have read.
GraphFlow::Results GraphFlow::results_of(const FlowOp& op,
                                         const std::vector<TensorShape>& operands) {
  const Results now = find_results(op, operands);
  std::vector<KnownKernel>& kernels = kernels_[step_.trace.ops.name[op.op].index()];
  const auto known = std::find_if(kernels.begin(), kernels.end(), [&](const KnownKernel& kernel) {
    return kernel.phase == op.phase &&
           std::equal(operands.begin(), operands.end(), kernel.operands.begin(),
                      kernel.operands.end(), alike);
  });
  if (known != kernels.end()) {
    return known->results.first_new < now.first_new ? known->results : now;
  }
  if (first_unmade(op, operands) < operands.size()) kernels.push_back({operands, op.phase, now});
  return now;
}

GraphFlow::Results GraphFlow::find_results(const FlowOp& op,
                                           const std::vector<TensorShape>& operands) {
  const std::size_t first_result = std::min(first_mask(op, operands), first_unmade(op, operands));
  const std::size_t count = std::max(new_at_end(op, operands), operands.size() - first_result);
  if (count > 0) return {operands.size() - count, false, false};
  if (overwrites_gradient(op, operands)) return {operands.size(), false, true};
  if (!ends_with_operand(op, operands)) return {operands.size() - 1, false, false};
  const bool overwrites = waiting(operands.front(), op) > 0;
  return {operands.size(), !overwrites, overwrites};
}

void GraphFlow::use(std::uint32_t tensor, std::uint8_t argument) {
  ++flow_.tensors[tensor].consumers;
  flow_.inputs.push_back({tensor, argument, 0});
}

std::uint32_t GraphFlow::from_outside(const TensorShape& shape) {
  flow_.tensors.push_back({shape.elements(), shape.type, no_row, 0});
  see_new_tensors();
  return static_cast<std::uint32_t>(flow_.tensors.size()) - 1;
}

/// In another order of its elements or in 16 bits: what was made in its dimensions is the copy of
/// another one.
bool GraphFlow::copies_parameter(const FlowOp& op, const std::vector<TensorShape>& operands) {
  if (operands.size() != 2 || !same_recorded_dims(operands[0], operands[1])) return false;
  if (op.phase == FlowPhase::backward) return false;
  // For autocast: nothing of its dimensions was made, only of its size.
  const bool converted = operands[0].type == DataType::fp32 && is_half(operands[1].type) &&
                         by_fit(made(operands[0]), operands[0])[0].empty();
  if (!converted && operands[0].type != operands[1].type) return false;
  return given_.empty() ? waiting(operands[0], op) == 0 : given(operands[0], op);
}

/// What a backward graph is given is a gradient, not the result of the forward graph, of which
/// there is one of that size.
bool GraphFlow::is_tangent(const TensorShape& shape, const Tensors& list) const {
  const auto forward =
      std::count_if(list.begin(), list.end(), [&](std::uint32_t t) { return !known_[t].backward; });
  return forward == 1 && static_cast<std::size_t>(forward) < list.size() &&
         std::any_of(tangents_.begin(), tangents_.end(),
                     [&](const TensorShape& t) { return same_kind(t, shape); });
}

/// One that several operations read, as what skips of one sum do, is still none that forward kept.
bool GraphFlow::is_gradient(const FlowOp& op, const TensorShape& shape, std::uint8_t argument) {
  if (op.phase != FlowPhase::backward) return false;
  const Tensors& list = made(shape);
  if (is_tangent(shape, list)) return true;
  const OpArguments& arguments = op.row->arguments;
  return arguments.has(ArgumentName::grad) && arguments.at(ArgumentName::grad) == argument &&
         std::any_of(list.begin(), list.end(), [&](std::uint32_t t) { return known_[t].backward; });
}

/// What the forward graph computed in FP32 from a 16-bit tensor of its size is not kept where that
/// one is: the backward kernel that reads the latter makes it again.
bool GraphFlow::computed_again(const FlowOp& op, const TensorShape& shape,
                               const Tensors& list) const {
  const auto half = [&](const TensorShape& t) {
    return is_half(t.type) && same_recorded_dims(t, shape);
  };
  if (op.kind != OpKind::generated || shape.type != DataType::fp32) return false;
  const auto& operands = operands_of(step_.trace, op.op).tensors.shapes;
  if (operands.size() > most_operands) return false;
  if (std::none_of(operands.begin(), operands.end(), half)) return false;
  return std::all_of(list.begin(), list.end(), [&](std::uint32_t t) {
    const std::uint32_t maker = flow_.tensors[t].producer;
    if (known_[t].backward) return true;
    if (maker == no_row || flow_.ops[maker].kind != OpKind::generated) return false;
    const auto& from = operands_of(step_.trace, flow_.ops[maker].op).tensors.shapes;
    return from.size() <= most_operands && std::any_of(from.begin(), from.end(), half);
  });
}

void GraphFlow::read(std::uint32_t row, const TensorShape& shape, std::uint8_t argument,
                     bool gradient) {
  const FlowOp& op = flow_.ops[row];
  const bool backward = op.phase == FlowPhase::backward;
  Tensors list = fitting(shape, op);
  const auto forward = [&](std::uint32_t t) { return !known_[t].backward; };
  if (gradient || is_gradient(op, shape, argument)) {
    std::erase_if(list, forward);
    if (list.empty()) list = made(shape);
    std::erase_if(list, forward);
  }
  const bool waits = !list.empty() && waits_to_be_read(list.back(), op);
  const bool kept = backward && !waits && std::any_of(list.begin(), list.end(), forward);
  if (kept && computed_again(op, shape, list)) {
    make(flow_.ops[row], row, shape);
    return;
  }
  if (kept) {
    kept_.emplace_back(static_cast<std::uint32_t>(flow_.inputs.size()), shape);
    flow_.inputs.push_back({no_row, argument, 0});
    return;
  }
  if (list.empty()) return use(from_outside(shape), argument);
  if (known_[list.back()].backward == backward) known_[list.back()].read = true;
  use(list.back(), argument);
}

void GraphFlow::make(FlowOp& op, std::uint32_t row, const TensorShape& shape) {
  flow_.outputs.push_back(static_cast<std::uint32_t>(flow_.tensors.size()));
  flow_.tensors.push_back({shape.elements(), shape.type, row, 0});
  see_new_tensors();
  known_.back().shape = shape;
  ++op.output_count;
}

/// Sums of parts, which may stand between, read one operand of full size.
void GraphFlow::see_reader(const FlowOp& op, std::uint32_t row,
                           const std::vector<TensorShape>& operands,
                           std::vector<std::uint32_t> inputs) {
  if (op.phase != FlowPhase::backward || op.input_count < 2) return;
  const std::int64_t full = operands[0].elements();
  const bool sums = operands.back().elements() < full;
  if (sums && operands[1].elements() >= full && reduces(op)) {
    reduction_ = {operands, std::move(inputs), row};
  } else if (!sums && fuses_any(op, norm_gradients)) {
    norm_ = {operands, std::move(inputs), row};
  }
}

/// Per operand: which input of `before` has its dimensions and type, or no_row.
std::vector<std::uint32_t> GraphFlow::like_inputs(const Reader& before,
                                                  const std::vector<TensorShape>& operands) {
  std::vector<std::uint32_t> like(operands.size(), no_row);
  for (std::size_t k = 0; k < before.operands.size(); ++k) {
    if (before.inputs[k] == no_row) continue;
    for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
      if (like[i] != no_row || !same_kind(operands[i], before.operands[k]) ||
          !same_recorded_dims(operands[i], before.operands[k])) {
        continue;
      }
      like[i] = before.inputs[k];
      break;
    }
  }
  return like;
}

/// Per operand of `op`, a kernel of row `row`: which input of another kernel before it that is, or
/// no_row. Behind a reduction, one that reads all that the reduction read in full size; sums for
/// the parameters of a norm behind the kernel that computes the gradient of its rows, if that read
/// all that they read in full size. Two at least: one alone may be another tensor.
std::vector<std::uint32_t> GraphFlow::read_again(const FlowOp& op, std::uint32_t row,
                                                 const std::vector<TensorShape>& operands) const {
  constexpr std::uint32_t between = 4;  // sums of parts, and what becomes of parameters
  if (op.phase != FlowPhase::backward) return {};
  const bool reduction = reduces(op);
  const bool sums = reduction && fuses_any(op, norm_gradients) &&
                    operands.back().elements() < operands[0].elements();
  if (!sums && reduction) return {};
  const Reader& before = sums ? norm_ : reduction_;
  if (before.op == no_row || row - before.op > between) return {};
  if (operands.size() > most_operands || before.operands.size() > most_operands) return {};
  const std::vector<std::uint32_t> like = like_inputs(before, operands);
  const std::vector<TensorShape>& all = sums ? operands : before.operands;
  std::ptrdiff_t wanted = 0, found = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const bool read = sums || before.inputs[k] != no_row;
    wanted += read && all[k].elements() >= all[0].elements();
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    found += like[i] != no_row && operands[i].elements() >= all[0].elements();
  }
  if (wanted < 2 || found < wanted) return {};
  return like;
}

void GraphFlow::bind_generated(FlowOp& op, std::uint32_t row, const OpTensors& operands) {
  const std::vector<TensorShape>& shapes = operands.shapes;
  if (shapes.empty()) return;
  Results results = results_of(op, shapes);
  const std::vector<std::uint32_t> again = read_again(op, row, shapes);
  if (!again.empty()) {
    const auto last = std::find_if(again.rbegin(), again.rend(),
                                   [](std::uint32_t input) { return input != no_row; });
    const auto read = static_cast<std::size_t>(again.rend() - last);
    results.first_new = std::max(results.first_new, read);
    results.overwrites_first |= results.first_is_new && again.front() != no_row;
    results.first_is_new &= again.front() == no_row;
  }
  // The gradient of a bias: one operand and its sums.
  const bool gradients = op.phase == FlowPhase::backward && shapes.size() == 2 &&
                         only_sums(text_of(step_.trace, step_.trace.ops.name[op.op]));
  std::vector<std::uint32_t> inputs(shapes.size(), no_row);
  for (std::size_t i = results.first_is_new ? 1 : 0; i < results.first_new; ++i) {
    const auto next = static_cast<std::uint32_t>(flow_.inputs.size());
    if (!again.empty() && again[i] != no_row) {
      again_.emplace_back(next, again[i]);
      flow_.inputs.push_back({no_row, operands.arguments[i], 0});
    } else if (copies_parameter(op, shapes)) {
      use(from_outside(shapes[i]), operands.arguments[i]);
    } else {
      read(row, shapes[i], operands.arguments[i], gradients);
    }
    if (flow_.inputs.size() > next) inputs[i] = next;
  }
  op.input_count = static_cast<std::uint32_t>(flow_.inputs.size()) - op.first_input;
  op.overwrites = results.overwrites_first && op.input_count > 0;
  if (op.overwrites) {
    const std::uint32_t first = flow_.inputs[op.first_input].tensor;
    op.overwrites = first != no_row;
    if (op.overwrites) known_[first].overwritten = true;
  }
  see_reader(op, row, shapes, std::move(inputs));
  if (results.first_is_new || results.overwrites_first) make(op, row, shapes.front());
  for (std::size_t i = results.first_new; i < shapes.size(); ++i) make(op, row, shapes[i]);
}

/// Which operands of a gradient its layer has read; the other one of a product is a gradient. In
/// the order of the operands, no_row of what the layer has not read.
std::vector<std::uint32_t> GraphFlow::read_by_layer(const FlowOp& op, const OpTensors& operands) {
  const OpArguments& arguments = op.row->arguments;
  std::vector<std::uint32_t> out(operands.shapes.size(), no_row);
  if (op.phase != FlowPhase::backward) return out;
  const bool product = arguments.has(ArgumentName::right);
  for (std::size_t i = out.size(); i-- > 0;) {
    const std::uint8_t argument = operands.arguments[i];
    const bool result = product && argument > arguments.at(ArgumentName::right);
    if (result || argument == arguments.at(ArgumentName::grad)) continue;
    if (copied_.count({op.op, argument}) > 0) continue;
    out[i] = layers_.take(*op.row, operands, operands.shapes[i]);
    if (product && out[i] != no_row) break;
  }
  return out;
}

/// The latest tensor that went backward of which one of these dimensions and type is a part; no_row
/// without any.
std::uint32_t GraphFlow::whole_gradient(const TensorShape& part) const {
  for (auto t = static_cast<std::uint32_t>(known_.size()); t-- > 0;) {
    const TensorShape& whole = known_[t].shape;
    if (!known_[t].backward || whole.rank != part.rank || whole.type != part.type) continue;
    int longer = 0, other = 0;
    for (std::size_t d = 0; d < part.rank; ++d) {
      longer += whole.dims[d] > part.dims[d], other += whole.dims[d] < part.dims[d];
    }
    if (longer == 1 && other == 0) return t;
  }
  return no_row;
}

/// What the generated operation that made `tensor` took it from, if it is a part of that; else the
/// tensor.
std::uint32_t GraphFlow::whole_of(std::uint32_t tensor) const {
  const std::uint32_t maker = tensor == no_row ? no_row : flow_.tensors[tensor].producer;
  if (maker == no_row || flow_.ops[maker].kind != OpKind::generated) return tensor;
  const auto inputs = flow_.inputs_of(flow_.ops[maker]);
  if (inputs.size() != 1 || inputs[0].tensor == no_row) return tensor;
  const FlowTensor &from = flow_.tensors[inputs[0].tensor], &part = flow_.tensors[tensor];
  return from.type == part.type && from.elements > part.elements ? inputs[0].tensor : tensor;
}

/// The gradient of a convolution copies an operand that does not lie in one piece: a part of a
/// larger tensor. The forward pass has copied its part, too, but what is kept is the whole.
bool GraphFlow::copies_part(const FlowOp& op, const TensorShape& shape, std::uint8_t argument) {
  if (op.kind != OpKind::cast || op.phase != FlowPhase::backward) return false;
  const std::uint32_t around = enclosing(step_.trace, flow_.nesting, op.op, [](const OpRow& r) {
    return r.kind == OpKind::convolution_backward;
  });
  if (around == no_row) return false;
  const OpRow& gradient = op_row(text_of(step_.trace, step_.trace.ops.name[around]));
  const OpTensors& operands = operands_of(step_.trace, around).tensors;
  const std::uint8_t from_behind = gradient.arguments.at(ArgumentName::grad);
  std::uint32_t whole = no_row;
  for (std::size_t i = 0; i < operands.shapes.size(); ++i) {
    const std::uint8_t at = operands.arguments[i];
    if (!same_recorded_dims(operands.shapes[i], shape)) continue;
    const auto [known, first] = copied_.try_emplace({around, at}, no_row);
    if (first && at == from_behind) known->second = whole_gradient(shape);
    if (first && at != from_behind)
      known->second = whole_of(layers_.take(gradient, operands, shape));
    whole = known->second;
    if (first) break;
  }
  if (whole == no_row) return false;
  use(whole, argument);
  return true;
}

/// The product of which query, key and value are parts, where attention reads what nothing of their
/// size waits for; else no_row.
std::uint32_t GraphFlow::joined_product(const FlowOp& op, const OpTensors& operands) {
  constexpr std::int64_t parts = 3;
  if (op.kind != OpKind::attention || !tells_results(op)) return no_row;
  const TensorShape* const query = operands.at(op.row->arguments.at(ArgumentName::query));
  if (query == nullptr || waiting(*query, op) > 0) return no_row;
  const auto list = made_.find({parts * query->elements(), query->type});
  if (list == made_.end()) return no_row;
  for (std::size_t i = list->second.size(); i-- > 0;) {
    const std::uint32_t t = list->second[i];
    if (known_[t].by_library && waits_to_be_read(t, op)) return t;
  }
  return no_row;
}

void GraphFlow::bind_library(FlowOp& op, std::uint32_t row, const Operands& operands) {
  const OpArguments& arguments = op.row->arguments;
  const bool product = arguments.has(ArgumentName::right);
  const OpTensors& tensors = operands.tensors;
  std::vector<std::uint32_t> layer = read_by_layer(op, tensors);
  const std::uint32_t joined = joined_product(op, tensors);
  for (std::size_t i = 0; i < layer.size() && joined != no_row; ++i) {
    if (same_kind(tensors.shapes[i], tensors.shapes[0])) layer[i] = joined;
  }
  if (joined != no_row) known_[joined].read = true;
  const bool known =
      std::any_of(layer.begin(), layer.end(), [](std::uint32_t t) { return t != no_row; });
  for (std::size_t i = 0; i < tensors.shapes.size() && op.kind != OpKind::fill; ++i) {
    const std::uint8_t argument = tensors.arguments[i];
    const bool target = op.kind == OpKind::cast && argument == 0 && tensors.shapes.size() > 1;
    const bool result = product && argument > arguments.at(ArgumentName::right);
    if (target || result || copies_part(op, tensors.shapes[i], argument)) continue;
    if (layer[i] == no_row) {
      read(row, tensors.shapes[i], argument, product && known);
    } else {
      use(layer[i], argument);
      known_[layer[i]].by_gradient |= op.phase == FlowPhase::backward;
    }
  }
  op.input_count = static_cast<std::uint32_t>(flow_.inputs.size()) - op.first_input;
  const std::string_view name = text_of(step_.trace, step_.trace.ops.name[op.op]);
  for (const OutputShape& s : output_shapes(*op.row, name, tensors, operands.arguments)) {
    if (s.shape.type != DataType::unknown && s.known) make(op, row, s.shape);
  }
  if (op.phase == FlowPhase::forward) layers_.see(flow_, op);
}

void GraphFlow::bind(std::uint32_t row) {
  see_new_tensors();
  FlowOp& op = flow_.ops[row];
  const Operands& operands = operands_of(step_.trace, op.op);
  if (op.kind == OpKind::generated) {
    bind_generated(op, row, operands.tensors);
  } else {
    bind_library(op, row, operands);
  }
}

void GraphFlow::settle() {
  settle_kept();
  for (const auto& [use, like] : again_) {
    flow_.inputs[use].tensor = flow_.inputs[like].tensor;
    ++flow_.tensors[flow_.inputs[use].tensor].consumers;
  }
}

void GraphFlow::settle_kept() {
  std::map<Tensors, std::vector<std::uint32_t>> uses;  // by what they may be
  const auto has_reader = [&](std::uint32_t t) { return known_[t].by_gradient; };
  for (const auto& [use, shape] : kept_) {
    Tensors forward = made(shape);
    std::erase_if(forward, [&](std::uint32_t t) { return known_[t].backward; });
    if (!std::all_of(forward.begin(), forward.end(), has_reader)) {
      std::erase_if(forward, has_reader);
    }
    uses[best(by_fit(forward, shape))].push_back(use);
  }
  for (const auto& [tensors, readers] : uses) {
    for (std::size_t i = 0; i < readers.size(); ++i) {
      const std::size_t n = tensors.size();
      const std::uint32_t t = tensors[n - 1 - i * n / readers.size()];
      flow_.inputs[readers[i]].tensor = t;
      ++flow_.tensors[t].consumers;
    }
  }
}

}  // namespace tandem
