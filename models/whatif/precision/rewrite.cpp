#include "models/whatif/precision/rewrite.h"

#include <algorithm>

#include "models/kernel/residual.h"
#include "models/whatif/precision/attention.h"
#include "models/whatif/precision/layers.h"
#include "models/whatif/precision/native_norm.h"
#include "models/whatif/precision/norm.h"
#include "models/whatif/precision/weights.h"

namespace tandem {
namespace {

/// The memory of what a cast copies, if the step says so: an operand of the operation behind it, or
/// a result of the autograd node before it.
TensorMemory copied_memory(const Dataflow& flow, const PlannedCast& cast) {
  if (!cast.after) {
    for (const FlowUse& use : flow.inputs_of(flow.ops[cast.op])) {
      if (use.argument == cast.argument) return flow.tensors[use.tensor].memory;
    }
    return {};
  }
  const std::uint32_t root = flow.ops[cast.op].root;
  for (std::uint32_t i = cast.op + 1; i-- > 0 && flow.ops[i].root == root;) {
    for (const std::uint32_t t : flow.outputs_of(flow.ops[i])) {
      if (flow.tensors[t].elements == cast.elements) return flow.tensors[t].memory;
    }
  }
  return {};
}

/// `copy_(to, from, non_blocking)`; `read`: the operand that needs the copy, null if not recorded.
Operands copy_operands(const TensorShape* read, const PlannedCast& cast, TensorMemory memory) {
  Operands out;
  out.has_shapes = true;
  out.argument_count = 3;
  TensorShape shape;
  shape.rank = 1;
  shape.dims[0] = cast.elements;
  if (read != nullptr) shape.rank = read->rank, shape.dims = read->dims;
  shape.memory = memory;
  shape.type = cast.to;
  out.tensors.add(0, shape);
  shape.type = cast.from;
  out.tensors.add(1, shape);
  return out;
}

bool needs_matmul(const TypedStep& s, const FlowOp& op, DataType from, DataType to) {
  if (op.kind != OpKind::matmul) return false;
  if (from != to) return true;
  if (from != DataType::fp32) return false;
  const bool tensor = s.kernel_class(s.main_work(s.flow.works_of(op))).math == DataType::tf32;
  return tensor != (s.precision == Precision::tf32);
}

void matmul(TypedStep& s, const FlowOp& op, DataType from, DataType to) {
  const DataType math =
      to == DataType::fp32 && s.precision == Precision::tf32 ? DataType::tf32 : to;
  const auto works = s.flow.works_of(op);
  const std::uint32_t main = s.main_work(works);
  if (is_half(from) && is_half(to)) {
    s.edit.set_kernel(main, s.retyped(main, from, to));
    return;
  }
  const bool padded = op.in_graph && math != DataType::fp32;
  const KernelTime time = matmul_time(s.c, s.context(op.op), math, padded);
  if (time.time_us <= 0) {
    s.unmodelled_us += s.us(main);
    return;
  }
  double predicted_us = std::max(s.c.law.products.floor_us, time.time_us);
  // Many small products are bound by their loads, which tensor cores do not make slower.
  if (op.row->is(batched) && is_half(to)) predicted_us = std::min(predicted_us, s.us(main));
  s.set_time(main, predicted_us);
  s.switched_us += predicted_us;
  const bool before = s.kernel_class(main).traits.engine > Engine::simt;
  const bool after = multiply_engine(s.c.gpu, math) > Engine::simt;
  if (before != after) {
    constexpr std::string_view lanes = "products on FP32 pipes",
                               tensor = "products on tensor cores";
    add_switch(s.report.switches, before ? tensor : lanes, after ? tensor : lanes, predicted_us);
  }
  PredictedKernel product =
      s.c.names.kernel(LibraryUse::product, math, s.c.gpu.compute_major, tile_of(time));
  LaunchGeometry geometry = s.geometry(main);
  geometry.grid = grid_of(product.kernel.traits, time);
  s.edit.set_kernel(main, std::move(product));
  s.edit.set_geometry(main, geometry);
  // TF32 and FP32 products are of one library, which splits and clears in both.
  if (is_half(from) || is_half(to)) s.drop_others(works, main, true);
}

/// On GPUs whose tensor cores lack TF32 a convolution leaves the FP32 pipes for them. False where
/// it stays or its shapes do not tell.
bool to_tensor_cores(TypedStep& s, const FlowOp& op, std::uint32_t work, DataType to) {
  const KernelClass& kernel = s.kernel_class(work);
  if (!is_half(to) || kernel.math != DataType::fp32 || s.c.gpu.tensor_tf32_fma_per_clk > 0) {
    return false;
  }
  if (row_of(kernel.traits).role != Role::main) return false;
  const SwitchedConvolution half =
      switched_convolution(s.c, s.context(op.op), kernel.traits.pass, to);
  if (half.ratio <= 0) return false;
  s.set_time(work, carried_us(s.us(work), s.c.law.conv_floor_us, half.ratio));
  const LibraryKernel* const name = s.c.names.find(
      s.c.gpu.compute_major, multiply_engine(s.c.gpu, to), KernelFamily::convolution, to);
  if (name == nullptr) return true;
  PredictedLaunch launch = predicted_launch(*name, half.to, kernel.traits.pass);
  s.edit.set_kernel(work, std::move(launch.kernel));
  s.edit.set_geometry(work, launch.geometry);
  return true;
}

void convolution(TypedStep& s, const FlowOp& op, DataType from, DataType to) {
  const bool backward = op.kind == OpKind::convolution_backward;
  const OpTensors& operands = s.tensors(op.op);
  if (retype_layer(s, op, from, to)) return;
  for (const std::uint32_t w : s.flow.works_of(op)) {
    const KernelClass& kernel = s.kernel_class(w);
    const bool layout = kernel.family == KernelFamily::layout;
    if (to_tensor_cores(s, op, w, to)) continue;
    const bool weight = kernel.traits.pass == Pass::weight_gradient;
    double ratio = convolution_ratio(s.c, operands, backward, weight, from, to);
    if (layout && ratio != 1) ratio = directed_ratio(s.c.law.ratios.layout, from, to);
    if (kernel.family == KernelFamily::transfer) ratio = 1;
    s.set_time(w, carried_us(s.us(w), s.c.law.conv_floor_us, ratio));
    if (ratio > 0.9 && ratio < 1 && !layout) s.switched_us += s.us(w) * ratio;
  }
  state_ruled_switches(s, op, from, to);
}

/// Products in 16 bits of a recurrent layer are those of any layer, and need no zeros to add parts
/// to; what else it does has no law of its own.
void recurrent(TypedStep& s, const FlowOp& op, DataType from, DataType to) {
  const double ratio = directed_ratio(s.c.law.ratios.convolution, from, to);
  const auto works = s.flow.works_of(op);
  for (const std::uint32_t w : works) {
    const KernelFamily family = s.kernel_class(w).family;
    if (is_half(to) && family == KernelFamily::transfer) {
      s.edit.drop(w, w != works.front());
      continue;
    }
    if (family == KernelFamily::gemm) {
      const DataType math =
          is_half(to) || s.c.gpu.tensor_tf32_fma_per_clk <= 0 ? to : DataType::tf32;
      const KernelTime time =
          recurrent_product_time(s.c, s.kernel_class(w), s.work_context(w), math);
      if (time.time_us > 0) {
        s.set_time(w, time.time_us);
        continue;
      }
    }
    s.set_time(w, carried_us(s.us(w), s.c.law.products.floor_us, ratio));
    s.unmodelled_us += s.us(w);
  }
}

void retype(TypedStep& s, std::uint32_t index) {
  const FlowOp& op = s.flow.ops[index];
  const DataType from = s.change.old_ops[index], to = s.change.ops[index];
  if (op.work_count == 0) return;
  if (op.phase == FlowPhase::other) {
    if (!retypes_weights(s)) return;
    retype_lists(s, index);
  }
  if (moves_norm(s, op, to)) {
    retype_norm(s, index, from, to);
  } else if (needs_matmul(s, op, from, to)) {
    matmul(s, op, from, to);
  } else if (from == to || !is_autocast_type(from) || !is_autocast_type(to)) {
    if (is_autocast_type(from))
      s.memory(index, s.c.law.floor_us);  // an operand may still have another type
    return;
  } else {
    switch (op.kind) {
      case OpKind::convolution:
      case OpKind::convolution_backward: convolution(s, op, from, to); break;
      case OpKind::batch_norm:
      case OpKind::batch_norm_backward: retype_norm(s, index, from, to); break;
      case OpKind::recurrent: recurrent(s, op, from, to); break;
      default: s.memory(index, s.c.law.floor_us);
    }
  }
  s.report.kernels_retyped += from == to ? 0 : op.work_count;
  s.retype_operands(index, from, to);
}

void remove(TypedStep& s, const FlowOp& op) {
  for (const std::uint32_t w : s.flow.works_of(op)) {
    s.report.cast_us -= s.us(w);
    ++s.report.casts_removed;
    s.drop_copy(w);
  }
}

void insert(TypedStep& s, const PlannedCast& cast) {
  const FlowOp& op = s.flow.ops[cast.op];
  NewKernel k;
  k.kernel = is_half(cast.to) ? s.c.names.kernel(LibraryUse::cast_down, cast.to)
                              : s.c.names.kernel(LibraryUse::cast_up, cast.from);
  k.op = "aten::copy_";
  const std::uint32_t reader = s.flow.ops[cast.reader].op;
  const TensorShape* const read = s.tensors(reader).at(cast.argument);
  k.operands = copy_operands(read, cast, copied_memory(s.flow, cast));
  const std::int64_t per_block = 128 * (is_half(cast.to) ? 8 : 4);
  k.geometry.grid[0] = static_cast<std::uint32_t>(
      std::max<std::int64_t>(1, (cast.elements + per_block - 1) / per_block));
  k.geometry.block[0] = 128;
  k.geometry.registers_per_thread = 32;
  k.duration_us = cast_us(s.c, cast.elements, cast.from, cast.to);
  k.host_us = s.host.us(cast.after ? s.c.law.cast_backward_host_ratio : s.c.law.cast_host_ratio);
  s.report.cast_us += k.duration_us;
  ++s.report.casts_added;
  const auto works = s.flow.works_of(op);
  if (cast.after) {
    s.edit.insert_after(works.back(), std::move(k));
  } else {
    s.edit.insert_before(works.front(), std::move(k));
  }
}

}  // namespace

void rewrite_types(TypedStep& s) {
  for (const std::uint32_t i : s.change.removed) remove(s, s.flow.ops[i]);
  const std::vector<bool> in_attention = retype_attention(s);
  std::size_t next_removed = 0;
  for (std::uint32_t i = 0; i < s.flow.ops.size(); ++i) {
    if (next_removed < s.change.removed.size() && s.change.removed[next_removed] == i) {
      ++next_removed;
    } else if (!in_attention[i]) {
      retype(s, i);
    }
  }
  for (const PlannedCast& cast : s.change.casts) insert(s, cast);
}

}  // namespace tandem
