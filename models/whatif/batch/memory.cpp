#include "models/whatif/batch/memory.h"

#include <algorithm>
#include <limits>

#include "models/kernel/launch_rules.h"
#include "models/kernel/work/operand_bytes.h"
#include "models/kernel/work/work.h"

namespace tandem {
namespace {

/// Of a tensor whose type the trace does not tell.
constexpr DataType usual = DataType::fp32;

bool is_index(const TensorShape& t) {
  return t.type == DataType::int64 || t.type == DataType::int32;
}

// Rows that indices pick from a table and that the kernel writes.
double gathered_bytes(const BatchOp& op, const OpTensors& tensors) {
  const auto& shapes = tensors.shapes;
  if (shapes.size() < 2 || shapes[0].rank != 2 || op.axis[0] >= 0) return 0;
  double ids = 0;
  for (std::size_t i = 1; i < shapes.size(); ++i) {
    if (op.axis[i] < 0) continue;
    if (!is_index(shapes[i])) return 0;  // the rows themselves are operands
    ids = std::max(ids, static_cast<double>(shapes[i].elements()));
  }
  return 2 * ids * static_cast<double>(shapes[0].dims[1]) * width_of(shapes[0], usual);
}

/// Bytes of an operand that the kernel can reach: of what values are written into, as many as there
/// are values, where their number is known to grow with the items.
double written_places(const BatchOp& op, const OpTensors& tensors, std::size_t operand) {
  double values = 0;
  for (std::size_t i = 0; i < tensors.shapes.size(); ++i) {
    if (i == operand || op.axis[i] < 0) continue;
    values = std::max(values, bytes_of(tensors.shapes[i], usual));
  }
  const bool table = op.row->kind == OpKind::scatter && tensors.arguments[operand] == 0;
  return table && values > 0 ? values : std::numeric_limits<double>::infinity();
}

// Layout transforms read and write tiles of 32 x 32.
double tiles_bytes(const BatchKernel& k) {
  const auto& g = k.geometry.grid;
  return 2.0 * 32 * 32 * g[0] * g[1] * g[2] * std::max(element_bytes(k.kernel.traits.data), 2);
}

// One time step of a recurrent layer. What it writes the next step finds in L2, so the values that
// it reads decide. The operands of the operation are those of all steps.
double cell_bytes(const BatchKernel& k, const OpTensors& tensors) {
  const OpContext context{k.op->name, k.op->tensors, k.op->arguments, k.geometry};
  const auto before = static_cast<double>(k.op->tensors.shapes[0].elements());
  if (before <= 0) return 0;
  const double grown = static_cast<double>(tensors.shapes[0].elements()) / before;
  return kernel_work(k.kernel, context).read_bytes * grown;
}

/// How many blocks of a launch are on the GPU at once, as far as their threads tell.
double resident_blocks(const GpuArch& gpu, const LaunchGeometry& g) {
  const std::int64_t threads = std::int64_t{g.block[0]} * g.block[1] * g.block[2];
  const std::int64_t a_sm = gpu.max_threads_per_sm / std::max<std::int64_t>(threads, 1);
  return static_cast<double>(gpu.sm_count * std::max<std::int64_t>(a_sm, 1));
}

}  // namespace

MemoryClass memory_class(const BatchKernel& k) {
  if (k.activity != ActivityKind::kernel) return MemoryClass::transfer;
  return row_of(k.kernel.traits).memory;
}

double touched_bytes(const BatchKernel& kernel, const OpTensors& tensors, bool with_fixed) {
  const BatchOp& op = *kernel.op;
  if (kernel.kernel.family == KernelFamily::rnn) return cell_bytes(kernel, tensors);
  double sum = 0, largest = 0;
  for (std::size_t i = 0; i < tensors.shapes.size(); ++i) {
    if (op.axis[i] < 0 && !with_fixed) continue;
    const TensorShape& t = tensors.shapes[i];
    const double places = written_places(op, tensors, i);
    sum += std::min(bytes_of(t, usual), places);
    largest = std::max(largest, std::min(double(t.elements()) * width_of(t, usual), places));
  }
  return with_fixed ? sum + largest : sum + gathered_bytes(op, tensors);
}

KernelScaling memory_scaling(const BatchChange& c, const BatchKernel& kernel,
                             const OpTensors& target) {
  const MemoryClass group = memory_class(kernel);
  const bool rows = group == MemoryClass::embedding;
  KernelScaling s;
  s.scale = ScaleClass::memory;
  s.floor_us = c.law.floor_us[static_cast<std::size_t>(group)];
  s.damping.floor_share = c.law.floor_share_memory;
  s.damping.us = rows ? 0 : c.law.damping_us;  // bytes say little of random accesses
  const auto time = [&](double bytes) { return cached_memory_us(c.gpu, c.law.memory, bytes); };
  if (kernel.activity != ActivityKind::kernel || group == MemoryClass::layout) {
    const double bytes = group == MemoryClass::layout ? tiles_bytes(kernel) : double(kernel.bytes);
    s.base_us = time(bytes), s.target_us = time(bytes * c.ratio());
    return s;
  }
  s.base_us = time(touched_bytes(kernel, kernel.op->tensors, !rows));
  s.target_us = time(touched_bytes(kernel, target, !rows));
  const auto& g = kernel.geometry.grid;
  const double blocks = double(g[0]) * g[1] * g[2];
  // Where each block has an SM of its own, all wait for one access.
  if (rows && blocks * std::max(1.0, c.ratio()) <= c.gpu.sm_count) {
    s.base_us = s.target_us = 1;
    return s;
  }
  // Sums over the items keep their blocks; where items have blocks of their own these run side by
  // side.
  const bool sums = kernel.kernel.traits.kind == Kind::norm_parameter_gradient;
  const double most = resident_blocks(c.gpu, kernel.geometry);
  const double before = sums ? 1 : std::min(blocks, most);
  const double after = sums ? 1 : std::clamp(blocks * c.ratio(), 1.0, most);
  const double fewest = sums ? blocks : std::min(before, after);
  if (group == MemoryClass::layer_norm && fewest < c.gpu.sm_count) {
    const auto lone = [&](const OpTensors& t) {
      return lone_blocks_time(c.gpu, c.law.memory, touched_bytes(kernel, t, true));
    };
    s.base_us = lone(kernel.op->tensors) / before, s.target_us = lone(target) / after;
    s.damping.us = 0;
  }
  if (s.base_us <= 0) s.base_us = 1, s.target_us = c.ratio();
  return s;
}

bool transforms_weights(const BatchKernel& k) {
  for (std::size_t i = 0; i < k.op->tensors.shapes.size(); ++i) {
    if (k.op->axis[i] < 0 && turns(k.geometry, k.op->tensors.shapes[i])) return true;
  }
  return false;
}

}  // namespace tandem
