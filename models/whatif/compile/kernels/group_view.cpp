#include "models/whatif/compile/kernels/group_view.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "models/step/one_call.h"
#include "models/whatif/compile/inductor/clamped_rows.h"
#include "models/whatif/compile/inductor/rows.h"
#include "models/whatif/compile/inductor/windows.h"
#include "sim/core/units.h"

namespace tandem {
namespace {

bool is_softmax(OpKind kind) { return kind == OpKind::softmax || kind == OpKind::softmax_backward; }

double fp32_bytes(const FlowTensor& x) { return 4 * double(x.elements); }

}  // namespace

std::size_t GroupView::count(FuseRole role) const {
  return static_cast<std::size_t>(
      std::count_if(group_.ops.begin(), group_.ops.end(),
                    [&](std::uint32_t i) { return c_.plan.roles[i] == role; }));
}

bool GroupView::holds(std::uint32_t op) const {
  return op != no_row && std::binary_search(group_.ops.begin(), group_.ops.end(), op);
}

std::uint32_t GroupView::input(std::uint32_t op, std::uint8_t argument) const {
  for (const FlowUse& use : c_.flow.inputs_of(flow_op(op))) {
    if (use.argument == argument) return c_.plan.same_as[use.tensor];
  }
  return no_row;
}

std::vector<std::uint32_t> GroupView::inputs(std::uint32_t op) const {
  std::vector<std::uint32_t> list;
  for (const FlowUse& use : c_.flow.inputs_of(flow_op(op))) {
    list.push_back(c_.plan.same_as[use.tensor]);
  }
  return list;
}

std::vector<std::uint32_t> GroupView::outputs(std::uint32_t op) const {
  const auto list = c_.flow.outputs_of(flow_op(op));
  return {list.begin(), list.end()};
}

std::int64_t GroupView::read_elements(std::uint32_t t) const {
  const auto at = std::find(group_.reads.begin(), group_.reads.end(), t);
  if (at == group_.reads.end()) return tensor(t).elements;
  return group_.read_elements[static_cast<std::size_t>(at - group_.reads.begin())];
}

double GroupView::bytes_of(std::uint32_t t) const {
  return double(read_elements(t)) * element_bytes(tensor(t).type);
}

double GroupView::bytes(const std::vector<std::uint32_t>& list) const {
  double sum = 0;
  for (const std::uint32_t t : list) sum += bytes_of(t);
  return sum;
}

bool GroupView::lies_in_dram(std::uint32_t t) const {
  const std::uint32_t producer = tensor(t).producer;
  if (producer == no_row) return true;
  const double since = c_.written[group_.ops.front()] - c_.written[producer];
  return since > double(c_.gpu.l2_bytes);
}

double GroupView::cold_bytes(const std::vector<std::uint32_t>& list) const {
  double sum = 0;
  for (const std::uint32_t t : list) sum += lies_in_dram(t) ? bytes_of(t) : 0;
  return sum;
}

double GroupView::place_bytes() const {
  double sum = 0;
  for (const std::uint32_t i : group_.ops) sum += window_places(c_.flow, flow_op(i));
  return sum;
}

double GroupView::unstated_window_us() const {
  const std::uint32_t first = group_.ops.front();
  const FlowOp& op = flow_op(first);
  if (c_.plan.roles[first] != FuseRole::window || states_windows(c_.step.trace, op)) return 0;
  double library_us = 0;
  for (const std::uint32_t w : c_.flow.works_of(op)) {
    library_us += to_us(c_.step.plan.works[w].duration);
  }
  return generated_pooling_us(c_.law.generated, library_us);
}

bool GroupView::lies_last(const FlowOp& op, std::uint8_t argument) const {
  if (c_.images.channels_last) return true;
  const auto inputs = c_.flow.inputs_of(op);
  return std::any_of(inputs.begin(), inputs.end(), [&](const FlowUse& use) {
    return use.argument == argument && c_.images.tensors[use.tensor];
  });
}

double GroupView::values_of(std::uint32_t op, std::uint8_t from) const {
  double values = 0;
  for (const FlowUse& use : c_.flow.inputs_of(flow_op(op))) {
    if (use.argument >= from) values = std::max(values, double(c_.flow.elements_of(use)));
  }
  return values;
}

double GroupView::largest(const GeneratedKernel& k) const {
  double n = 1;
  for (const std::uint32_t t : k.reads) n = std::max(n, double(read_elements(t)));
  for (const std::uint32_t t : k.writes) n = std::max(n, double(tensor(t).elements));
  return n;
}

bool GroupView::is_group_norm(std::uint32_t op) const {
  return flow_op(op).row->layer == Layer::group_norm;
}

double GroupView::groups(std::uint32_t op) const {
  // group_norm(x, groups, ...), native_group_norm(x, scale, shift, images, channels, pixels,
  // groups)
  constexpr std::size_t first = 1, behind_sizes = 6;
  const Operands& operands = operands_of(c_.step.trace, flow_op(op).op);
  for (const std::size_t place : {first, behind_sizes}) {
    const auto numbers = integers_of(operands.argument(place));
    if (numbers.size() == 1 && numbers[0] > 0) return double(numbers[0]);
  }
  return 1;
}

double GroupView::shared_sector(std::uint32_t op, std::uint32_t t) const {
  const TensorShape* image = normalised(op);
  if (image == nullptr || image->rank < 2) return 1;
  const double channels = double(image->dims[1]) / groups(op);
  return std::clamp(channels, 1.0, sector_bytes * double(tensor(t).elements) / tensor(t).bytes());
}

std::uint32_t GroupView::loaded(std::uint32_t t) const {
  while (t != no_row && holds(tensor(t).producer) &&
         flow_op(tensor(t).producer).kind == OpKind::cast) {
    t = inputs(tensor(t).producer).front();
  }
  return t;
}

SumShape GroupView::group_sums(std::uint32_t op) const {
  constexpr std::uint8_t gradient_input = 1, gradient_scale = 4;
  const bool back = c_.plan.roles[op] == FuseRole::channel_norm_backward;
  const std::uint32_t x = input(op, back ? gradient_input : 0);
  double results = 1;
  const TensorShape* image = normalised(op);
  if (const bool known = image != nullptr && image->rank > 0; known && back) {
    const std::uint32_t scale = input(op, gradient_scale);
    if (scale != no_row) results = double(tensor(scale).elements) * double(image->dims[0]);
  } else if (known) {
    results = double(image->dims[0]) * groups(op);
  }
  const double all = x == no_row ? 1 : double(tensor(x).elements);
  return {std::max(1.0, results), std::max(1.0, all / std::max(1.0, results))};
}

bool GroupView::shifts_pixels(std::uint32_t norm) const {
  const TensorShape* x = normalised(norm);
  if (x == nullptr || x->rank < 3) return false;
  std::int64_t pixels = 1;
  for (std::size_t d = 2; d < x->rank; ++d) pixels *= x->dims[d];
  return std::has_single_bit(static_cast<std::uint64_t>(std::max<std::int64_t>(pixels, 1)));
}

double GroupView::row_elements() const {
  double longest = 0;
  for (const std::uint32_t i : group_.ops) {
    const OpKind kind = flow_op(i).kind;
    const std::uint32_t scale = input(i, kind == OpKind::row_norm ? 2 : 5);
    const bool norm = kind == OpKind::row_norm || kind == OpKind::row_norm_backward;
    if (norm && scale != no_row) return double(tensor(scale).elements);
    if (c_.plan.roles[i] != FuseRole::row) continue;
    const TensorShape* x = operands_of(c_.step.trace, flow_op(i).op).tensors.at(0);
    if (x == nullptr || x->rank == 0) continue;
    const auto outs = outputs(i);
    const bool sums = kind == OpKind::reduction && !outs.empty();
    const double results = sums ? double(tensor(outs[0]).elements) : 0;
    longest = std::max(
        longest, results > 0 ? double(x->elements()) / results : double(x->dims[x->rank - 1]));
  }
  return longest > 0 ? longest : c_.law.persistent_columns;
}

GeneratedKind GroupView::row_kind() const {
  return loops_rows() ? GeneratedKind::reduction : GeneratedKind::row;
}

double GroupView::row_sums() const {
  double sums = 0;
  for (const std::uint32_t i : group_.ops) {
    if (c_.plan.roles[i] != FuseRole::row || flow_op(i).phase != group_.phase) continue;
    const OpKind kind = flow_op(i).kind;
    // The largest element of a softmax goes with the sum; a norm has its mean and its variance.
    const bool two = kind == OpKind::row_norm || kind == OpKind::row_norm_backward;
    sums = std::max(sums, two ? 2.0 : 1.0);
  }
  return sums;
}

double GroupView::row_vector() const {
  constexpr int load_bytes = 16;
  const auto columns = static_cast<std::int64_t>(row_elements());
  int width = 1;
  for (const std::uint32_t t : group_.reads) {
    if (tensor(t).elements >= columns) width = std::max(width, element_bytes(tensor(t).type));
  }
  std::int64_t vector = std::max(1, load_bytes / width);
  while (vector > 1 && columns % vector != 0) vector /= 2;
  return double(vector);
}

bool GroupView::loops_rows() const {
  return row_elements() > c_.law.persistent_columns || loops_for_order();
}

bool GroupView::loops_for_order() const {
  const double columns = row_elements();
  if (columns > c_.law.persistent_columns) return false;
  return std::any_of(group_.ops.begin(), group_.ops.end(), [&](std::uint32_t i) {
    const OpKind kind = flow_op(i).kind;
    const bool sums = kind == OpKind::reduction && c_.plan.roles[i] == FuseRole::row;
    if (kind != OpKind::softmax && kind != OpKind::row_norm && !sums) return false;
    if (flow_op(i).phase != group_.phase) return false;
    const SumShape rows{op_elements(i) / columns, columns};
    if (!asks_for_order(c_.gpu, rows)) return false;
    const TensorShape* x = operands_of(c_.step.trace, flow_op(i).op).tensors.at(0);
    // Norms whose sums lie apart are gone through twice as well, but take as long as held ones.
    const bool apart = kind == OpKind::softmax && x != nullptr &&
                       results_lie_apart(*x, element_bytes(DataType::fp32));
    return apart || reads_across(i);
  });
}

std::vector<std::uint32_t> GroupView::made_from(std::uint32_t op) const {
  std::vector<std::uint32_t> all{op};
  std::vector<bool> seen(c_.flow.ops.size(), false);
  for (std::size_t next = 0; next < all.size(); ++next) {
    for (const std::uint32_t t : inputs(all[next])) {
      const std::uint32_t maker = tensor(t).producer;
      if (maker == no_row || c_.plan.roles[maker] != FuseRole::pointwise) continue;
      if (flow_op(maker).phase != flow_op(op).phase) continue;
      if (!seen[maker]) all.push_back(maker);
      seen[maker] = true;
    }
  }
  return all;
}

std::size_t GroupView::gathers_before(std::uint32_t op) const {
  const auto makers = made_from(op);
  return static_cast<std::size_t>(
      std::count_if(makers.begin(), makers.end(),
                    [&](std::uint32_t maker) { return flow_op(maker).kind == OpKind::gather; }));
}

bool GroupView::reads_across(std::uint32_t op) const {
  const TensorShape* rows = operands_of(c_.step.trace, flow_op(op).op).tensors.at(0);
  if (rows == nullptr || rows->rank == 0) return false;
  const bool of_softmax = flow_op(op).kind == OpKind::softmax;
  for (const std::uint32_t i : made_from(op)) {
    // What is added up layer by layer was gathered once, long before.
    if (flow_op(i).kind == OpKind::gather && (holds(i) || of_softmax)) return true;
    if (!holds(i)) continue;
    const OpTensors& operands = operands_of(c_.step.trace, flow_op(i).op).tensors;
    for (const FlowUse& use : c_.flow.inputs_of(flow_op(i))) {
      const TensorShape* x = operands.at(use.argument);
      if (x == nullptr || x->elements() <= 1) continue;
      const std::uint32_t maker = tensor(c_.plan.same_as[use.tensor]).producer;
      if (holds(maker)) continue;
      // The pieces of such a layer have the length first.
      if (maker != no_row && lies_in_fast_path(c_.step.trace, c_.flow, flow_op(maker))) return true;
      // Strided rows.
      if (!of_softmax && x->strides[x->rank - std::size_t{1}] != 1) continue;
      if (!lies_as_rows(*x, *rows)) return true;
    }
  }
  return false;
}

bool GroupView::adds_bias(std::uint32_t op) const {
  return enclosing(c_.step.trace, c_.flow.nesting, flow_op(op).op,
                   [](const OpRow& row) { return row.kind == OpKind::convolution; }) != no_row;
}

bool GroupView::saved_across(std::uint32_t op) const {
  constexpr int saved = 1;
  if (!c_.images.channels_last || flow_op(op).kind != OpKind::row_norm_backward ||
      is_group_norm(op)) {
    return false;
  }
  const TensorShape* x = operands_of(c_.step.trace, flow_op(op).op).tensors.at(saved);
  if (x == nullptr || x->rank != image_rank || input(op, saved) == no_row) return false;
  // Behind copies to another type or order.
  std::uint32_t maker = tensor(c_.plan.same_as[input(op, saved)]).producer;
  while (maker != no_row && flow_op(maker).kind == OpKind::cast && flow_op(maker).input_count > 0) {
    const std::uint32_t copied = c_.flow.inputs_of(flow_op(maker)).back().tensor;
    maker = tensor(c_.plan.same_as[copied]).producer;
  }
  return maker != no_row && fusable(c_.plan.roles[maker]) && !adds_bias(maker);
}

bool GroupView::strided_rows() const {
  std::int64_t largest = 0;
  for (const std::uint32_t i : group_.ops) {
    if (saved_across(i)) return true;
    for (const std::uint32_t t : inputs(i)) largest = std::max(largest, tensor(t).elements);
  }
  for (const std::uint32_t i : group_.ops) {
    const OpTensors& in = operands_of(c_.step.trace, flow_op(i).op).tensors;
    for (const FlowUse& use : c_.flow.inputs_of(flow_op(i))) {
      const TensorShape* x = in.at(use.argument);
      if (x == nullptr || x->elements() < largest || x->channels_last) continue;
      if (!lies_turned(*x)) continue;
      const std::uint32_t t = c_.plan.same_as[use.tensor];
      if (turns_rows(i, t) || !stored_in_rows(t)) return true;
    }
  }
  return false;
}

/// Whether `op` puts rows `t` that a norm of the group made into another order.
bool GroupView::turns_rows(std::uint32_t op, std::uint32_t t) const {
  const std::uint32_t producer = tensor(t).producer;
  return flow_op(op).kind == OpKind::cast && holds(producer) &&
         flow_op(producer).kind == OpKind::row_norm;
}

/// What generated code stores it stores row by row, however the eager step had it; what it computes
/// on the way to a result lies nowhere.
bool GroupView::stored_in_rows(std::uint32_t t) const {
  const std::uint32_t producer = tensor(t).producer;
  return producer != no_row && fusable(c_.plan.roles[producer]);
}

bool GroupView::turns_images() const {
  constexpr std::int64_t few = 8;
  if (!c_.images.channels_last || group_.ops.size() != 1) return false;
  const FlowOp& op = flow_op(group_.ops.front());
  const TensorShape* x = operands_of(c_.step.trace, op.op).tensors.at(1);
  if (op.kind != OpKind::cast || x == nullptr || x->rank != image_rank || x->dims[1] >= few)
    return false;
  // Filters are as short of channels, but small.
  return x->dims[2] * x->dims[3] >= 32 * 32 && !x->channels_last;
}

template <class Bytes>
double GroupView::normalised_again(OpFlag reads, Bytes bytes_of) const {
  double bytes = 0;
  for (const std::uint32_t i : group_.ops) {
    const FlowOp& op = flow_op(i);
    if (op.row == nullptr || !op.row->is(reads)) continue;
    for (const std::uint32_t n : group_.ops) {
      if (c_.plan.roles[n] != FuseRole::channel_norm_backward) continue;
      const std::uint32_t x = input(n, 1);
      if (x == no_row || double(tensor(x).elements) != op_elements(i)) continue;
      bytes = std::max(bytes, bytes_of(*op.row, tensor(x)));
    }
  }
  return bytes;
}

double GroupView::renormalised_bytes() const {
  return normalised_again(reads_operand, [](const OpRow& row, const FlowTensor& x) {
    return row.is(reads_often) ? fp32_bytes(x) : x.bytes();
  });
}

double GroupView::widened_bytes() const {
  return normalised_again(
      reads_often, [](const OpRow&, const FlowTensor& x) { return fp32_bytes(x) - x.bytes(); });
}

std::uint32_t GroupView::pixel_sum() const {
  if (!c_.images.channels_last) return no_row;
  for (const std::uint32_t i : group_.ops) {
    if (flow_op(i).kind != OpKind::reduction || c_.plan.roles[i] != FuseRole::row) continue;
    const Operands& in = operands_of(c_.step.trace, flow_op(i).op);
    const TensorShape* x = in.tensors.at(0);
    if (x == nullptr || x->rank != image_rank || input(i, 0) == no_row || outputs(i).empty())
      continue;
    const double images = double(x->dims[0] * x->dims[1]);
    if (double(tensor(outputs(i).front()).elements) == images) return i;
  }
  return no_row;
}

bool GroupView::fills_state(std::uint32_t op) const {
  const auto inputs = c_.flow.inputs_of(flow_op(op));
  return flow_op(op).kind == OpKind::scatter && !inputs.empty() && inputs[0].argument == 0 &&
         tensor(inputs[0].tensor).state;
}

double GroupView::op_elements(std::uint32_t op) const {
  if (fills_state(op)) return values_of(op, 1);
  double n = 0;
  for (const FlowUse& use : c_.flow.inputs_of(flow_op(op))) {
    n = std::max(n, double(c_.flow.elements_of(use)));
  }
  for (const std::uint32_t t : outputs(op)) n = std::max(n, double(tensor(t).elements));
  return n;
}

const TensorShape* GroupView::normalised(std::uint32_t op) const {
  return operands_of(c_.step.trace, flow_op(op).op).tensors.at(normalised_argument(op));
}

std::uint8_t GroupView::normalised_argument(std::uint32_t op) const {
  return c_.plan.roles[op] == FuseRole::channel_norm_backward ? 1 : 0;
}

bool GroupView::norms_last(std::uint32_t op) const {
  const TensorShape* x = normalised(op);
  // Weights that are normalised as rows, and sounds, keep their order whatever that of images.
  const bool rows = x != nullptr && x->rank < image_rank;
  return rows ? x->rank == 2 : lies_last(flow_op(op), normalised_argument(op));
}

bool GroupView::has_softmax() const {
  return std::any_of(group_.ops.begin(), group_.ops.end(),
                     [&](std::uint32_t i) { return is_softmax(flow_op(i).kind); });
}

double GroupView::random_numbers() const {
  double numbers = 0;
  for (const std::uint32_t i : group_.ops) {
    const bool draws = flow_op(i).kind == OpKind::dropout && group_.phase == FlowPhase::forward;
    if (draws && input(i, 0) != no_row) numbers += double(tensor(input(i, 0)).elements);
  }
  return numbers;
}

}  // namespace tandem
