#include "models/whatif/precision/native_norm.h"

#include <algorithm>

#include "models/ops/statistics_op.h"

namespace tandem {
namespace {

/// A kernel before the normalization that reads the input and leaves a few numbers per channel.
void insert_statistics(TypedStep& s, const FlowOp& op, std::uint32_t work, PredictedKernel kernel,
                       double us, DataType type) {
  NewKernel k = s.new_kernel(op, work, std::move(kernel), us);
  k.op = channel_statistics_op;
  auto& shapes = k.operands.tensors.shapes;
  const auto input = std::find_if(shapes.begin(), shapes.end(), [](const TensorShape& shape) {
    return shape.type == DataType::fp32;
  });
  if (input != shapes.end()) input->type = type;
  s.edit.insert_before(work, std::move(k));
}

bool is_library_kernel(const KernelTraits& kernel) {
  switch (kernel.kind) {
    case Kind::bn_inference:
    case Kind::bn_inference_nhwc:
    case Kind::bn_train_nhwc:
    case Kind::bn_backward_nhwc: return true;
    default: return is_library_norm(kernel);
  }
}

/// Operands of a copy of one number a channel, from `type` to FP32.
Operands channel_vector(std::int64_t channels, DataType type) {
  Operands out;
  out.has_shapes = true;
  TensorShape shape;
  shape.rank = 1, shape.dims[0] = channels;
  shape.type = DataType::fp32;
  out.tensors.add(0, shape);
  shape.type = type;
  out.tensors.add(1, shape);
  return out;
}

/// The framework computes with the mean in FP32 and the inverse of the deviation.
void insert_inference_helpers(TypedStep& s, const FlowOp& op, std::uint32_t work,
                              const NormShape& shape, DataType to) {
  const auto channels = static_cast<std::int64_t>(shape.channels);
  const auto add = [&](LibraryUse use, std::string_view name, double us) {
    NewKernel k = s.new_kernel(op, work, s.c.names.kernel(use, to), us);
    k.op = name;
    k.operands = channel_vector(channels, to);
    k.geometry = {{1, 1, 1}, {128, 1, 1}, 0, 0};
    s.edit.insert_before(work, std::move(k));
  };
  add(LibraryUse::cast_up, "aten::copy_", cast_us(s.c, channels, to, DataType::fp32));
  add(LibraryUse::native_norm_inverse, "aten::reciprocal", s.c.law.scalar_us);
}

void to_native_inference(TypedStep& s, std::uint32_t work, const FlowOp& op, const NormShape& shape,
                         DataType from, DataType to) {
  const NormTimes& times = s.c.law.norm;
  if (s.kernel_class(work).traits.kind == Kind::bn_inference) {
    retype_inference_norm(s, work, shape, from, to);
    s.edit.set_kernel(work, s.c.names.kernel(LibraryUse::native_norm_transform, to));
  } else {
    s.set_time(work, native_last_transform_us(s.c.gpu, times, shape, to, 2, s.c.law.floor_us));
    s.edit.set_kernel(work, s.c.names.kernel(LibraryUse::native_last_transform, to));
  }
  insert_inference_helpers(s, op, work, shape, to);
}

/// Images in channels-last order, training.
void to_native_last(TypedStep& s, std::uint32_t work, const FlowOp& op, const NormShape& shape,
                    DataType to) {
  const NormTimes& times = s.c.law.norm;
  const bool backward = op.kind == OpKind::batch_norm_backward;
  const double moved = backward ? 3 : 2;
  s.set_time(work, native_last_transform_us(s.c.gpu, times, shape, to, moved, s.c.law.floor_us));
  const LibraryUse main =
      backward ? LibraryUse::native_last_backward : LibraryUse::native_last_transform;
  s.edit.set_kernel(work, s.c.names.kernel(main, to));
  const auto before = [&](LibraryUse use, double us) {
    insert_statistics(s, op, work, s.c.names.kernel(use, to), us, to);
  };
  if (backward) {
    before(LibraryUse::native_last_reduce, native_last_reduce_us(s.c.gpu, times, shape));
  } else {
    before(LibraryUse::native_last_statistics, native_last_statistics_us(s.c.gpu, times, shape));
    before(LibraryUse::native_norm_update, times.native_update_us);
  }
}

}  // namespace

void to_native_norm(TypedStep& s, std::uint32_t work, const FlowOp& op, const NormShape& shape,
                    DataType to) {
  if (op.kind == OpKind::batch_norm_backward) {
    s.set_time(work, native_backward_us(s.c.gpu, s.c.law.norm, shape));
    s.edit.set_kernel(work, s.c.names.kernel(LibraryUse::native_norm_backward, to));
    return;
  }
  s.set_time(work, native_transform_us(s.c.gpu, s.c.law.norm, shape, to, s.c.law.floor_us));
  s.edit.set_kernel(work, s.c.names.kernel(LibraryUse::native_norm_transform, to));
  insert_statistics(s, op, work, s.c.names.kernel(LibraryUse::native_norm_statistics, to),
                    native_statistics_us(s.c.gpu, s.c.law.norm, shape), to);
  insert_statistics(s, op, work, s.c.names.kernel(LibraryUse::native_norm_update, to),
                    s.c.law.norm.native_update_us, to);
}

void from_native_norm(TypedStep& s, const FlowOp& op, const NormShape& shape, DataType to) {
  const bool backward = op.kind == OpKind::batch_norm_backward;
  const auto works = s.flow.works_of(op);
  for (std::size_t i = 0; i + 1 < works.size(); ++i) s.edit.drop(works[i], true);
  s.set_time(works.back(), library_norm_us(s.c.gpu, s.c.law.norm, shape, to, backward));
  const LibraryUse use = backward ? LibraryUse::norm_backward : LibraryUse::norm_forward;
  s.edit.set_kernel(works.back(), s.c.names.kernel(use, to));
}

bool moves_norm(const TypedStep& s, const FlowOp& op, DataType type) {
  if (op.kind != OpKind::batch_norm && op.kind != OpKind::batch_norm_backward) return false;
  if (op.phase == FlowPhase::other || !is_half(type)) return false;
  const auto works = s.flow.works_of(op);
  if (is_whole(s.report.from) && !is_normed_natively(s, type)) {
    return is_native_inference(s, works) || std::any_of(works.begin(), works.end(), [&](auto w) {
             return is_native_norm(s.kernel_class(w).traits);
           });
  }
  return is_whole(s.precision) && is_library_kernel(s.kernel_class(s.main_work(works)).traits);
}

void to_native_kernels(TypedStep& s, std::uint32_t work, const FlowOp& op, const NormShape& shape,
                       DataType from, DataType to) {
  switch (s.kernel_class(work).traits.kind) {
    case Kind::bn_inference:
    case Kind::bn_inference_nhwc: return to_native_inference(s, work, op, shape, from, to);
    case Kind::bn_train_nhwc:
    case Kind::bn_backward_nhwc: return to_native_last(s, work, op, shape, to);
    default: return to_native_norm(s, work, op, shape, to);
  }
}

bool is_native_inference(const TypedStep& s, std::span<const std::uint32_t> works) {
  bool transform = false;
  for (const std::uint32_t w : works) {
    const KernelTraits& kernel = s.kernel_class(w).traits;
    transform |= kernel.kind == Kind::bn_transform || kernel.kind == Kind::bn_transform_nhwc;
    if (is_native_norm(kernel)) return false;
  }
  return transform;
}

void retype_native_inference(TypedStep& s, std::uint32_t index, std::uint32_t main, DataType from,
                             DataType to) {
  const FlowOp& op = s.flow.ops[index];
  const TensorShape* const image = s.tensors(op.op).at(0);
  if (is_normed_natively(s, to) || image == nullptr) {
    return s.memory(index, s.c.law.norm.floor_us);
  }
  for (const std::uint32_t w : s.flow.works_of(op)) {
    if (w != main) s.edit.drop(w, true);
  }
  if (s.kernel_class(main).traits.kind != Kind::bn_transform_nhwc) {
    return retype_inference_norm(s, main, norm_shape(*image), from, to);
  }
  s.set_time(main, inference_last_norm_us(s.c.gpu, s.c.law.norm, norm_shape(*image), to));
  s.edit.set_kernel(main, s.c.names.kernel(LibraryUse::norm_last_inference, to));
}

}  // namespace tandem
