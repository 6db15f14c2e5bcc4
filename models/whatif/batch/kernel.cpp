#include "models/whatif/batch/kernel.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "models/kernel/work/gemm_shape.h"
#include "models/whatif/batch/matrix.h"
#include "models/whatif/batch/memory.h"
#include "models/whatif/batch/reduction.h"
#include "sim/core/named.h"

namespace tandem {
namespace {

constexpr std::string_view scale_names[] = {"constant",  "memory",    "matrix",    "norm",
                                            "attention", "reduction", "embedding", "affine"};
static_assert(std::size(scale_names) == values_up_to(ScaleClass::affine));

// Small or odd-sized memsets clear counters and weight gradients.
bool clears_fixed_memory(const BatchKernel& k, std::int64_t batch) {
  constexpr std::int64_t least_bytes = 64 << 10;
  return k.activity == ActivityKind::memset && (k.bytes < least_bytes || k.bytes % batch != 0);
}

/// Whether the threads of an elementwise kernel are too few for any operand that grows: it computes
/// something beside them, as a number for each channel of a norm.
bool passes_no_items(const BatchKernel& k) {
  constexpr double most_values = 16;  // of a thread, in ATen's vectorized kernels
  const double values = most_values * threads(k.geometry);
  if (k.kernel.family != KernelFamily::pointwise || values <= 0) return false;
  for (std::size_t i = 0; i < k.op->tensors.shapes.size(); ++i) {
    const double elements = double(k.op->tensors.shapes[i].elements());
    if (k.op->axis[i] >= 0 && elements <= values) return false;
  }
  return true;
}

bool is_constant(const BatchChange& c, const BatchKernel& k) {
  if (k.kernel.family == KernelFamily::optimizer || k.kernel.family == KernelFamily::collective ||
      has_fixed_size(k.kernel.traits) || clears_fixed_memory(k, c.base)) {
    return true;
  }
  if (k.op == nullptr) return false;
  if (k.op->optimizer || k.op->fixed) return true;
  if (!k.op->has_shapes()) return false;
  if (!k.op->grows() || passes_no_items(k)) return true;
  return k.kernel.family == KernelFamily::layout && transforms_weights(k);
}

bool is_matrix(KernelFamily f) {
  return f == KernelFamily::gemm || f == KernelFamily::convolution ||
         f == KernelFamily::attention || f == KernelFamily::batch_norm;
}

KernelScaling affine_scaling(const BatchChange& c, const BatchKernel& k) {
  KernelScaling s;
  s.scale = ScaleClass::affine;
  const bool matrix = is_matrix(k.kernel.family);
  s.floor_us = matrix ? c.law.products.simt_floor_us
                      : c.law.floor_us[static_cast<std::size_t>(memory_class(k))];
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
  const auto time = [&](std::int64_t batch) {
    return cached_memory_us(c.gpu, c.law.memory, weights * static_cast<double>(batch));
  };
  s.base_us = time(c.base), s.target_us = time(c.batch);
  return weights > 0 ? s : affine_scaling(c, k);
}

/// Windows of nine multiply for longer than their bytes take: what those do not explain follows the
/// images.
KernelScaling depthwise_scaling(const BatchChange& c, const BatchKernel& k,
                                const OpTensors& target) {
  KernelScaling s = memory_scaling(c, k, target);
  s.computing = c.ratio();
  return s;
}

KernelScaling matrix_scaling(const BatchChange& c, const BatchKernel& k, const OpTensors& target) {
  if (k.kernel.traits.kind == Kind::wgrad_reduce) return partial_sum_scaling(c, k);
  if (row_of(k.kernel.traits).depthwise) return depthwise_scaling(c, k, target);
  if (row_of(k.kernel.traits).time == TimeLaw::memory) return memory_scaling(c, k, target);
  const auto base = product_of(k, k.op->tensors), next = product_of(k, target);
  if (!base || !next) return affine_scaling(c, k);
  const auto time = [&](const Product& p) {
    return best_tile_time(c.gpu, c.law.products, c.law.memory.dram_share, k.kernel, p);
  };
  const BestTileTime a = time(*base), b = time(*next);
  KernelScaling s;
  s.scale = ScaleClass::matrix;
  s.floor_us = c.law.products.floor_us(k.kernel);
  s.damping.floor_share = c.law.floor_share_matrix;
  s.damping.us = c.law.damping_us;
  s.base_us = a.us, s.target_us = b.us;
  if (base->convolution && runs_one_member(k.kernel.traits, k.geometry, *base)) {
    s.target_us = s.base_us * member_growth(c.gpu, k.kernel.traits, *base, *next);
    return s;
  }
  if (const auto growth = lone_blocks_growth(c.gpu, k.kernel.traits, k.geometry, *base, *next)) {
    s.target_us = s.base_us * *growth;
    return s;
  }
  const double kept = kept_kernel_growth(c.gpu, k.kernel.traits, k.geometry, *base, *next);
  s.target_us = std::min(s.target_us, s.base_us * kept);
  s.launches = next->launches / base->launches;
  s.switches = !(a.choice == b.choice);
  s.from = a.choice, s.to = b.choice;
  return s;
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
  const NormShape a = norm_shape(*before), b = norm_shape(*after);
  const NormGrowth& law = c.law.norm;
  bool chip_a = kind.norm == NormForm::library_on_chip, chip_b = chip_a;
  const bool cudnn = chip_a || kind.norm == NormForm::library;
  // The rule decides about the new batch only where it explains the traced kernel.
  if (cudnn && stays_on_chip(c.gpu, law, a, before->type, backward) == chip_a) {
    chip_b = stays_on_chip(c.gpu, law, b, after->type, backward);
  }
  KernelScaling s;
  s.scale = ScaleClass::norm;
  s.floor_us = law.floor_us;
  s.damping.floor_share = c.law.floor_share_matrix;
  s.damping.us = c.law.damping_us;
  s.base_us = norm_growth_us(c.gpu, law, c.law.memory, a, before->type, chip_a, backward);
  s.target_us = norm_growth_us(c.gpu, law, c.law.memory, b, after->type, chip_b, backward);
  s.switches = chip_a != chip_b;
  return s;
}

/// Few queries of many keys, as words are written one by one: there is little to compute with what
/// is read.
bool reads_a_cache(const AttentionShape& shape) {
  constexpr std::int64_t few = 16;
  return shape.queries * few <= shape.keys;
}

KernelScaling attention_scaling(const BatchChange& c, const BatchKernel& k,
                                const OpTensors& target) {
  if (is_helper(k.kernel.traits)) return memory_scaling(c, k, target);
  const OpContext context{k.op->name, k.op->tensors, k.op->arguments, k.geometry};
  const auto& g = k.geometry.grid;
  const double blocks = double(g[0]) * g[1] * g[2];
  double units = blocks;
  const auto shape = attention_shape(context);
  if (shape && reads_a_cache(*shape)) {
    KernelScaling s = affine_scaling(c, k);
    s.scale = ScaleClass::attention;
    s.floor_us = c.law.attention.cache_floor_us;
    return s;
  }
  const bool persistent = k.kernel.traits.engine == Engine::gmma;
  if (shape && persistent) units = std::max(blocks, attention_blocks(*shape));
  const auto waves = [&](double n) {
    return attention_waves(c.gpu, c.law.attention, n, persistent);
  };
  KernelScaling s;
  s.scale = ScaleClass::attention;
  s.floor_us = c.law.attention.floor_us;
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
  const double us =
      computing > 0 ? carried_us(measured_us, ModelledTime{floor_us, base_us, 1},
                                 ModelledTime{floor_us, target_us, computing}, damping.floor_share)
                    : carried_us(measured_us, floor_us, damping, base_us, target_us);
  // More work does not make a kernel faster, whatever the damping does.
  return launches * (target_us >= base_us ? std::max(us, measured_us) : std::min(us, measured_us));
}

namespace {

/// PyTorch cuts windows out of each image by a launch of its own (Im2Col.cu).
KernelScaling launch_an_image(const BatchChange& c) {
  KernelScaling s;
  s.scale = ScaleClass::affine;
  s.launches = c.ratio();
  return s;
}

KernelScaling scaling_by_family(const BatchChange& c, const BatchKernel& k,
                                const OpTensors& target) {
  if (k.op == nullptr || !k.op->has_shapes()) return affine_scaling(c, k);
  if (k.op->row->output == OutputRule::unfolded) return launch_an_image(c);
  if (const auto sums = row_sums_scaling(c, k)) return *sums;
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
  // No law says how long nothing takes: copies of no bytes, sums over empty tensors.
  if (!(s.base_us > 0 && s.target_us >= 0 && std::isfinite(s.base_us + s.target_us))) {
    s = affine_scaling(c, k);
  }
  s.recurrent = k.op != nullptr && k.op->row->kind == OpKind::recurrent;
  return s;
}

}  // namespace tandem
