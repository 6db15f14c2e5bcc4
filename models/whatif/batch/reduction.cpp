#include "models/whatif/batch/reduction.h"

#include <algorithm>

#include "models/kernel/work/layer_products.h"
#include "models/whatif/batch/memory.h"

namespace tandem {
namespace {

// PyTorch's rule (ATen/native/cuda/Reduce.cuh).
constexpr std::int64_t least_values_per_thread = 16;
constexpr std::int64_t most_values_per_thread = 256;

// Which dimensions of operand 0 a reduction removes; all of them where the argument is empty.
struct Reduction {
  bool over_batch = false;
  bool innermost = false;  // also the last dimension: threads along x add up, too
  std::int64_t inputs = 1;
};
Reduction reduction_of(const BatchKernel& k, const OpTensors& tensors) {
  Reduction r;
  const TensorShape* t = tensors.at(0);
  if (t == nullptr || k.op->axis[0] < 0) return r;
  const auto listed = k.op->arguments.size() > 1 ? integers_of(k.op->arguments[1])
                                                 : std::span<const std::int64_t>{};
  std::vector<std::int64_t> dims(listed.begin(), listed.end());
  if (dims.empty()) {
    for (int i = 0; i < t->rank; ++i) dims.push_back(i);
  }
  for (std::int64_t d : dims) {
    if (d < 0) d += t->rank;
    if (d < 0 || d >= t->rank) continue;
    r.inputs *= t->dims[static_cast<std::size_t>(d)];
    r.over_batch = r.over_batch || d == k.op->axis[0];
    r.innermost = r.innermost || d == t->rank - 1;
  }
  return r;
}

std::int64_t threads_per_output(const BatchKernel& k, const Reduction& r) {
  const auto& block = k.geometry.block;
  return std::int64_t{block[1]} * (r.innermost ? block[0] : 1);
}

}  // namespace

std::int64_t blocks_per_output(const BatchChange& c, const BatchKernel& k,
                               const OpTensors& tensors) {
  const Reduction r = reduction_of(k, tensors);
  if (!r.over_batch || row_of(k.kernel.traits).work != WorkRule::reduction) return 0;
  const std::int64_t values = ceil_div(r.inputs, threads_per_output(k, r));
  const std::int64_t threads = std::int64_t{k.geometry.block[0]} * k.geometry.block[1];
  const std::int64_t slots =
      c.gpu.sm_count * (c.gpu.max_threads_per_sm / std::max<std::int64_t>(threads, 1));
  const std::int64_t outputs = std::max<std::int64_t>(k.geometry.grid[0], 1);
  if (values < most_values_per_thread || outputs > slots) return 1;
  return std::max(std::min(ceil_div(slots, outputs), ceil_div(values, least_values_per_thread)),
                  ceil_div(values, most_values_per_thread));
}

namespace {

double reduction_us(const BatchChange& c, const BatchKernel& k, const OpTensors& tensors,
                    std::int64_t blocks) {
  const Reduction r = reduction_of(k, tensors);
  ColumnSum work;
  work.inputs = static_cast<double>(r.inputs);
  work.threads = static_cast<double>(threads_per_output(k, r));
  work.blocks = static_cast<double>(blocks);
  work.bytes = touched_bytes(k, tensors, true) / 2;  // the result is small
  return column_sum_us(c.gpu, c.law.columns, c.law.memory, work);
}

}  // namespace

KernelScaling reduction_scaling(const BatchChange& c, const BatchKernel& k,
                                const OpTensors& target) {
  const std::int64_t blocks = blocks_per_output(c, k, k.op->tensors);
  KernelScaling s = memory_scaling(c, k, target);
  if (blocks == 0) return s;
  s.scale = ScaleClass::reduction;
  s.base_us = reduction_us(c, k, k.op->tensors, std::max<std::int64_t>(k.geometry.grid[1], 1));
  s.target_us = reduction_us(c, k, target, blocks_per_output(c, k, target));
  return s;
}

KernelScaling embedding_scaling(const BatchChange& c, const BatchKernel& k,
                                const OpTensors& target) {
  const TensorShape* before = k.op->tensors.at(1);
  const TensorShape* after = target.at(1);
  KernelScaling s = memory_scaling(c, k, target);
  if (before == nullptr || after == nullptr) return s;
  const auto a = static_cast<double>(before->elements()),
             b = static_cast<double>(after->elements());
  s.scale = ScaleClass::embedding;
  s.damping.us = 0;
  s.base_us = embedding_gradient_us(c.law.embedding, a);
  s.target_us = embedding_gradient_us(c.law.embedding, b);
  s.switches = sorts_tokens(a) != sorts_tokens(b);
  return s;
}

}  // namespace tandem
