// Batch norm in another type: the library's kernels, and the framework's own for BF16.
#include <algorithm>

#include "models/whatif/batch/roles.h"
#include "models/whatif/precision/names.h"
#include "models/whatif/precision/rewrite.h"

namespace tandem {

bool is_native_norm(std::string_view kernel) {
  return kernel.find("batch_norm_collect_statistics") != kernel.npos ||
         kernel.find("batch_norm_backward_kernel") != kernel.npos;
}

bool is_library_norm(std::string_view kernel) {
  return kernel.find("bn_fw_tr") != kernel.npos || kernel.find("bn_bw") != kernel.npos;
}

void PrecisionRewrite::batch_norm(std::uint32_t index, DataType from, DataType to) {
  const FlowOp& op = flow_.ops[index];
  const auto works = flow_.works_of(op);
  const OpTensors& operands = tensors(op.op);
  const std::uint32_t main = main_work(works);
  const bool native = std::any_of(works.begin(), works.end(),
                                  [&](std::uint32_t w) { return is_native_norm(name(w)); });
  if (operands.at(0) == nullptr || (!native && !is_library_norm(name(main)))) {
    return memory(index, c_.law.norm_floor_us);  // inference
  }
  const NormShape shape = norm_shape(*operands.at(0));
  const bool backward = op.kind == FlowKind::batch_norm_backward;
  if (native) {
    if (to != DataType::bf16) from_native_norm(op, shape, to);
    return;
  }
  if (to == DataType::bf16) return to_native_norm(main, op, shape, to);
  const double modelled = library_norm_us(c_, shape, from, backward);
  const double residual = us(main) / modelled;
  set_time(main, residual * library_norm_us(c_, shape, to, backward));
}

/// The framework has kernels of its own for BF16. The library's residual says nothing about them.
void PrecisionRewrite::to_native_norm(std::uint32_t work, const FlowOp& op, const NormShape& shape,
                                      DataType to) {
  const std::string type(framework_type(to));
  if (op.kind == FlowKind::batch_norm_backward) {
    set_time(work, native_backward_us(c_, shape));
    edit_.set_name(
        work, "void at::native::batch_norm_backward_kernel<" + type + ", float, float, int>(int)");
    return;
  }
  set_time(work, native_transform_us(c_, shape, to));
  edit_.set_name(work, "void at::native::batch_norm_transform_input_kernel<" + type +
                           ", float, float, true, int>(int)");
  insert_statistics(op, work,
                    "void at::native::batch_norm_collect_statistics_kernel<at::native::Var, " +
                        type + ", " + type + ", float, int>(int)",
                    native_statistics_us(c_, shape), to);
  insert_statistics(op, work,
                    "void at::native::unrolled_elementwise_kernel_for_multi_outputs<3, "
                    "batch_norm_update_stats_and_invert>(int)",
                    c_.law.native_update_us, to);
}

/// A kernel before the normalization that reads the input and leaves a few numbers per channel.
void PrecisionRewrite::insert_statistics(const FlowOp& op, std::uint32_t work, std::string kernel,
                                         double us, DataType type) {
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
  const bool backward = op.kind == FlowKind::batch_norm_backward;
  const auto works = flow_.works_of(op);
  for (std::size_t i = 0; i + 1 < works.size(); ++i) edit_.drop(works[i], true);
  const std::string type = to == DataType::fp16 ? "__half" : "float";
  set_time(works.back(), library_norm_us(c_, shape, to, backward));
  edit_.set_name(works.back(),
                 backward
                     ? "void cudnn::bn_bw_1C11_kernel_new<" + type + ", float, float2, 512>(int)"
                     : "void cudnn::bn_fw_tr_1C11_kernel_NCHW<" + type + ", float, int, 512>(int)");
}

}  // namespace tandem
