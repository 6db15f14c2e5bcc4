// What the models know of a GPU: plain numbers, read from configs/gpus. No GPU is named in C++.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/device.h"
#include "sim/core/fields/provenance.h"
#include "sim/core/tensors/tensor.h"

namespace tandem {

/// Which tensor-core instruction the libraries use: 8x8x4 in 4 steps, 16x8x16, or warp-group wide.
enum class TensorFamily : std::uint8_t { hmma_884, hmma_16816, gmma };

enum class MathType : std::uint8_t { fp16, bf16, tf32, fp8, int8, fp64 };

/// One GPU. Units stand in the names: B bytes, gbps 1e9 bytes/s, cycles of the SM clock. Per-field
/// documentation is in gpu_fields.cpp and in `tandem describe gpu`.
struct GpuArch {
  // Copies and moves stand in gpu_arch.cpp: every file would compile its own, kilobytes of it.
  GpuArch();
  GpuArch(const GpuArch&);
  GpuArch(GpuArch&&) noexcept;
  GpuArch& operator=(const GpuArch&);
  GpuArch& operator=(GpuArch&&) noexcept;
  ~GpuArch();

  std::string name;  // file name without .json
  std::string display_name;
  std::vector<std::string> aliases;  // device names as drivers report them

  // Chip
  int compute_major = 0;
  int compute_minor = 0;
  int gpc_count = 0;
  std::vector<std::int64_t> cluster_group_sms;  // SMs of each group that one cluster may span
  int tpc_count = 0;
  int sm_count = 0;
  int smsp_per_sm = 0;
  double min_clock_mhz = 0;  // lowest that the driver holds; 0: not known
  double base_clock_mhz = 0;
  double boost_clock_mhz = 0;
  double tensor_clock_mhz = 0;  // held under sustained tensor-core load

  // DRAM and L2
  std::int64_t memory_bytes = 0;
  double dram_peak_gbps = 0;
  double dram_read_gbps = 0;
  double dram_copy_gbps = 0;
  double dram_loaded_latency_ns = 0;
  std::int64_t l2_bytes = 0;
  int l2_partitions = 0;
  double l2_read_gbps = 0;
  double l2_fabric_factor = 0;
  std::int64_t l2_dirty_bytes = 0;

  // L1 and shared memory, per SM
  std::int64_t unified_l1_bytes = 0;
  double l1_bytes_per_clk = 0;
  std::vector<std::int64_t> shared_carveouts_bytes;  // ascending
  std::int64_t shared_block_bytes = 0;
  std::int64_t shared_block_optin_bytes = 0;
  std::int64_t shared_reserved_bytes = 0;
  std::int64_t shared_granularity_bytes = 0;

  // Occupancy limits
  int warp_size = 0;
  int max_threads_per_block = 0;
  int max_threads_per_sm = 0;
  int max_blocks_per_sm = 0;
  int registers_per_sm = 0;
  int max_registers_per_block = 0;
  int max_registers_per_thread = 0;
  int register_granularity = 0;
  int barriers_per_sm = 0;     // 0: does not limit occupancy
  int max_cluster_blocks = 0;  // 1: no clusters

  // Execution pipes: lanes per SMSP
  int fp32_lanes = 0;
  int int32_lanes = 0;
  int fp16_lanes = 0;
  double fp64_lanes = 0;  // below one where an SM has two
  int xu_lanes = 0;
  int lsu_lanes = 0;

  // Tensor cores: dense fused multiply-adds per clock and SM; 0: not supported
  TensorFamily tensor_family = TensorFamily::hmma_884;
  double tensor_fp16_fma_per_clk = 0;
  double tensor_bf16_fma_per_clk = 0;
  double tensor_tf32_fma_per_clk = 0;
  double tensor_fp8_fma_per_clk = 0;
  double tensor_int8_fma_per_clk = 0;
  double tensor_fp64_fma_per_clk = 0;

  // Latencies
  double fp32_latency_cycles = 0;
  double fp64_latency_cycles = 0;
  double xu_latency_cycles = 0;
  double tensor_latency_cycles = 0;
  double shared_latency_cycles = 0;
  double l1_latency_cycles = 0;
  double l2_latency_cycles = 0;
  double l2_far_latency_cycles = 0;
  double dram_latency_cycles = 0;

  // Launch, links, power
  double launch_latency_us = 0;
  double kernel_gap_us = 0;
  double stream_kernel_period_us = 0;
  double graph_kernel_period_us = 0;
  double pcie_peak_gbps = 0;
  double pcie_copy_gbps = 0;
  double nvlink_gbps = 0;
  int nvlink_gpus = 0;
  double tdp_w = 0;
  double idle_w = 0;

  std::vector<Provenance> origins;  // parallel to gpu_fields(); see origin()
};

/// Warps an SM can hold.
inline int max_warps_per_sm(const GpuArch& gpu) { return gpu.max_threads_per_sm / gpu.warp_size; }
inline int smsp_count(const GpuArch& gpu) { return gpu.sm_count * gpu.smsp_per_sm; }
/// Shared memory of an SM at the largest carve-out, bytes.
inline std::int64_t max_shared_bytes(const GpuArch& gpu) {
  return gpu.shared_carveouts_bytes.back();
}
/// FP32 FMA per clock and SM outside the tensor cores.
inline double fp32_fma_per_clk(const GpuArch& gpu) {
  return static_cast<double>(gpu.fp32_lanes) * gpu.smsp_per_sm;
}
/// What tensor cores compute elements of this type in; `otherwise` where they have no type of that
/// name (FP32, or nobody knows).
MathType math_type(DataType type, MathType otherwise = MathType::tf32);
/// Dense tensor-core FMA per clock and SM; 0 where the type is not supported.
double tensor_fma_per_clk(const GpuArch& gpu, MathType type);
/// Dense tensor-core peak at `clock_mhz`, TFLOP/s (one FMA is two FLOP).
double tensor_peak_tflops(const GpuArch& gpu, MathType type, double clock_mhz);
/// FP32 peak outside the tensor cores at `clock_mhz`, TFLOP/s.
double fp32_peak_tflops(const GpuArch& gpu, double clock_mhz);
/// Origin of the value called `name`, e.g. "l2_bytes".
/// Errors: InputError for an unknown name, listing the known ones.
const Provenance& origin(const GpuArch& gpu, std::string_view name);

}  // namespace tandem
