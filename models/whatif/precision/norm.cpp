// Batch norm in another type: the library's kernels, and the framework's own for BF16.
#include <algorithm>

#include "models/ops/statistics_op.h"
#include "models/whatif/precision/rewrite.h"

namespace tandem {

bool is_native_norm(const KernelTraits& kernel) {
  return kernel.kind == Kind::bn_statistics || kernel.kind == Kind::bn_statistics_nhwc ||
         kernel.kind == Kind::bn_backward_native;
}

bool is_library_norm(const KernelTraits& kernel) {
  const NormForm form = row_of(kernel).norm;
  return form == NormForm::library || form == NormForm::library_on_chip;
}

void PrecisionRewrite::batch_norm(std::uint32_t index, DataType from, DataType to) {
  const FlowOp& op = flow_.ops[index];
  const auto works = flow_.works_of(op);
  const OpTensors& operands = tensors(op.op);
  const std::uint32_t main = main_work(works);
  const bool native = std::any_of(works.begin(), works.end(), [&](std::uint32_t w) {
    return is_native_norm(kernel_class(w).traits);
  });
  if (operands.at(0) == nullptr || (!native && !is_library_norm(kernel_class(main).traits))) {
    return memory(index, c_.law.norm.floor_us);  // inference
  }
  const NormShape shape = norm_shape(*operands.at(0));
  const bool backward = op.kind == OpKind::batch_norm_backward;
  if (native) {
    if (to != DataType::bf16) from_native_norm(op, shape, to);
    return;
  }
  if (to == DataType::bf16) return to_native_norm(main, op, shape, to);
  const double modelled = library_norm_us(c_.gpu, c_.law.norm, shape, from, backward);
  const double residual = us(main) / modelled;
  set_time(main, residual * library_norm_us(c_.gpu, c_.law.norm, shape, to, backward));
}

/// The framework has kernels of its own for BF16. The library's residual says nothing about them.
void PrecisionRewrite::to_native_norm(std::uint32_t work, const FlowOp& op, const NormShape& shape,
                                      DataType to) {
  if (op.kind == OpKind::batch_norm_backward) {
    set_time(work, native_backward_us(c_.gpu, c_.law.norm, shape));
    edit_.set_kernel(work, c_.names.kernel(LibraryUse::native_norm_backward, to));
    return;
  }
  set_time(work, native_transform_us(c_.gpu, c_.law.norm, shape, to, c_.law.floor_us));
  edit_.set_kernel(work, c_.names.kernel(LibraryUse::native_norm_transform, to));
  insert_statistics(op, work, c_.names.kernel(LibraryUse::native_norm_statistics, to),
                    native_statistics_us(c_.gpu, c_.law.norm, shape), to);
  insert_statistics(op, work, c_.names.kernel(LibraryUse::native_norm_update, to),
                    c_.law.norm.native_update_us, to);
}

/// A kernel before the normalization that reads the input and leaves a few numbers per channel.
void PrecisionRewrite::insert_statistics(const FlowOp& op, std::uint32_t work,
                                         PredictedKernel kernel, double us, DataType type) {
  NewKernel k = new_kernel(op, work, std::move(kernel), us);
  k.op = channel_statistics_op;
  auto& shapes = k.operands.tensors.shapes;
  const auto input = std::find_if(shapes.begin(), shapes.end(), [](const TensorShape& shape) {
    return shape.type == DataType::fp32;
  });
  if (input != shapes.end()) input->type = type;
  edit_.insert_before(work, std::move(k));
}

void PrecisionRewrite::from_native_norm(const FlowOp& op, const NormShape& shape, DataType to) {
  const bool backward = op.kind == OpKind::batch_norm_backward;
  const auto works = flow_.works_of(op);
  for (std::size_t i = 0; i + 1 < works.size(); ++i) edit_.drop(works[i], true);
  set_time(works.back(), library_norm_us(c_.gpu, c_.law.norm, shape, to, backward));
  const LibraryUse use = backward ? LibraryUse::norm_backward : LibraryUse::norm_forward;
  edit_.set_kernel(works.back(), c_.names.kernel(use, to));
}

}  // namespace tandem
