// Kernels bound by memory: pointwise, layer norm, softmax.
#include "models/kernel/launch_rules.h"
#include "models/kernel/time/parts.h"

namespace tandem {

using time_parts::l2_survival;
using time_parts::Machine;
using time_parts::overlap_2;
using time_parts::overlap_4;
using time_parts::stream_us;

namespace {

constexpr double vector_bytes = 16;  // that a thread loads at once

// What a kernel that normalises rows does; one block or warp a row.
struct RowKernel {
  double threads = 128;     // of a row
  double rows_per_sm = 12;  // resident at once
  double rereads = 1;       // of the row after the first read
  double instructions = 0;  // warp instructions a row
  double steps = 0;         // loads of a thread that wait for each other
  double write_waste = 1;
};

// Share of a row that is no longer in L1, and then no longer in L2, when its block reads it again.
// Both caches replace about at random; between the reads the other resident rows pass through.
double reread_misses(const Machine& m, const RowKernel& kernel, double row_bytes) {
  const double l1 = kernel.rows_per_sm * row_bytes / static_cast<double>(m.gpu.unified_l1_bytes);
  const double between = kernel.rows_per_sm * m.sms * 2 * row_bytes * m.shared.l2_reuse_share;
  return std::min(1.0, l1) * l2_missed(m.gpu, between);
}

// Rows pass in waves; a block's steps wait for each other, its instructions share the issue slots.
KernelTime row_time(const Machine& m, const RowShape& shape, const RowKernel& kernel,
                    bool in_step) {
  const double rows = static_cast<double>(shape.rows);
  const double row_bytes = static_cast<double>(shape.columns) * element_bytes(shape.type);
  const double bytes = rows * row_bytes;
  const double kept = l2_survival(m, 2 * bytes);
  const double moved = bytes * ((1 + kernel.write_waste) * (1 - kept) +
                                kernel.rereads * reread_misses(m, kernel, row_bytes));
  const double memory = std::max(moved / m.dram, 2 * bytes / m.l2);
  const double issue = rows * kernel.instructions / (m.sms * m.gpu.smsp_per_sm * m.clk);
  const double waves = rows / (m.sms * kernel.rows_per_sm);
  const double life =
      kernel.steps * m.shared.row_load_latencies * m.gpu.dram_loaded_latency_ns / 1e3 +
      kernel.instructions * lanes_per_warp / kernel.threads * m.shared.warp_cycles_per_instruction /
          m.clk;
  const double latency = std::ceil(waves) * life;
  KernelTime out;
  out.time_us = m.start_us +
                (in_step ? overlap_2(overlap_2(memory, issue), latency) : overlap_4(memory, issue));
  out.bound = memory >= std::max(issue, latency) ? Bound::memory
              : issue >= latency                 ? Bound::compute
                                                 : Bound::latency;
  out.grid_x = shape.rows;
  out.grid_y = out.grid_z = 1;
  out.waves = waves;
  out.confidence = 1 - m.generation.error_rows;
  return out;
}

// vectorized_layer_norm_kernel: 128 threads a row, 39 registers; mean and variance, then the row
// again.
RowKernel layer_norm_kernel(const Machine& m, double columns, double bytes) {
  RowKernel k;
  const double loads = columns * bytes / (vector_bytes * k.threads);
  k.steps = std::ceil(loads);
  k.instructions = k.threads / lanes_per_warp *
                   (m.shared.norm_warp_instructions + m.shared.norm_step_instructions * loads);
  return k;
}

// Up to `columns` a warp keeps its row in registers, padded to a power of two.
RowKernel softmax_warp_kernel(const Machine& m, double columns, double bytes) {
  RowKernel k;
  const double padded = std::exp2(std::ceil(std::log2(std::max<double>(columns, lanes_per_warp))));
  k.threads = lanes_per_warp;
  k.rows_per_sm = 40;
  k.rereads = 0;
  k.steps = 1;
  k.instructions = m.shared.softmax_warp_instructions +
                   m.shared.softmax_element_instructions * padded / lanes_per_warp;
  // A warp stores a sector's row ends apart from its neighbours'.
  const bool whole = std::fmod(columns * bytes, 32) == 0;
  k.write_waste = whole ? 1 : m.generation.partial_write;
  return k;
}

// cunn_SoftMaxForward: the largest power of two of threads below a quarter of what the loads need;
// maximum, sum and result each read the row.
RowKernel softmax_block_kernel(const Machine& m, double columns, double bytes) {
  RowKernel k;
  const double vector = vector_bytes / bytes;
  k.threads = lanes_per_warp;
  while (k.threads < std::min(columns / vector, 1024.0) / 2) k.threads *= 2;
  k.rows_per_sm = m.gpu.max_threads_per_sm / k.threads;
  k.rereads = 2;
  k.instructions = k.threads / lanes_per_warp * m.shared.softmax_warp_instructions +
                   m.shared.softmax_element_instructions * columns / lanes_per_warp;
  k.steps = 3 * std::ceil(columns / (vector * k.threads));
  return k;
}

}  // namespace

KernelTime time_parts::streaming_time(const Machine& m, double bytes, double issue_us) {
  const double memory = stream_us(m, bytes);
  const double us = issue_us > 0 ? overlap_4(memory, issue_us) : memory;
  KernelTime out;
  out.time_us = m.start_us + us;
  out.bound = us < m.start_us ? Bound::launch : issue_us > memory ? Bound::compute : Bound::memory;
  out.confidence = 1 - m.generation.error_pointwise;
  return out;
}

KernelTime pointwise_time(const GpuArch& gpu, const PointwiseShape& shape,
                          const TimeConstants& constants, const TimeContext& context) {
  const Machine m(gpu, constants, context);
  const double bytes = static_cast<double>(shape.elements) * element_bytes(shape.type) *
                       (shape.reads + shape.writes);
  const double issue = static_cast<double>(shape.elements) * shape.instructions /
                       (m.gpu.warp_size * m.sms * m.gpu.smsp_per_sm * m.clk);
  return time_parts::streaming_time(m, bytes, issue);
}

KernelTime layer_norm_time(const GpuArch& gpu, const RowShape& shape,
                           const TimeConstants& constants, const TimeContext& context) {
  const Machine m(gpu, constants, context);
  const RowKernel kernel =
      layer_norm_kernel(m, static_cast<double>(shape.columns), element_bytes(shape.type));
  return row_time(m, shape, kernel, true);
}

KernelTime softmax_time(const GpuArch& gpu, const RowShape& shape, const TimeConstants& constants,
                        const TimeContext& context) {
  const Machine m(gpu, constants, context);
  const double columns = static_cast<double>(shape.columns);
  const double bytes = element_bytes(shape.type);
  const bool warp = columns <= softmax_warp_columns;
  const RowKernel kernel =
      warp ? softmax_warp_kernel(m, columns, bytes) : softmax_block_kernel(m, columns, bytes);
  return row_time(m, shape, kernel, !warp);
}

}  // namespace tandem
