#include "models/whatif/batch/kernel.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "models/kernel/time/rates.h"
#include "models/kernel/work/gemm_shape.h"
#include "models/whatif/batch/matrix.h"
#include "models/whatif/batch/memory.h"
#include "models/whatif/batch/reduction.h"

namespace tandem {
namespace {

constexpr std::string_view scale_names[] = {"constant",  "memory",    "matrix",    "norm",
                                            "attention", "reduction", "embedding", "affine"};

// Small or odd-sized memsets clear counters and weight gradients.
bool clears_fixed_memory(const BatchKernel& k, std::int64_t batch) {
  constexpr std::int64_t least_bytes = 64 << 10;
  return k.activity == ActivityKind::memset && (k.bytes < least_bytes || k.bytes % batch != 0);
}

bool is_constant(const BatchChange& c, const BatchKernel& k) {
  if (k.kernel.family == KernelFamily::optimizer || k.kernel.family == KernelFamily::collective ||
      has_fixed_size(k.kernel.traits) || clears_fixed_memory(k, c.base)) {
    return true;
  }
  if (k.op == nullptr) return false;
  if (k.op->optimizer || k.op->fixed) return true;
  if (!k.op->has_shapes()) return false;
  return !k.op->grows() || (k.kernel.family == KernelFamily::layout && transforms_weights(k));
}

bool is_matrix(KernelFamily f) {
  return f == KernelFamily::gemm || f == KernelFamily::convolution ||
         f == KernelFamily::attention || f == KernelFamily::batch_norm;
}

KernelScaling affine_scaling(const BatchChange& c, const BatchKernel& k) {
  KernelScaling s;
  s.scale = ScaleClass::affine;
  const bool matrix = is_matrix(k.kernel.family);
  s.floor_us =
      matrix ? c.law.simt_floor_us : c.law.floor_us[static_cast<std::size_t>(memory_class(k))];
  s.floor_us *= c.floor_scale;
  s.damping.floor_share = matrix ? c.law.floor_share_matrix : c.law.floor_share_memory;
  s.damping.us = 0;
  s.target_us = c.ratio();
  return s;
}

// Adds up the weight gradients of single images.
KernelScaling partial_sum_scaling(const BatchChange& c, const BatchKernel& k) {
  KernelScaling s = memory_scaling(c, k, k.op->tensors);
  double weights = 0;
  for (std::size_t i = 0; i < k.op->tensors.shapes.size(); ++i) {
    const TensorShape& t = k.op->tensors.shapes[i];
    if (k.op->axis[i] < 0 && t.rank > 2) weights = 4.0 * static_cast<double>(t.elements());
  }
  s.floor_us = c.law.floor_us[static_cast<std::size_t>(MemoryClass::transfer)];
  s.base_us = memory_us(c, weights * static_cast<double>(c.base));
  s.target_us = memory_us(c, weights * static_cast<double>(c.batch));
  return weights > 0 ? s : affine_scaling(c, k);
}

KernelScaling matrix_scaling(const BatchChange& c, const BatchKernel& k, const OpTensors& target) {
  if (k.kernel.traits.kind == Kind::wgrad_reduce) return partial_sum_scaling(c, k);
  if (row_of(k.kernel.traits).time == TimeLaw::memory) return memory_scaling(c, k, target);
  const auto base = product_of(k, k.op->tensors), next = product_of(k, target);
  if (!base || !next) return affine_scaling(c, k);
  const ProductTime a = product_time(c, k.kernel, *base), b = product_time(c, k.kernel, *next);
  KernelScaling s;
  s.scale = ScaleClass::matrix;
  s.floor_us = product_floor_us(c.law, k.kernel);
  s.damping.floor_share = c.law.floor_share_matrix;
  s.damping.us = c.law.damping_us;
  s.base_us = a.body_us, s.target_us = b.body_us;
  const double kept = kept_kernel_growth(c, k, *base, *next);
  s.target_us = std::min(s.target_us, s.base_us * kept);
  s.launches = next->launches / base->launches;
  s.switches = a.choice != b.choice;
  return s;
}

// One thread block works on one channel: what counts is the elements of a channel and how many
// channels share an SM.
struct NormShape {
  double elements = 0;  // of one channel
  double resident = 0;  // channels per SM
  double bytes = 0;     // of the whole tensor
  double width = 0;
};
NormShape norm_shape(const BatchChange& c, const TensorShape& t) {
  NormShape n;
  const double channels = static_cast<double>(std::max<std::int64_t>(t.dims[1], 1));
  n.width = std::max(element_bytes(t.type), 2);
  n.elements = static_cast<double>(t.elements()) / channels;
  n.resident = std::ceil(channels / c.gpu.sm_count);
  n.bytes = static_cast<double>(t.elements()) * n.width;
  return n;
}

// cuDNN keeps a channel in registers and shared memory where it fits.
bool fits_on_chip(const BatchChange& c, const NormShape& n, bool backward) {
  const double registers = n.width > 2 ? 0 : backward ? 28672 : 40960;
  const double bytes = n.elements * n.width * (backward ? 2 : 1) - registers;
  return bytes <= c.law.bn_shared_share * static_cast<double>(max_shared_bytes(c.gpu));
}

double norm_us(const BatchChange& c, const NormShape& n, bool on_chip, bool backward) {
  const double passes = backward ? 3 : 2;
  if (on_chip) {
    const double chip = dram_us(c.gpu, n.bytes * passes, c.law.bn_chip_share);
    const double block = n.elements * n.width * passes / (c.law.bn_block_gbps * 1e3);
    return c.law.bn_block_us * n.resident + std::max(chip, block);
  }
  const double misses = 1 - l2_hits(c, n.bytes * passes);
  const double dram = n.resident > 1 ? c.law.bn_dram : c.law.lone_dram;
  const bool crowded = n.resident >= 4;
  const double element_ns = !backward ? c.law.bn_forward_ns
                            : crowded ? c.law.bn_backward_crowded_ns
                                      : c.law.bn_backward_ns;
  return n.elements * n.resident * element_ns * 1e-3 * (1 + (dram - 1) * misses);
}

KernelScaling norm_scaling(const BatchChange& c, const BatchKernel& k, const OpTensors& target) {
  const KindRow& kind = row_of(k.kernel.traits);
  const TensorShape* before = k.op->tensors.at(0);
  const TensorShape* after = target.at(0);
  const bool elementwise = kind.norm == NormForm::elementwise;
  if (elementwise || before == nullptr || after == nullptr || before->rank < 2) {
    return memory_scaling(c, k, target);
  }
  const bool backward = kind.direction == Direction::backward;
  const NormShape a = norm_shape(c, *before), b = norm_shape(c, *after);
  bool chip_a = kind.norm == NormForm::library_on_chip, chip_b = chip_a;
  const bool cudnn = chip_a || kind.norm == NormForm::library;
  // The rule decides about the new batch only where it explains the traced kernel.
  if (cudnn && fits_on_chip(c, a, backward) == chip_a) chip_b = fits_on_chip(c, b, backward);
  KernelScaling s;
  s.scale = ScaleClass::norm;
  s.floor_us = c.law.bn_floor_us;
  s.damping.floor_share = c.law.floor_share_matrix;
  s.damping.us = c.law.damping_us;
  s.base_us = norm_us(c, a, chip_a, backward);
  s.target_us = norm_us(c, b, chip_b, backward);
  s.switches = chip_a != chip_b;
  return s;
}

// Blocks work on whole tiles of queries. Persistent kernels start one block per SM at most, so
// their grid hides the work; the shapes tell it.
KernelScaling attention_scaling(const BatchChange& c, const BatchKernel& k,
                                const OpTensors& target) {
  if (is_helper(k.kernel.traits)) return memory_scaling(c, k, target);
  const OpContext context{k.op->name, k.op->tensors, k.op->arguments, k.geometry};
  const auto& g = k.geometry.grid;
  const double blocks = double(g[0]) * g[1] * g[2];
  double units = blocks;
  const auto shape = attention_shape(context);
  constexpr double query_tile = 128;
  if (shape && k.kernel.traits.engine == Engine::gmma) {
    units = std::max(blocks, double(shape->heads) * std::ceil(double(shape->queries) / query_tile));
  }
  const double sms = c.gpu.sm_count;
  const bool persistent = k.kernel.traits.engine == Engine::gmma;
  const auto waves = [&](double n) {
    return persistent ? std::ceil(n / sms) : std::max(c.law.attention_lone_waves, n / sms);
  };
  KernelScaling s;
  s.scale = ScaleClass::attention;
  s.floor_us = c.law.attention_floor_us;
  s.damping.floor_share = c.law.floor_share_matrix;
  s.base_us = waves(units), s.target_us = waves(units * c.ratio());
  return s;
}

}  // namespace

std::string_view to_string(ScaleClass scale) {
  return scale_names[static_cast<std::size_t>(scale)];
}

double KernelScaling::predict_us(double measured_us) const {
  if (scale == ScaleClass::constant || measured_us <= 0) return measured_us;
  const double us = carried_us(measured_us, floor_us, damping, base_us, target_us);
  // More work does not make a kernel faster, whatever the damping does.
  return launches * (target_us >= base_us ? std::max(us, measured_us) : std::min(us, measured_us));
}

namespace {

KernelScaling scaling_by_family(const BatchChange& c, const BatchKernel& k,
                                const OpTensors& target) {
  if (k.op == nullptr || !k.op->has_shapes()) return affine_scaling(c, k);
  if (k.op->row->output == OutputRule::table) return embedding_scaling(c, k, target);
  switch (k.kernel.family) {
    case KernelFamily::gemm:
    case KernelFamily::convolution: return matrix_scaling(c, k, target);
    case KernelFamily::batch_norm: return norm_scaling(c, k, target);
    case KernelFamily::attention: return attention_scaling(c, k, target);
    case KernelFamily::reduction: return reduction_scaling(c, k, target);
    case KernelFamily::rnn:
      return k.kernel.traits.kind == Kind::rnn_persistent ? affine_scaling(c, k)
                                                          : memory_scaling(c, k, target);
    default: return memory_scaling(c, k, target);
  }
}

}  // namespace

KernelScaling scale_kernel(const BatchChange& c, const BatchKernel& k, const OpTensors& target) {
  if (is_constant(c, k)) return {};
  KernelScaling s = scaling_by_family(c, k, target);
  s.recurrent = k.op != nullptr && k.op->row->kind == OpKind::recurrent;
  return s;
}

}  // namespace tandem
