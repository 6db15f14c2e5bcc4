#include "models/kernel/time/kernel_time.h"

#include <limits>

#include "models/kernel/time/attention.h"
#include "models/kernel/time/parts.h"
#include "models/ops/op_table.h"

namespace tandem {

using time_parts::Machine;
using time_parts::math_rate;
using time_parts::overlap_4;
using time_parts::stream_us;
using time_parts::streaming_time;

namespace {

double work_bytes(const KernelLaunch& launch) {
  const double stated = launch.work.read_bytes + launch.work.write_bytes;
  if (stated > 0) return stated;
  double bytes = 0;
  for (const TensorShape& t : launch.tensors) {
    bytes += static_cast<double>(t.elements()) /
             static_cast<double>(std::max<std::int64_t>(t.expanded, 1)) * element_bytes(t.type);
  }
  return bytes;
}

/// Batch norm reads two of its three tensors, forward or backward, a second time.
constexpr double second_read_share = 2.0 / 3.0;

double blocks_of(const LaunchGeometry& g) {
  return static_cast<double>(g.grid[0]) * g.grid[1] * g.grid[2];
}

/// The library names C's columns first, a GemmShape its rows.
GemmShape gemm_shape(const KernelLaunch& launch, DataType type) {
  const MatrixProblem& p = launch.work.matrix;
  GemmShape s;
  s.m = p.n;
  s.n = p.m;
  s.k = p.k;
  s.batch = p.batch;
  s.type = type;
  s.a_k_major = launch.traits.b_k_major;
  s.b_k_major = launch.traits.a_k_major;
  return s;
}

/// Pixels of one result image, from the product that the kernel computes.
double out_pixels(const KernelLaunch& launch, double images) {
  const MatrixProblem& p = launch.work.matrix;
  if (launch.traits.pass != Pass::forward) return 0;
  if (!launch.traits.library_gemm) return static_cast<double>(p.m) / images;
  return static_cast<double>(p.batch > 1 ? p.m : std::max(p.m, p.n)) / (p.batch > 1 ? 1.0 : images);
}

/// The layer behind a convolution kernel, from the operands of its operation; nothing if they are
/// not recorded, or if the layer has groups.
std::optional<ConvLayer> conv_layer(const KernelLaunch& launch, DataType type) {
  const bool backward = op_row(launch.op).backward;
  const std::size_t first = backward ? 1 : 0;
  if (launch.tensors.size() < first + 2 || launch.work.matrix.batch == 0) return {};
  const TensorShape& image = launch.tensors[first];
  const TensorShape& weight = launch.tensors[first + 1];
  if (image.rank != image_rank || weight.rank != image_rank || image.dims[1] != weight.dims[1])
    return {};
  ConvLayer s;
  s.batch = image.dims[0];
  s.in_channels = image.dims[1];
  s.out_channels = weight.dims[0];
  s.height = image.dims[2];
  s.width = image.dims[3];
  s.kernel_h = static_cast<int>(weight.dims[2]);
  s.kernel_w = static_cast<int>(weight.dims[3]);
  s.type = type;
  s.pass = launch.traits.pass;
  double height = static_cast<double>(s.height);
  double width = static_cast<double>(s.width);
  if (backward && launch.tensors[0].rank == image_rank) {
    height = static_cast<double>(launch.tensors[0].dims[2]);
    width = static_cast<double>(launch.tensors[0].dims[3]);
  } else if (const double pixels = out_pixels(launch, static_cast<double>(s.batch)); pixels > 0) {
    const double shrink = std::sqrt(pixels / (height * width));
    height = std::max(1.0, std::round(height * shrink));
    width = std::max(1.0, std::round(width * shrink));
  }
  set_strides(s, static_cast<std::int64_t>(height), static_cast<std::int64_t>(width));
  return s;
}

/// The rows of the first operand, which are normalised over its last dimension.
RowShape row_shape(const KernelLaunch& launch) {
  if (launch.tensors.empty() || launch.tensors[0].rank == 0) return {};
  const TensorShape& t = launch.tensors[0];
  const DataType type = element_bytes(t.type) > 0 ? t.type : launch.traits.data;
  const std::int64_t columns = t.dims[t.rank - 1U];
  if (columns <= 0 || element_bytes(type) == 0) return {};
  return {t.elements() / columns, columns, type};
}

/// The operation behind a main kernel of fused attention, from the products that it computes.
AttentionShape attention_of(const MatrixProblem& p, DataType data, bool backward) {
  AttentionShape s;
  s.heads = p.batch / attention_products(backward);
  s.queries = p.m, s.keys = p.n, s.width = p.k;
  s.causal = p.causal;
  s.drops_out = p.drops_out;
  s.mask_elements = static_cast<std::int64_t>(p.mask_bytes / std::max(element_bytes(data), 1));
  return s;
}

KernelTime fused_attention_time(const GpuArch& gpu, const TimedLaunch& launch,
                                const TimeConstants& constants, double error) {
  const AttentionTime time =
      attention_time(gpu, constants, launch.attention, launch.type, launch.backward);
  KernelTime out;
  out.time_us = time.us;
  out.bound = time.waits_for_memory ? Bound::memory : Bound::compute;
  out.confidence = 1 - error;
  return out;
}

/// Multiply-adds of a product, else thread instructions, that all SMs do per us.
double throughput_rate(const Machine& m, const TimedLaunch& launch) {
  if (!launch.product) return m.sms * m.gpu.smsp_per_sm * m.gpu.warp_size * m.clk;
  const auto rate = math_rate(m.gpu, launch.type);
  const double share = rate.tensor ? m.generation.tensor_rate : m.generation.simt_128x128;
  return m.sms * rate.fma_per_clk * share * m.clk;
}

/// A block a channel: statistics first, then the channel again. A channel that does not stay on the
/// SM comes from L2 or DRAM the second time. Each block keeps a fixed number of bytes in flight, so
/// few blocks cannot use the DRAM (Little's law).
KernelTime channels_time(const Machine& m, double bytes, double blocks) {
  const double resident = std::min(blocks, m.sms);
  const double channel = bytes / blocks;
  const double on_chip = static_cast<double>(m.gpu.shared_block_optin_bytes) / 2;
  const double again = channel > on_chip ? bytes * second_read_share : 0;
  const double missed = l2_missed(m.gpu, resident * channel * m.shared.l2_reuse_share);
  const double stream = stream_us(m, bytes) + again * missed / m.dram;
  const double rate =
      resident * m.shared.block_bytes_in_flight / (m.gpu.dram_loaded_latency_ns * 1e-3);
  const double tail = blocks > m.sms ? std::ceil(blocks / m.sms) * m.sms / blocks : 1;
  const double wait = (bytes + again) / rate * tail;
  KernelTime out;
  out.time_us = m.start_us + overlap_4(stream, wait);
  out.bound = std::max(stream, wait) < m.start_us ? Bound::launch
              : stream > wait                     ? Bound::memory
                                                  : Bound::latency;
  out.confidence = 1 - m.generation.error_rows;
  return out;
}

/// Little's law: what the resident threads keep under way bounds the rate at which the bytes arrive
/// that L2 does not hold.
KernelTime with_warps(const Machine& m, const TimedLaunch& launch, KernelTime time) {
  if (launch.warps_per_sm == 0) return time;
  const double under_way =
      m.sms * launch.warps_per_sm * m.gpu.warp_size * m.shared.thread_bytes_in_flight;
  const double missed = launch.bytes * (1 - time_parts::l2_survival(m, launch.bytes));
  const double wait = missed / under_way * m.gpu.dram_loaded_latency_ns * 1e-3;
  if (m.start_us + wait <= time.time_us) return time;
  time.time_us = m.start_us + wait;
  time.bound = Bound::latency;
  return time;
}

/// Of operands and result, each once.
double moved_bytes(const TimedLaunch& launch) {
  if (launch.bytes > 0 || launch.law != TimeLaw::matrix) return launch.bytes;
  const GemmShape& g = launch.gemm;
  const auto m = static_cast<double>(g.m);
  const auto n = static_cast<double>(g.n);
  const auto k = static_cast<double>(g.k);
  return static_cast<double>(g.batch) * (m * k + k * n + m * n) * element_bytes(g.type);
}

/// Thread instructions of a launch of which only the bytes are known: one a byte.
double counted_us(const Machine& m, const TimedLaunch& launch) {
  return std::max(launch.bytes, 1.0) / throughput_rate(m, launch);
}

}  // namespace

bool explains(const TimedLaunch& launch, const KernelTime& time, double traced_us) {
  constexpr double least_share = 0.5;
  const bool states_bound = launch.law == TimeLaw::matrix || launch.law == TimeLaw::convolution ||
                            launch.law == TimeLaw::attention || launch.law == TimeLaw::memory ||
                            launch.law == TimeLaw::layer_norm || launch.law == TimeLaw::softmax ||
                            launch.law == TimeLaw::channels;
  return states_bound && time.confidence > 0 && time.time_us >= least_share * traced_us;
}

TimedLaunch timed_launch(const KernelLaunch& launch, double bytes_hint) {
  TimedLaunch out;
  out.type = launch.math != DataType::unknown ? launch.math : launch.traits.data;
  out.bytes = work_bytes(launch) > 0 ? work_bytes(launch) : bytes_hint;
  // What one update has left in L2 is no other's: each has tensors of its own.
  out.cold = row_of(launch.traits).work == WorkRule::update;
  out.blocks = blocks_of(launch.geometry);
  out.law = row_of(launch.traits).time;
  if (out.law == TimeLaw::layer_norm || out.law == TimeLaw::softmax) {
    out.rows = row_shape(launch);
    if (out.rows.rows == 0) out.law = TimeLaw::memory;
  }
  const MatrixProblem& p = launch.work.matrix;
  if (out.law == TimeLaw::matrix) {
    const bool product = p.batch > 0 && p.m > 0 && p.n > 0 && p.k > 0;
    out.gemm = gemm_shape(launch, out.type);
    if (!product) out.law = TimeLaw::throughput;
    out.product = !product;
    if (product && launch.family == KernelFamily::convolution) {
      if (const auto layer = conv_layer(launch, out.type)) {
        out.law = TimeLaw::convolution;
        out.conv = *layer;
      }
    }
    if (product && launch.family == KernelFamily::attention) {
      out.law = TimeLaw::attention;
      out.backward = row_of(launch.traits).direction == Direction::backward;
      out.attention = attention_of(p, launch.traits.data, out.backward);
    }
  }
  if (out.law == TimeLaw::channels && !(out.bytes > 0 && out.blocks > 0)) out.law = TimeLaw::memory;
  return out;
}

KernelTime kernel_time(const TimedLaunch& launch, const GpuArch& gpu,
                       const TimeConstants& constants, const TimeContext& asked) {
  TimeContext context = asked;
  if (launch.cold) context.cache = CacheState::cold;
  const Machine m(gpu, constants, context);
  KernelTime out;
  switch (launch.law) {
    case TimeLaw::matrix: return gemm_time(gpu, launch.gemm, constants, context);
    case TimeLaw::convolution: return conv_time(gpu, launch.conv, constants, context);
    case TimeLaw::attention:
      return fused_attention_time(gpu, launch, constants,
                                  multiply_engine(gpu, launch.type) == Engine::simt
                                      ? m.generation.error_simt_gemm
                                      : m.generation.error_tensor_gemm);
    case TimeLaw::memory:
      if (launch.bytes <= 0) break;
      return with_warps(m, launch, streaming_time(m, launch.bytes));
    case TimeLaw::layer_norm: return layer_norm_time(gpu, launch.rows, constants, context);
    case TimeLaw::softmax: return softmax_time(gpu, launch.rows, constants, context);
    case TimeLaw::channels: return channels_time(m, launch.bytes, launch.blocks);
    case TimeLaw::throughput:
      // Only ratios between GPUs are of use: one instruction a byte.
      out.time_us = m.start_us + counted_us(m, launch);
      out.bound = Bound::compute;
      out.confidence = 1 - m.generation.error_rows;
      return out;
    case TimeLaw::latency:
      out.time_us = m.start_us + gpu.l2_latency_cycles / gpu.boost_clock_mhz;
      out.bound = Bound::latency;
      out.confidence = 0.5;
      return out;
    case TimeLaw::link:
      if (launch.bytes <= 0) break;
      out.time_us = m.start_us + launch.bytes / (gpu.pcie_copy_gbps * 1e3);
      out.bound = Bound::memory;
      out.confidence = 1 - m.generation.error_rows;
      return out;
    case TimeLaw::none: break;
  }
  out.confidence = 0;
  return out;
}

double moving_us(const TimedLaunch& launch, const GpuArch& gpu, const TimeConstants& constants) {
  const TimeContext context;
  const Machine m(gpu, constants, context);
  switch (launch.law) {
    case TimeLaw::none:
    case TimeLaw::latency: return 0;
    // Few threads under way stretch what the bytes take.
    case TimeLaw::memory:
    case TimeLaw::link: {
      const KernelTime time = kernel_time(launch, gpu, constants);
      return time.confidence > 0 ? time.time_us - m.start_us : 0;
    }
    default: return stream_us(m, moved_bytes(launch));
  }
}

double rest_us(const TimedLaunch& launch, const GpuArch& without_dram,
               const TimeConstants& constants) {
  const TimeContext context;
  const Machine m(without_dram, constants, context);
  if (launch.law == TimeLaw::link) return 0;
  if (launch.law == TimeLaw::memory) return counted_us(m, launch);
  const KernelTime time = kernel_time(launch, without_dram, constants);
  return time.confidence > 0 ? time.time_us - m.start_us : 0;
}

ModelledTime modelled_time(const TimedLaunch& launch, const GpuArch& gpu,
                           const GpuArch& gpu_without_dram, const TimeConstants& constants) {
  return {gpu.graph_kernel_period_us, moving_us(launch, gpu, constants),
          rest_us(launch, gpu_without_dram, constants)};
}

double least_product_us(const KernelLaunch& launch, const GpuArch& gpu, DataType type) {
  if (launch.family != KernelFamily::gemm || row_of(launch.traits).time != TimeLaw::matrix)
    return 0;
  const MatrixProblem& p = launch.work.matrix;
  const double fma = static_cast<double>(p.batch) * static_cast<double>(p.m) *
                     static_cast<double>(p.n) * static_cast<double>(p.k);
  const double tflops = multiply_engine(gpu, type) != Engine::simt
                            ? tensor_peak_tflops(gpu, math_type(type), gpu.boost_clock_mhz)
                            : fp32_peak_tflops(gpu, gpu.boost_clock_mhz);
  return 2 * fma / (tflops * 1e6);
}

GpuArch without_dram(GpuArch gpu) {
  gpu.dram_peak_gbps = gpu.dram_read_gbps = std::numeric_limits<double>::infinity();
  return gpu;
}

}  // namespace tandem
