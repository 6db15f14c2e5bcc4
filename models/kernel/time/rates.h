// Time of work at a stated share of one of the GPU's peaks: what laws without tiles are made of.
#pragma once

#include <string>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "sim/core/fields/json_fwd.h"
#include "sim/core/tensors/tensor.h"

namespace tandem {

/// `bytes` at a share of the DRAM's peak.
inline double dram_us(const GpuArch& gpu, double bytes, double share) {
  return bytes / (share * gpu.dram_peak_gbps * 1e3);
}

/// What streams its bytes once: a launch floor, then a share of the DRAM's peak.
struct FloorAndShare {
  double floor_us = 0;
  double dram_share = 0;
};
inline double streamed_us(const GpuArch& gpu, const FloorAndShare& rate, double bytes) {
  return rate.floor_us + dram_us(gpu, bytes, rate.dram_share);
}
/// Keys NAME_floor_us and NAME_dram_share.
std::vector<Field<FloorAndShare>> floor_and_share_fields(const std::string& name,
                                                         const std::string& floor_doc,
                                                         const std::string& share_doc);

/// `bytes` at the rate of copies, read and written together.
inline double copied_us(const GpuArch& gpu, double bytes) {
  return bytes / (gpu.dram_copy_gbps * 1e3);
}

/// Cycles of one SM, shared by all.
inline double all_sms_us(const GpuArch& gpu, double sm_cycles) {
  return sm_cycles / (gpu.sm_count * gpu.boost_clock_mhz);
}

/// Arithmetic that keeps the FP32 lanes of the whole GPU busy for so many cycles.
inline double lane_us(const GpuArch& gpu, double lane_cycles) {
  const double lanes = double(gpu.sm_count) * gpu.smsp_per_sm * gpu.fp32_lanes;
  return lane_cycles / (lanes * gpu.boost_clock_mhz);
}

/// Instructions of all pipes, one a cycle for each lane of the issue slots of the whole GPU.
inline double issue_us(const GpuArch& gpu, double instructions) {
  return instructions / (double(smsp_count(gpu)) * gpu.warp_size * gpu.boost_clock_mhz);
}

/// `flops` at a share of the tensor cores' peak at the boost clock; types but FP16 and BF16 run as
/// TF32.
inline double tensor_us(const GpuArch& gpu, double flops, DataType type, double share) {
  const double fma = type == DataType::fp16   ? gpu.tensor_fp16_fma_per_clk
                     : type == DataType::bf16 ? gpu.tensor_bf16_fma_per_clk
                                              : gpu.tensor_tf32_fma_per_clk;
  const double peak = 2 * fma * gpu.sm_count * (gpu.boost_clock_mhz * 1e6);
  return flops / (share * peak) * 1e6;
}

}  // namespace tandem
