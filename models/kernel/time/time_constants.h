// Constants of the kernel-time model, read from configs/kernels/time.json.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/time/attention.h"
#include "models/kernel/time/batched.h"
#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// What differs between generations of GPUs and of the libraries that serve them. Efficiencies are
/// relative to the peak at the boost clock. Documentation: time_constants.cpp.
struct TimeGeneration {
  int compute_major = 0;
  int compute_minor = 0;

  // FP32 products outside the tensor cores: FMA issued over peak, by tile
  double simt_128x128 = 0;
  double simt_128x64 = 0;
  double simt_128x32 = 0;
  double simt_64x64 = 0;
  double simt_64x32 = 0;
  double simt_32x32 = 0;
  double simt_lone_cycles = 0;
  double simt_lone_cycles_2_warps = 0;
  double simt_wave_packing = 0;
  double simt_packed_blocks = 0;
  double fp32_fma_pj = 0;

  // Convolution without tensor cores
  double winograd_fused = 0;
  double winograd_fused_images = 1;
  double implicit_gemm = 0;

  // DRAM accesses in pieces
  double fetch_waste = 0;
  double fetch_half_bytes = 0;
  double partial_write = 0;

  // Tensor cores
  double tensor_rate = 0;
  double tensor_operand_bytes_per_clk = 0;
  double tensor_misaligned = 0;
  double tma_start_us = 0;

  // Mean relative error on rows that no constant was fitted on; confidence is one less this
  double error_simt_gemm = 0;
  double error_tensor_gemm = 0;
  double error_pointwise = 0;
  double error_rows = 0;
  double error_conv = 0;

  std::vector<Provenance> origins;  // parallel to time_generation_fields()
};

/// What all GPUs share.
struct TimeShared {
  double dram_efficiency = 0;
  double power_response_us = 0;

  // Matrix products
  double simt_prologue_k = 0;
  double tensor_prologue_k = 0;
  double panel_l2_share = 0;
  double raster_rows = 0;
  double simt_split_us = 0;
  double tensor_split_us = 0;
  double split_traffic = 0;

  // Rows: layer norm and softmax
  double l2_reuse_share = 0;
  double row_load_latencies = 0;
  double block_bytes_in_flight = 0;
  double thread_bytes_in_flight = 0;
  double warp_cycles_per_instruction = 0;
  double norm_warp_instructions = 0;
  double norm_step_instructions = 0;
  double softmax_warp_instructions = 0;
  double softmax_element_instructions = 0;

  // Winograd transforms: time over that of their bytes
  double transform_filter = 0;
  double transform_input = 0;
  double transform_output = 0;

  double computed_place_lane_cycles = 0;

  std::vector<Provenance> origins;  // parallel to time_shared_fields()
};

class TimeConstants {
 public:
  /// Errors: InputError `file:key: found X, expected Y`.
  static TimeConstants load(const std::string& path);

  const TimeShared& shared() const { return shared_; }
  TimeShared& shared() { return shared_; }
  /// Generations in ascending order of compute capability.
  std::span<const TimeGeneration> generations() const { return generations_; }
  std::span<TimeGeneration> generations() { return generations_; }
  /// The newest generation that is not newer than the GPU; the oldest if all are.
  const TimeGeneration& generation(const GpuArch& gpu) const;
  /// Whether products were measured on the GPU's very generation; false: its constants are another
  /// one's, or taken from data sheets.
  bool measured(const GpuArch& gpu) const;
  /// Of 16-bit types or, for all others, of FP32.
  const AttentionPace& attention(DataType type, bool backward, bool learned_mask = false) const;
  /// Null where no GPU of this generation was measured.
  const BatchedPace* batched(const GpuArch& gpu, DataType type) const;

 private:
  TimeShared shared_;
  std::vector<TimeGeneration> generations_;
  std::vector<AttentionPace> attention_;  // one of each type and pass, and those of learned masks
  std::vector<BatchedPace> batched_;
};

std::span<const Field<TimeGeneration>> time_generation_fields();
std::span<const Field<TimeShared>> time_shared_fields();

}  // namespace tandem
