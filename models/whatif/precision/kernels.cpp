#include "models/whatif/precision/kernels.h"

#include "models/kernel/residual.h"
#include "sim/core/data_type.h"

namespace tandem {
namespace {

/// Of queries, keys and values of shape [batch, queries, heads, width] or [batch, heads, queries,
/// width]: the products over both orders are equal if there are as many queries as keys.
double flop_of(const OpTensors& operands, bool backward) {
  const std::size_t first = backward ? 1 : 0;  // backward the gradient comes first
  const TensorShape* q = operands.at(first);
  const TensorShape* k = operands.at(first + 1);
  if (q == nullptr || k == nullptr || q->rank != 4 || k->rank != 4) return 0;
  // The framework's memory-efficient kernels have the heads third, the others second.
  const bool heads_third =
      q->dims[1] != k->dims[1] || (q->dims[2] == k->dims[2] && q->strides[1] > q->strides[2]);
  const auto at = [](const TensorShape& t, int i) { return static_cast<double>(t.dims[i]); };
  const double keys = heads_third ? at(*k, 1) : at(*k, 2);
  const double products = backward ? 5 : 2;
  return 2 * products * static_cast<double>(q->elements()) * keys;
}

}  // namespace

double cast_us(const RetimeContext& c, std::int64_t elements, DataType from, DataType to) {
  const double bytes = static_cast<double>(elements) * (element_bytes(from) + element_bytes(to));
  return streamed_us(c.gpu, is_half(to) ? c.law.cast_down : c.law.cast_up, bytes);
}

KernelTime matmul_time(const RetimeContext& c, const OpTensors& operands, DataType type) {
  // The factors are the last two operands; a bias or addend may stand before them.
  const std::size_t n = operands.shapes.size();
  if (n < 2) return {};
  const TensorShape& a = operands.shapes[n - 2];
  const TensorShape& b = operands.shapes[n - 1];
  if (a.rank < 2 || b.rank < 2) return {};
  GemmShape shape;
  shape.k = a.dims[a.rank - 1U];
  shape.n = b.dims[b.rank - 1U];
  shape.m = a.dims[a.rank - 2U];
  for (std::size_t i = 0; i + 2 < a.rank; ++i) shape.batch *= a.dims[i];
  if (shape.k <= 0 || shape.n <= 0 || shape.m <= 0 || shape.batch <= 0) return {};
  shape.type = type;
  const auto stride = [](const TensorShape& t, unsigned from_end) {
    return t.strides[t.rank - from_end];
  };
  if (stride(a, 1) + stride(a, 2) > 0) shape.a_k_major = stride(a, 1) == 1;
  if (stride(b, 1) + stride(b, 2) > 0) shape.b_k_major = stride(b, 1) != 1;
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

double attention_us(const RetimeContext& c, const OpTensors& operands, bool backward, DataType from,
                    DataType to, double us) {
  if (is_half(from) == is_half(to)) return us;
  const PrecisionLaw& law = c.law;
  const double flop = flop_of(operands, backward);
  if (is_half(to) && flop > 0) {
    return fused_attention_us(c.gpu, backward ? law.attention_backward : law.attention_forward,
                              flop);
  }
  const double ratio = backward ? law.ratios.attention_backward : law.ratios.attention;
  return carried_us(us, law.products.floor_us, directed_ratio(ratio, from, to));
}

}  // namespace tandem
