#include "models/whatif/batch/reduction.h"

#include <algorithm>
#include <set>

#include "models/kernel/launch_rules.h"
#include "models/whatif/batch/memory.h"

namespace tandem {
namespace {

/// The sizes of a sum over dimensions of operand 0, over all of them where the argument is empty.
/// Nothing of kernels that are no sums of the framework.
std::optional<SumSizes> sizes_of(const BatchKernel& k, const OpTensors& tensors) {
  const TensorShape* t = tensors.at(0);
  if (t == nullptr || t->elements() < 1) return {};
  if (row_of(k.kernel.traits).work != WorkRule::reduction) return {};
  const auto listed = k.op->arguments.size() > 1 ? integers_of(k.op->arguments[1])
                                                 : std::span<const std::int64_t>{};
  if (listed.empty()) return SumSizes{1, t->elements(), SumForm::rows, true};
  SumSizes s;
  std::set<std::int64_t> added;
  for (const std::int64_t number : listed) {
    const std::int64_t d = from_front(number, t->rank);
    if (d < 0 || d >= t->rank || !added.insert(d).second) continue;
    s.inputs *= t->dims[static_cast<std::size_t>(d)];
  }
  s.results = t->elements() / s.inputs;
  const bool together = !added.empty() && *added.begin() + std::int64_t(added.size()) == t->rank;
  if (added.count(t->rank - 1) == 0) {
    s.form = SumForm::columns;
  } else if (!together) {
    s.form = SumForm::pieces;
  }
  return s;
}

bool explains(const SumGrid& grid, const LaunchGeometry& traced) {
  return grid.blocks == traced.grid[0] && grid.parts == traced.grid[1];
}

/// The same sum at both batches, as the framework cuts it.
struct TwoSums {
  SumGrid base, target;
};
/// Nothing where the framework's rule does not explain the traced launch.
std::optional<TwoSums> sums_of(const BatchChange& c, const BatchKernel& k,
                               const OpTensors& target) {
  const auto before = sizes_of(k, k.op->tensors), after = sizes_of(k, target);
  if (!before || !after) return {};
  const TwoSums sums{sum_grid(*before, c.gpu), sum_grid(*after, c.gpu)};
  if (!explains(sums.base, k.geometry)) return {};
  return sums;
}

}  // namespace

std::optional<SumGrid> resized_sum(const BatchChange& c, const BatchKernel& k,
                                   const OpTensors& target) {
  const auto sums = sums_of(c, k, target);
  return sums ? std::optional(sums->target) : std::nullopt;
}

KernelScaling reduction_scaling(const BatchChange& c, const BatchKernel& k,
                                const OpTensors& target) {
  KernelScaling s = memory_scaling(c, k, target);
  const auto sums = sums_of(c, k, target);
  if (!sums) return s;
  s.scale = ScaleClass::reduction;
  const auto time = [&](const OpTensors& tensors, const SumGrid& grid) {
    const double bytes = touched_bytes(k, tensors, true) / 2;  // the result is small
    return cached_memory_us(c.gpu, c.law.memory, bytes) + sum_waiting_us(c.gpu, c.law.sums, grid);
  };
  s.base_us = time(k.op->tensors, sums->base);
  s.target_us = time(target, sums->target);
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
