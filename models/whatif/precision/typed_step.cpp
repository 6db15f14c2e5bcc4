#include "models/whatif/precision/typed_step.h"

#include <algorithm>

#include "models/kernel/launch_rules.h"
#include "models/kernel/residual.h"
#include "models/whatif/precision/norm.h"

namespace tandem {
namespace {

/// Norms of rows are sums; those that compiled code leaves to the framework keep the law of bytes,
/// which compiled pairs were scored with.
bool sums_rows(const FlowOp& op) {
  const bool norm = op.kind == OpKind::row_norm || op.kind == OpKind::row_norm_backward;
  return norm && !op.in_graph;
}

/// How the operands of a new kernel lie in memory is not known.
Operands dense(Operands operands) {
  for (TensorShape& shape : operands.tensors.shapes) {
    shape.strides = {};
    shape.expanded = 1;
    shape.channels_last = false;
    shape.memory = {};
  }
  operands.arguments.clear();
  operands.made.clear();
  operands.dropped.clear();
  return operands;
}

}  // namespace

DataType TypedStep::read_type(std::uint32_t index, std::uint32_t tensor) const {
  const DataType type = change.tensors[tensor];
  if (!is_autocast_type(type) || !is_autocast_type(change.ops[index])) return type;
  const FlowOp& op = flow.ops[index];
  if (op.kind == OpKind::generated) return type;
  const bool norm = op.kind == OpKind::batch_norm || op.kind == OpKind::batch_norm_backward;
  if (runs_backward(op) && !norm) return change.ops[index];
  switch (change.policies[index]) {
    case CastPolicy::lower:
    case CastPolicy::full: return change.ops[index];
    default: return type;
  }
}

/// The call's gap holds more than the copy: the end of what ran before, and Python.
void TypedStep::drop_copy(std::uint32_t work) {
  const std::uint32_t item = edit.step().plan.works[work].item;
  if (item != no_index) {
    const Duration own = from_us(copy_host_us(edit.step(), flow.nesting, work) * host.gap_scale);
    edit.set_gap(item, std::max(Duration::zero(), edit.step().plan.items[item].gap - own));
  }
  edit.drop(work, false);
}

/// The host time before the first kernel of an operation is that of the operation's own dispatch:
/// it stays whichever of the kernels do.
void TypedStep::drop_others(std::span<const std::uint32_t> works, std::uint32_t main,
                            bool products_only) {
  for (const std::uint32_t w : works) {
    const KernelFamily family = kernel_class(w).family;
    const bool product = family == KernelFamily::gemm || family == KernelFamily::transfer;
    if (w != main && (product || !products_only)) edit.drop(w, w != works.front());
  }
}

/// Operand types and kernel names.
void TypedStep::retype_operands(std::uint32_t index, DataType from, DataType to) {
  const FlowOp& op = flow.ops[index];
  Operands operands = operands_of(edit.step().trace, op.op);
  for (const FlowUse& use : flow.inputs_of(op)) {
    if (!is_autocast_type(flow.tensors[use.tensor].type)) continue;
    const DataType type = read_type(index, use.tensor);
    for (std::size_t i = 0; i < operands.tensors.shapes.size(); ++i) {
      if (operands.tensors.arguments[i] == use.argument) operands.tensors.shapes[i].type = type;
    }
  }
  if (operands != operands_of(edit.step().trace, op.op)) {
    edit.set_operands(op.op, std::move(operands));
  }
  if (op.kind == OpKind::matmul || from == to) return;
  for (const std::uint32_t w : flow.works_of(op)) {
    if (is_library_norm(kernel_class(w).traits) && is_normed_natively(*this, to))
      continue;  // named by to_native_norm
    if (is_native_norm(kernel_class(w).traits) && !is_normed_natively(*this, to)) continue;
    edit.set_kernel(w, retyped(w, from, to));
  }
}

void TypedStep::memory(std::uint32_t index, double floor_us) {
  const FlowOp& op = flow.ops[index];
  double before = 0, after = 0, elements = 0;
  bool was_half = false, was_full = false;
  const auto add = [&](const FlowTensor& tensor, std::int64_t held, DataType type) {
    const double n = static_cast<double>(held);
    before += n * element_bytes(tensor.type);
    after += n * element_bytes(type);
    was_half |= is_half(tensor.type), was_full |= tensor.type == DataType::fp32;
  };
  for (const FlowUse& use : flow.inputs_of(op)) {
    add(flow.tensors[use.tensor], flow.elements_of(use), read_type(index, use.tensor));
  }
  for (const std::uint32_t t : flow.outputs_of(op)) {
    const FlowTensor& made = flow.tensors[t];
    // What a generated kernel makes may have several types.
    const DataType to = op.in_graph ? change.tensors[t] : change.ops[index];
    const bool changes = is_autocast_type(made.type) && is_autocast_type(to);
    add(made, made.elements, changes ? to : made.type);
    elements = std::max(elements, double(made.elements));
  }
  const bool mixed_before = op.kind == OpKind::pointwise && was_half && was_full &&
                            change.old_ops[index] == DataType::fp32;
  if (before == after && !mixed_before && !change.mixed[index]) return;
  const TensorShape* const rows = tensors(op.op).at(0);
  const bool warp_softmax = op.kind == OpKind::softmax && rows != nullptr && rows->rank > 0 &&
                            rows->dims[rows->rank - 1U] <= softmax_warp_columns;
  double all_us = 0;
  for (const std::uint32_t w : flow.works_of(op)) all_us += us(w);
  const double moving_share = dram_us(c.gpu, before, 1) / all_us;
  const double lane_cycle_share = lane_us(c.gpu, elements) / all_us;
  const double issue_cycle_share = issue_us(c.gpu, elements) / all_us;
  for (const std::uint32_t w : flow.works_of(op)) {
    const Loop loop = row_of(kernel_class(w).traits).loop;
    const bool strided = loop == Loop::strided || loop == Loop::strided_casting;
    const double ratio = memory_ratio(
        c.law.ratios, {sums_rows(op) ? OpKind::reduction : op.kind, op_name(op.op), strided,
                       mixed_before, change.mixed[index], before, after, moving_share,
                       lane_cycle_share, warp_softmax, issue_cycle_share});
    set_time(w, carried_us(us(w), floor_us, ratio));
  }
}

void TypedStep::set_time(std::uint32_t work, double us) { edit.set_duration(work, from_us(us)); }

double TypedStep::us(std::uint32_t work) const {
  return to_us(edit.step().plan.works[work].duration);
}

std::string_view TypedStep::name(std::uint32_t work) const {
  const Trace& trace = edit.step().trace;
  return text_of(trace, trace.activities.name[edit.step().plan.works[work].source]);
}

std::string_view TypedStep::op_name(std::uint32_t row) const {
  const Trace& trace = edit.step().trace;
  return text_of(trace, trace.ops.name[row]);
}

const OpTensors& TypedStep::tensors(std::uint32_t row) const {
  return operands_of(edit.step().trace, row).tensors;
}

OpContext TypedStep::context(std::uint32_t row) const {
  static const LaunchGeometry none;
  const Operands& operands = operands_of(edit.step().trace, row);
  return {op_name(row), operands.tensors, operands.arguments, none};
}

OpContext TypedStep::work_context(std::uint32_t work) const {
  const std::uint32_t row = flow.ops[flow.op_of_work[work]].op;
  const Operands& operands = operands_of(edit.step().trace, row);
  return {op_name(row), operands.tensors, operands.arguments, geometry(work)};
}

const LaunchGeometry& TypedStep::geometry(std::uint32_t work) const {
  static const LaunchGeometry none;
  const Trace& trace = edit.step().trace;
  const GeometryId g = trace.activities.geometry[edit.step().plan.works[work].source];
  return g.valid() ? trace.geometries[g.index()] : none;
}

const KernelClass& TypedStep::kernel_class(std::uint32_t work) const {
  return edit.step().kernels.of(edit.step().plan.works[work].source);
}

PredictedKernel TypedStep::retyped(std::uint32_t work, DataType from, DataType to) const {
  return c.names.retyped(kernel_class(work), name(work), from, to);
}

std::uint32_t TypedStep::main_work(std::span<const std::uint32_t> works) const {
  return *std::max_element(works.begin(), works.end(),
                           [&](std::uint32_t a, std::uint32_t b) { return us(a) < us(b); });
}

NewKernel TypedStep::new_kernel(std::string_view op, const Operands& operands,
                                PredictedKernel kernel, double us) const {
  NewKernel k;
  k.kernel = std::move(kernel);
  k.op = op;
  k.operands = dense(operands);
  k.duration_us = us;
  k.host_us = host.us(c.law.helper_host_ratio);
  return k;
}

NewKernel TypedStep::new_kernel(const FlowOp& op, std::uint32_t like, PredictedKernel kernel,
                                double us) const {
  const Trace& trace = edit.step().trace;
  NewKernel k = new_kernel(op_name(op.op), operands_of(trace, op.op), std::move(kernel), us);
  k.geometry = geometry(like);
  return k;
}

}  // namespace tandem
