#include "models/whatif/precision/rewrite.h"

#include <algorithm>

#include "models/kernel/residual.h"

namespace tandem {
namespace {

/// How the operands of a new kernel lie in memory is not known.
Operands dense(Operands operands) {
  for (TensorShape& shape : operands.tensors.shapes) {
    shape.strides = {};
    shape.expanded = 1;
    shape.channels_last = false;
  }
  operands.arguments.clear();
  return operands;
}

/// `copy_(to, from, non_blocking)`; `read`: the operand that needs the copy, null if not recorded.
Operands copy_operands(const TensorShape* read, const PlannedCast& cast) {
  Operands out;
  out.has_shapes = true;
  out.argument_count = 3;
  TensorShape shape;
  shape.rank = 1;
  shape.dims[0] = cast.elements;
  if (read != nullptr) shape.rank = read->rank, shape.dims = read->dims;
  shape.type = cast.to;
  out.tensors.add(0, shape);
  shape.type = cast.from;
  out.tensors.add(1, shape);
  return out;
}

}  // namespace

PrecisionRewrite::PrecisionRewrite(const RetimeContext& context, const Dataflow& flow,
                                   const TypeChange& change, Precision to, const AddedHost& host,
                                   StepEdit& edit, PrecisionReport& report)
    : c_(context),
      flow_(flow),
      change_(change),
      to_(to),
      host_(host),
      edit_(edit),
      report_(report),
      in_attention_(flow.ops.size(), false) {}

void PrecisionRewrite::run() {
  for (const std::uint32_t i : change_.removed) remove(flow_.ops[i]);
  attention_groups();
  std::size_t next_removed = 0;
  for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
    if (next_removed < change_.removed.size() && change_.removed[next_removed] == i) {
      ++next_removed;
    } else if (!in_attention_[i]) {
      retype(i);
    }
  }
  for (const PlannedCast& cast : change_.casts) insert(cast);
}

DataType PrecisionRewrite::read_type(std::uint32_t index, std::uint32_t tensor) const {
  const DataType type = change_.tensors[tensor];
  if (!is_autocast_type(type) || !is_autocast_type(change_.ops[index])) return type;
  const FlowOp& op = flow_.ops[index];
  const bool norm = op.kind == OpKind::batch_norm || op.kind == OpKind::batch_norm_backward;
  if (op.phase == FlowPhase::backward && !norm) return change_.ops[index];
  switch (change_.policies[index]) {
    case CastPolicy::lower:
    case CastPolicy::full: return change_.ops[index];
    default: return type;
  }
}

void PrecisionRewrite::remove(const FlowOp& op) {
  for (const std::uint32_t w : flow_.works_of(op)) {
    report_.cast_us -= us(w);
    ++report_.casts_removed;
    drop_copy(w);
  }
}

/// The call's gap holds more than the copy: the end of what ran before, and Python.
void PrecisionRewrite::drop_copy(std::uint32_t work) {
  const std::uint32_t item = edit_.step().plan.works[work].item;
  if (item != no_index) {
    const Duration own = from_us(copy_host_us(edit_.step(), flow_.nesting, work) * host_.gap_scale);
    edit_.set_gap(item, std::max(Duration::zero(), edit_.step().plan.items[item].gap - own));
  }
  edit_.drop(work, false);
}

bool PrecisionRewrite::needs_matmul(const FlowOp& op, DataType from, DataType to) const {
  if (op.kind != OpKind::matmul) return false;
  if (from != to) return true;
  if (from != DataType::fp32) return false;
  const bool tensor = kernel_class(main_work(flow_.works_of(op))).math == DataType::tf32;
  return tensor != (to_ == Precision::tf32);
}

void PrecisionRewrite::retype(std::uint32_t index) {
  const FlowOp& op = flow_.ops[index];
  const DataType from = change_.old_ops[index], to = change_.ops[index];
  if (op.phase == FlowPhase::other || op.work_count == 0) return;
  if (needs_matmul(op, from, to)) {
    matmul(op, from, to);
  } else if (from == to || !is_autocast_type(from) || !is_autocast_type(to)) {
    if (is_autocast_type(from))
      memory(index, c_.law.floor_us);  // an operand may still have another type
    return;
  } else {
    switch (op.kind) {
      case OpKind::convolution:
      case OpKind::convolution_backward: convolution(op, from, to); break;
      case OpKind::batch_norm:
      case OpKind::batch_norm_backward: batch_norm(index, from, to); break;
      case OpKind::recurrent: recurrent(op, from, to); break;
      default: memory(index, c_.law.floor_us);
    }
  }
  report_.kernels_retyped += from == to ? 0 : op.work_count;
  retype_operands(index, from, to);
}

/// Operand types and kernel names.
void PrecisionRewrite::retype_operands(std::uint32_t index, DataType from, DataType to) {
  const FlowOp& op = flow_.ops[index];
  Operands operands = operands_of(edit_.step().trace, op.op);
  for (const FlowUse& use : flow_.inputs_of(op)) {
    if (!is_autocast_type(flow_.tensors[use.tensor].type)) continue;
    const DataType type = read_type(index, use.tensor);
    for (std::size_t i = 0; i < operands.tensors.shapes.size(); ++i) {
      if (operands.tensors.arguments[i] == use.argument) operands.tensors.shapes[i].type = type;
    }
  }
  if (operands != operands_of(edit_.step().trace, op.op)) {
    edit_.set_operands(op.op, std::move(operands));
  }
  if (op.kind == OpKind::matmul || from == to) return;
  for (const std::uint32_t w : flow_.works_of(op)) {
    if (is_library_norm(kernel_class(w).traits) && to == DataType::bf16)
      continue;  // named by to_native_norm
    if (is_native_norm(kernel_class(w).traits) && to != DataType::bf16) continue;
    edit_.set_kernel(w, retyped(w, from, to));
  }
}

void PrecisionRewrite::matmul(const FlowOp& op, DataType from, DataType to) {
  const DataType math = to == DataType::fp32 && to_ == Precision::tf32 ? DataType::tf32 : to;
  const auto works = flow_.works_of(op);
  const std::uint32_t main = main_work(works);
  if (is_half(from) && is_half(to)) {
    edit_.set_kernel(main, retyped(main, from, to));
    return;
  }
  const KernelTime time = matmul_time(c_, context(op.op), math);
  if (time.time_us <= 0) {
    unmodelled_us_ += us(main);
    return;
  }
  double predicted_us = std::max(c_.law.products.floor_us, time.time_us);
  // Many small products are bound by their loads, which tensor cores do not make slower.
  if (op.row->is(batched) && is_half(to)) predicted_us = std::min(predicted_us, us(main));
  set_time(main, predicted_us);
  switched_us_ += predicted_us;
  const Tile tile{time.tile_m > 0 ? time.tile_m : 128, time.tile_n > 0 ? time.tile_n : 128};
  edit_.set_kernel(main, c_.names.kernel(LibraryUse::product, math, c_.gpu.compute_major, tile));
  LaunchGeometry geometry;
  if (const GeometryId g =
          edit_.step().trace.activities.geometry[edit_.step().plan.works[main].source];
      g.valid()) {
    geometry = edit_.step().trace.geometries[g.index()];
  }
  geometry.grid = {static_cast<std::uint32_t>(std::max<std::int64_t>(1, time.grid_x)),
                   static_cast<std::uint32_t>(std::max<std::int64_t>(1, time.grid_y)),
                   static_cast<std::uint32_t>(std::max<std::int64_t>(1, time.grid_z))};
  edit_.set_geometry(main, geometry);
  // TF32 and FP32 products are of one library, which splits and clears in both.
  if (is_half(from) || is_half(to)) drop_others(works, main, true);
}

/// The host time before the first kernel of an operation is that of the operation's own dispatch:
/// it stays whichever of the kernels do.
void PrecisionRewrite::drop_others(std::span<const std::uint32_t> works, std::uint32_t main,
                                   bool products_only) {
  for (const std::uint32_t w : works) {
    const KernelFamily family = kernel_class(w).family;
    const bool product = family == KernelFamily::gemm || family == KernelFamily::transfer;
    if (w != main && (product || !products_only)) edit_.drop(w, w != works.front());
  }
}

void PrecisionRewrite::convolution(const FlowOp& op, DataType from, DataType to) {
  const bool backward = op.kind == OpKind::convolution_backward;
  const OpTensors& operands = tensors(op.op);
  for (const std::uint32_t w : flow_.works_of(op)) {
    const KernelClass& kernel = kernel_class(w);
    const bool layout = kernel.family == KernelFamily::layout;
    const bool weight = kernel.traits.pass == Pass::weight_gradient;
    double ratio = convolution_ratio(c_, operands, backward, weight, from, to);
    if (layout && ratio != 1) ratio = directed_ratio(c_.law.ratios.layout, from, to);
    if (kernel.family == KernelFamily::transfer) ratio = 1;
    set_time(w, carried_us(us(w), c_.law.conv_floor_us, ratio));
    if (ratio > 0.9 && ratio < 1 && !layout) switched_us_ += us(w) * ratio;
  }
}

void PrecisionRewrite::recurrent(const FlowOp& op, DataType from, DataType to) {
  const double ratio = directed_ratio(c_.law.ratios.convolution, from, to);
  for (const std::uint32_t w : flow_.works_of(op)) {
    set_time(w, carried_us(us(w), c_.law.products.floor_us, ratio));
    unmodelled_us_ += us(w);
  }
}

void PrecisionRewrite::memory(std::uint32_t index, double floor_us) {
  const FlowOp& op = flow_.ops[index];
  double before = 0, after = 0;
  bool was_half = false, was_full = false;
  const auto add = [&](std::uint32_t t, DataType type) {
    const FlowTensor& tensor = flow_.tensors[t];
    const double n = static_cast<double>(tensor.elements);
    before += n * element_bytes(tensor.type);
    after += n * element_bytes(type);
    was_half |= is_half(tensor.type), was_full |= tensor.type == DataType::fp32;
  };
  for (const FlowUse& use : flow_.inputs_of(op)) add(use.tensor, read_type(index, use.tensor));
  for (const std::uint32_t t : flow_.outputs_of(op)) {
    const DataType made = flow_.tensors[t].type;
    add(t,
        is_autocast_type(made) && is_autocast_type(change_.ops[index]) ? change_.ops[index] : made);
  }
  const bool mixed_before = op.kind == OpKind::pointwise && was_half && was_full &&
                            change_.old_ops[index] == DataType::fp32;
  if (before == after && !mixed_before && !change_.mixed[index]) return;
  for (const std::uint32_t w : flow_.works_of(op)) {
    const bool strided = row_of(kernel_class(w).traits).loop == Loop::strided;
    const double ratio = memory_ratio(
        c_.law.ratios,
        {op.kind, op_name(op.op), strided, mixed_before, change_.mixed[index], before, after});
    set_time(w, carried_us(us(w), floor_us, ratio));
  }
}

void PrecisionRewrite::insert(const PlannedCast& cast) {
  const FlowOp& op = flow_.ops[cast.op];
  NewKernel k;
  k.kernel = is_half(cast.to) ? c_.names.kernel(LibraryUse::cast_down, cast.to)
                              : c_.names.kernel(LibraryUse::cast_up, cast.from);
  k.op = "aten::copy_";
  const std::uint32_t reader = flow_.ops[cast.reader].op;
  const TensorShape* const read = tensors(reader).at(cast.argument);
  k.operands = copy_operands(read, cast);
  const std::int64_t per_block = 128 * (is_half(cast.to) ? 8 : 4);
  k.geometry.grid[0] = static_cast<std::uint32_t>(
      std::max<std::int64_t>(1, (cast.elements + per_block - 1) / per_block));
  k.geometry.block[0] = 128;
  k.geometry.registers_per_thread = 32;
  k.duration_us = cast_us(c_, cast.elements, cast.from, cast.to);
  k.host_us = host_.us(cast.after ? c_.law.cast_backward_host_ratio : c_.law.cast_host_ratio);
  report_.cast_us += k.duration_us;
  ++report_.casts_added;
  const auto works = flow_.works_of(op);
  if (cast.after) {
    edit_.insert_after(works.back(), std::move(k));
  } else {
    edit_.insert_before(works.front(), std::move(k));
  }
}

void PrecisionRewrite::set_time(std::uint32_t work, double us) {
  edit_.set_duration(work, from_us(us));
}

double PrecisionRewrite::us(std::uint32_t work) const {
  return to_us(edit_.step().plan.works[work].duration);
}

std::string_view PrecisionRewrite::name(std::uint32_t work) const {
  const Trace& trace = edit_.step().trace;
  return text_of(trace, trace.activities.name[edit_.step().plan.works[work].source]);
}

std::string_view PrecisionRewrite::op_name(std::uint32_t row) const {
  const Trace& trace = edit_.step().trace;
  return text_of(trace, trace.ops.name[row]);
}

const OpTensors& PrecisionRewrite::tensors(std::uint32_t row) const {
  return operands_of(edit_.step().trace, row).tensors;
}

OpContext PrecisionRewrite::context(std::uint32_t row) const {
  static const LaunchGeometry none;
  const Operands& operands = operands_of(edit_.step().trace, row);
  return {op_name(row), operands.tensors, operands.arguments, none};
}

const KernelClass& PrecisionRewrite::kernel_class(std::uint32_t work) const {
  return edit_.step().kernels.of(edit_.step().plan.works[work].source);
}

PredictedKernel PrecisionRewrite::retyped(std::uint32_t work, DataType from, DataType to) const {
  return c_.names.retyped(kernel_class(work), name(work), from, to);
}

std::uint32_t PrecisionRewrite::main_work(std::span<const std::uint32_t> works) const {
  return *std::max_element(works.begin(), works.end(),
                           [&](std::uint32_t a, std::uint32_t b) { return us(a) < us(b); });
}

NewKernel PrecisionRewrite::new_kernel(const FlowOp& op, std::uint32_t like, PredictedKernel kernel,
                                       double us) const {
  const Trace& trace = edit_.step().trace;
  NewKernel k;
  k.kernel = std::move(kernel);
  k.op = op_name(op.op);
  k.operands = dense(operands_of(trace, op.op));
  const GeometryId g = trace.activities.geometry[edit_.step().plan.works[like].source];
  if (g.valid()) k.geometry = trace.geometries[g.index()];
  k.duration_us = us;
  k.host_us = host_.us(c_.law.helper_host_ratio);
  return k;
}

}  // namespace tandem
