#include "models/whatif/precision/kernels.h"

#include "models/kernel/residual.h"
#include "sim/core/data_type.h"

namespace tandem {
double cast_us(const RetimeContext& c, std::int64_t elements, DataType from, DataType to) {
  const double bytes = static_cast<double>(elements) * (element_bytes(from) + element_bytes(to));
  return streamed_us(c.gpu, is_half(to) ? c.law.cast_down : c.law.cast_up, bytes);
}

KernelTime matmul_time(const RetimeContext& c, const OpContext& op, DataType type) {
  const auto operands = product_operands(op);
  if (!operands || operands->left.rank < 2 || operands->right.rank < 2) return {};
  const GemmShape shape = gemm_shape(*operands, type);
  if (shape.k <= 0 || shape.n <= 0 || shape.m <= 0 || shape.batch <= 0) return {};
  return library_product_time(c.gpu, c.law.products, shape, c.time, c.law.floor_us);
}

double convolution_ratio(const RetimeContext& c, const OpTensors& operands, bool backward,
                         bool weight_gradient, DataType from, DataType to) {
  const TensorShape* x = operands.at(backward ? 1 : 0);
  const TensorShape* w = operands.at(backward ? 2 : 1);
  if (x == nullptr || w == nullptr) return directed_ratio(c.law.ratios.convolution, from, to);
  return convolution_ratio(c.law.ratios, c.law.products.aligned_bytes, *x, *w, weight_gradient,
                           from, to);
}

double attention_us(const RetimeContext& c, const OpContext& op, bool backward, DataType from,
                    DataType to, double us) {
  if (is_half(from) == is_half(to)) return us;
  const PrecisionLaw& law = c.law;
  if (const auto shape = attention_shape(op); shape && is_half(to)) {
    return fused_attention_us(c.gpu, backward ? law.attention_backward : law.attention_forward,
                              attention_flop(*shape, backward));
  }
  const double ratio = backward ? law.ratios.attention_backward : law.ratios.attention;
  return carried_us(us, law.products.floor_us, directed_ratio(ratio, from, to));
}

}  // namespace tandem
