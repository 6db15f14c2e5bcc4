#include "models/whatif/batch/reduction.h"

#include <algorithm>

#include "models/kernel/launch_rules.h"
#include "models/whatif/batch/memory.h"

namespace tandem {
namespace {

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
  return blocks_sharing_result(values, outputs, slots);
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

namespace {

/// Rows and columns of what a norm's backward pass reads; nothing of other operations.
struct NormRows {
  double rows = 0, columns = 0;
};
std::optional<NormRows> norm_rows(const BatchOp& op, const OpTensors& tensors) {
  if (op.row->kind != OpKind::row_norm_backward) return {};
  const TensorShape* input = tensors.at(op.row->arguments.at(ArgumentName::input));
  const TensorShape* scale = tensors.at(op.row->arguments.at(ArgumentName::weight));
  if (input == nullptr || scale == nullptr || scale->elements() <= 0) return {};
  const auto columns = static_cast<double>(scale->elements());
  return NormRows{static_cast<double>(input->elements()) / columns, columns};
}

bool in_parts(const BatchChange& c, const NormRows& n) {
  return sums_rows_in_parts(c.gpu, n.rows, n.columns);
}

}  // namespace

std::optional<KernelScaling> row_sums_scaling(const BatchChange& c, const BatchKernel& k) {
  const bool adds_parts = k.kernel.family == KernelFamily::reduction && k.around != nullptr;
  const BatchOp* norm = adds_parts ? k.around : k.op;
  if (norm == nullptr || (!adds_parts && k.kernel.traits.kind != Kind::norm_parameter_gradient)) {
    return {};
  }
  const auto before = norm_rows(*norm, norm->tensors);
  if (!before) return {};
  const auto after = norm_rows(*norm, resize(*norm, c.base, c.batch));
  if (!after || in_parts(c, *before) == in_parts(c, *after)) return {};
  const bool traced_in_parts = adds_parts || k.geometry.grid[1] > 1;
  if (traced_in_parts != in_parts(c, *before)) return {};
  KernelScaling s;
  s.scale = ScaleClass::reduction;
  s.floor_us = c.law.floor_us[static_cast<std::size_t>(MemoryClass::layer_norm)];
  s.damping.floor_share = c.law.floor_share_memory;
  s.switches = true;
  s.launches = adds_parts ? 0 : 1;  // parts that are there no longer
  const auto us = [&](const NormRows& n) {
    return row_sums_us(c.gpu, c.law.row_sums, c.law.memory, n.rows, n.columns);
  };
  s.base_us = us(*before), s.target_us = us(*after);
  if (!traced_in_parts) s.target_us += c.law.row_sums.parts_us;
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
