#include "models/whatif/precision/norm.h"

#include <algorithm>

#include "models/kernel/residual.h"
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

/// The framework has kernels of its own for BF16. The library's residual says nothing about them.
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

void retype_inference_norm(TypedStep& s, std::uint32_t work, const NormShape& shape, DataType from,
                           DataType to) {
  const NormTimes& times = s.c.law.norm;
  const double ratio =
      inference_norm_us(s.c.gpu, times, shape, to) / inference_norm_us(s.c.gpu, times, shape, from);
  s.set_time(work, carried_us(s.us(work), times.floor_us, ratio));
}

}  // namespace

bool is_native_norm(const KernelTraits& kernel) {
  return kernel.kind == Kind::bn_statistics || kernel.kind == Kind::bn_statistics_nhwc ||
         kernel.kind == Kind::bn_backward_native;
}

bool is_library_norm(const KernelTraits& kernel) {
  const NormForm form = row_of(kernel).norm;
  return form == NormForm::library || form == NormForm::library_on_chip;
}

bool is_normed_natively(const TypedStep& s, DataType type) {
  return type == DataType::bf16 || (type == DataType::fp16 && is_whole(s.precision));
}

bool moves_norm(const TypedStep& s, const FlowOp& op, DataType type) {
  if (op.kind != OpKind::batch_norm && op.kind != OpKind::batch_norm_backward) return false;
  if (op.phase == FlowPhase::other || !is_normed_natively(s, type)) return false;
  return is_library_norm(s.kernel_class(s.main_work(s.flow.works_of(op))).traits);
}

void retype_norm(TypedStep& s, std::uint32_t index, DataType from, DataType to) {
  const FlowOp& op = s.flow.ops[index];
  const auto works = s.flow.works_of(op);
  const OpTensors& operands = s.tensors(op.op);
  const std::uint32_t main = s.main_work(works);
  const bool native = std::any_of(works.begin(), works.end(), [&](std::uint32_t w) {
    return is_native_norm(s.kernel_class(w).traits);
  });
  const bool planes = s.kernel_class(main).traits.kind == Kind::bn_inference;
  if (planes && operands.at(0) != nullptr) {
    return retype_inference_norm(s, main, norm_shape(*operands.at(0)), from, to);
  }
  if (operands.at(0) == nullptr || (!native && !is_library_norm(s.kernel_class(main).traits))) {
    return s.memory(index, s.c.law.norm.floor_us);  // inference, in channels-last order
  }
  const NormShape shape = norm_shape(*operands.at(0));
  const bool backward = op.kind == OpKind::batch_norm_backward;
  if (native) {
    if (!is_normed_natively(s, to)) from_native_norm(s, op, shape, to);
    return;
  }
  if (is_normed_natively(s, to)) return to_native_norm(s, main, op, shape, to);
  const NormTimes& times = s.c.law.norm;
  // What the law leaves open of a kernel that reads its channels once says nothing of one that
  // reads them twice.
  const bool alike =
      reads_once(times, shape, from, backward) == reads_once(times, shape, to, backward);
  const double modelled = library_norm_us(s.c.gpu, times, shape, from, backward);
  const double residual = alike ? s.us(main) / modelled : 1;
  s.set_time(main, residual * library_norm_us(s.c.gpu, times, shape, to, backward));
}

}  // namespace tandem
