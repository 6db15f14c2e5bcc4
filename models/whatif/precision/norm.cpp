#include "models/whatif/precision/norm.h"

#include <algorithm>

#include "models/kernel/residual.h"
#include "models/whatif/precision/native_norm.h"

namespace tandem {
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

void retype_inference_norm(TypedStep& s, std::uint32_t work, const NormShape& shape, DataType from,
                           DataType to) {
  const NormTimes& times = s.c.law.norm;
  const double ratio =
      inference_norm_us(s.c.gpu, times, shape, to) / inference_norm_us(s.c.gpu, times, shape, from);
  s.set_time(work, carried_us(s.us(work), times.floor_us, ratio));
}

void retype_inference_last_norm(TypedStep& s, std::uint32_t work, const NormShape& shape,
                                DataType from, DataType to) {
  const NormTimes& times = s.c.law.norm;
  const double ratio = inference_last_norm_us(s.c.gpu, times, shape, to) /
                       inference_last_norm_us(s.c.gpu, times, shape, from);
  s.set_time(work, s.us(work) * ratio);
}

void retype_norm(TypedStep& s, std::uint32_t index, DataType from, DataType to) {
  const FlowOp& op = s.flow.ops[index];
  const auto works = s.flow.works_of(op);
  const OpTensors& operands = s.tensors(op.op);
  const std::uint32_t main = s.main_work(works);
  const bool native = std::any_of(works.begin(), works.end(), [&](std::uint32_t w) {
    return is_native_norm(s.kernel_class(w).traits);
  });
  if (is_whole(s.precision) && operands.at(0) != nullptr && moves_norm(s, op, to)) {
    return to_native_kernels(s, main, op, norm_shape(*operands.at(0)), from, to);
  }
  if (is_whole(s.report.from) && is_native_inference(s, works)) {
    return retype_native_inference(s, index, main, from, to);
  }
  if (s.kernel_class(main).traits.kind == Kind::bn_inference_nhwc && operands.at(0) != nullptr) {
    return retype_inference_last_norm(s, main, norm_shape(*operands.at(0)), from, to);
  }
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
