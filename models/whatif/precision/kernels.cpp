#include "models/whatif/precision/kernels.h"

#include <algorithm>
#include <array>

#include "models/kernel/residual.h"
#include "models/kernel/time/rates.h"
#include "models/whatif/precision/types.h"

namespace tandem {
namespace {

double clk(const RetimeContext& c) { return c.gpu.boost_clock_mhz; }

std::int64_t pixels(const TensorShape& t) {
  std::int64_t n = 1;
  for (std::size_t i = 2; i < t.rank; ++i) n *= t.dims[i];
  return n;
}

bool aligned(const RetimeContext& c, std::int64_t elements, DataType type) {
  const auto unit = static_cast<std::int64_t>(c.law.aligned_bytes);
  return elements * element_bytes(type) % unit == 0;
}

double channel_us(const RetimeContext& c, const NormShape& s, const ChannelRate& rate,
                  double block_ratio = 1) {
  return std::max(rate.block_cycles * block_ratio * s.per_channel,
                  rate.sm_cycles * s.elements() / c.gpu.sm_count) /
         clk(c);
}

/// Of queries, keys and values of shape [batch, queries, heads, width] or [batch, heads, queries,
/// width]: the products over both orders are equal if there are as many queries as keys.
double attention_flop(const OpTensors& operands, bool backward) {
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

/// On FP32 pipes: the library splits k where the result has too few tiles to fill the GPU.
KernelTime split_product(const RetimeContext& c, const GemmShape& whole) {
  KernelTime best = gemm_time(c.gpu, whole, c.time);
  const double result_bytes = 4.0 * static_cast<double>(whole.m * whole.n * whole.batch);
  for (const int parts : {2, 3, 4, 6, 8}) {
    if (whole.k < 256 * parts) break;
    GemmShape part = whole;
    part.batch *= parts;
    part.k = (whole.k + parts - 1) / parts;
    KernelTime time = gemm_time(c.gpu, part, c.time);
    time.time_us += c.law.floor_us + dram_us(c.gpu, 2 * parts * result_bytes, 1);
    if (time.time_us < best.time_us) best = time, best.split = parts;
  }
  return best;
}

/// Warp-group instructions read operands of 32 bits from shared memory only with k innermost (PTX
/// ISA, wgmma: transposition is for 16-bit types); others are turned around on the way. Rows that
/// the copy engine cannot address run on the older instructions, which do not mind.
double tf32_ratio(const RetimeContext& c, const GemmShape& shape) {
  const auto aligned_rows = [&](std::int64_t n) { return aligned(c, n, DataType::fp32); };
  const bool aligned_all = aligned_rows(shape.a_k_major ? shape.k : shape.m) &&
                           aligned_rows(shape.b_k_major ? shape.k : shape.n) &&
                           aligned_rows(shape.n);
  if (c.gpu.tensor_family != TensorFamily::gmma || !aligned_all) return c.law.matmul_ratio;
  const int turned = !shape.a_k_major + !shape.b_k_major;
  return turned == 0   ? c.law.matmul_tf32_ratio
         : turned == 1 ? c.law.matmul_tf32_one_turned_ratio
                       : c.law.matmul_tf32_both_turned_ratio;
}

KernelTime tensor_product(const RetimeContext& c, const GemmShape& shape) {
  KernelTime time = gemm_time(c.gpu, shape, c.time);
  const auto shortest = [&](std::int64_t n) { return n * element_bytes(shape.type) % 4 != 0; };
  // Small batched products are bound by their batch.
  const bool odd =
      shape.batch == 1 && (shortest(shape.a_k_major ? shape.k : shape.m) ||
                           shortest(shape.b_k_major ? shape.k : shape.n) || shortest(shape.n));
  const double ratio = shape.type == DataType::tf32 ? tf32_ratio(c, shape)
                       : odd                        ? c.law.matmul_odd_ratio
                                                    : c.law.matmul_ratio;
  time.time_us = carried_us(time.time_us, c.law.matmul_floor_us, ratio);
  return time;
}

}  // namespace

double cast_us(const RetimeContext& c, std::int64_t elements, DataType from, DataType to) {
  const CastRate& rate = is_half(to) ? c.law.cast_down : c.law.cast_up;
  const double bytes = static_cast<double>(elements) * (element_bytes(from) + element_bytes(to));
  return rate.floor_us + dram_us(c.gpu, bytes, rate.dram_share);
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
  return type == DataType::fp32 ? split_product(c, shape) : tensor_product(c, shape);
}

double convolution_ratio(const RetimeContext& c, const OpTensors& operands, bool backward,
                         bool weight_gradient, DataType from, DataType to) {
  const TensorShape* x = operands.at(backward ? 1 : 0);
  const TensorShape* w = operands.at(backward ? 2 : 1);
  if (is_half(from) == is_half(to)) return 1;
  double ratio = c.law.conv_ratio;
  if (x != nullptr && w != nullptr && w->rank >= 3) {
    const bool depthwise = w->dims[1] == 1 && x->dims[1] > 1 && w->dims[0] >= x->dims[1];
    const bool product = pixels(*w) == 1;  // 1x1: the library multiplies matrices in place
    const DataType half = is_half(to) ? to : from;
    if (depthwise) {
      ratio = c.law.depthwise_ratio;
    } else if (product && !weight_gradient && aligned(c, pixels(*x), DataType::fp32) &&
               !aligned(c, pixels(*x), half)) {
      ratio = c.law.conv_misaligned_ratio;
    }
  }
  return is_half(to) ? ratio : 1 / ratio;
}

double attention_us(const RetimeContext& c, const OpTensors& operands, bool backward, DataType from,
                    DataType to, double us) {
  if (is_half(from) == is_half(to)) return us;
  const PrecisionLaw& law = c.law;
  const double ratio = backward ? law.attention_backward_ratio : law.attention_ratio;
  if (!is_half(to)) return carried_us(us, law.matmul_floor_us, 1 / ratio);
  const double flop = attention_flop(operands, backward);
  if (flop <= 0) return carried_us(us, law.matmul_floor_us, ratio);
  const AttentionRate& rate = backward ? law.attention_backward : law.attention_forward;
  const double peak = tensor_peak_tflops(c.gpu, MathType::fp16, c.gpu.boost_clock_mhz) * 1e6;
  return rate.floor_us + flop / (rate.tensor_share * peak);
}

NormShape norm_shape(const TensorShape& input) {
  NormShape shape;
  if (input.rank < 2 || input.dims[1] <= 0) return shape;
  shape.channels = static_cast<double>(input.dims[1]);
  shape.plane = static_cast<double>(pixels(input));
  shape.per_channel = static_cast<double>(input.elements()) / shape.channels;
  return shape;
}

double library_norm_us(const RetimeContext& c, const NormShape& s, DataType type, bool backward) {
  const double size = element_bytes(type), operands = backward ? 2 : 1;
  const PrecisionLaw& law = c.law;
  if (operands * s.per_channel * size <= law.norm_keep_bytes) {
    // Odd planes are read element by element, which takes as long as reading twice the bytes.
    const bool odd =
        std::max(1.0, s.plane) * size / 4 !=
        static_cast<double>(static_cast<std::int64_t>(std::max(1.0, s.plane) * size / 4));
    const double bytes = (operands + 1) * s.elements() * (odd ? 4 : size);
    return law.norm_floor_us + dram_us(c.gpu, bytes, law.norm_single_dram_share);
  }
  const double half = !is_half(type) ? 1
                      : backward     ? law.norm_backward_half_ratio
                                     : law.norm_forward_half_ratio;
  const double bytes = (2 * operands + 1) * s.elements() * size;
  return law.norm_floor_us +
         std::max(channel_us(c, s, backward ? law.norm_backward : law.norm_forward, half),
                  dram_us(c.gpu, bytes, law.norm_generic_dram_share));
}

double native_statistics_us(const RetimeContext& c, const NormShape& s) {
  return c.law.norm_floor_us + channel_us(c, s, c.law.native_statistics);
}

double native_transform_us(const RetimeContext& c, const NormShape& s, DataType type) {
  const double bytes = 2 * s.elements() * element_bytes(type);
  const double planes = s.elements() / std::max(1.0, s.plane);
  return c.law.floor_us +
         std::max(dram_us(c.gpu, bytes, c.law.native_transform_dram_share),
                  c.law.native_plane_sm_cycles * planes / (c.gpu.sm_count * clk(c)));
}

double native_backward_us(const RetimeContext& c, const NormShape& s) {
  return c.law.norm_floor_us + channel_us(c, s, c.law.native_backward);
}

double memory_ratio(const RetimeContext& c, const MemoryChange& change) {
  if (change.bytes_before <= 0 || change.bytes_after <= 0) return 1;
  const OpRow& row = op_row(change.op);
  double ratio = change.bytes_after / change.bytes_before;
  const auto bounded = [&](double least) {
    return ratio < 1 ? std::max(ratio, least) : std::min(ratio, 1 / least);
  };
  switch (change.kind) {
    case OpKind::dropout:
      if (!row.backward) ratio = bounded(c.law.random_ratio);
      break;
    case OpKind::reduction: ratio = bounded(c.law.reduction_ratio); break;
    case OpKind::pooling:
    case OpKind::pooling_backward:
    case OpKind::gather:
    case OpKind::scatter:
    case OpKind::other: return 1;  // bound by their index arithmetic
    default:
      if (row.is(arithmetic)) ratio = bounded(c.law.transcendental_ratio);
      if (change.strided) ratio = bounded(c.law.strided_ratio);
  }
  if (change.mixed_after && !change.mixed_before) ratio *= c.law.mixed_slowdown;
  if (change.mixed_before && !change.mixed_after) ratio /= c.law.mixed_slowdown;
  return ratio;
}

}  // namespace tandem
