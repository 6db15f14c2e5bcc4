// Constants of the precision what-if.
#pragma once

#include <string>
#include <vector>

#include "sim/core/provenance.h"

namespace tandem {

/// A copy between types takes floor_us + bytes / (dram_share x peak DRAM rate).
struct CastRate {
  double floor_us = 0;
  double dram_share = 0;
};

/// A kernel with a channel in each block: floor, SM cycles of one block for an element of its
/// channel, and cycles of all SMs together for an element of any channel.
struct ChannelRate {
  double block_cycles = 0;
  double sm_cycles = 0;
};

/// Fused attention on tensor cores takes floor_us + flop / (tensor_share x peak).
struct AttentionRate {
  double floor_us = 0;
  double tensor_share = 0;
};

/// What each field means stands in precision_law.cpp; times in us.
struct PrecisionLaw {
  std::string name;

  double floor_us = 0;
  CastRate cast_down, cast_up;

  double conv_floor_us = 0;
  double conv_ratio = 0;
  double conv_misaligned_ratio = 0;
  double aligned_bytes = 0;
  double layout_ratio = 0;
  double depthwise_ratio = 0;
  double matmul_floor_us = 0;
  double matmul_ratio = 0;
  double matmul_odd_ratio = 0;
  double matmul_tf32_ratio = 0;
  double matmul_tf32_one_turned_ratio = 0, matmul_tf32_both_turned_ratio = 0;
  AttentionRate attention_forward, attention_backward;
  double clear_us = 0;
  double attention_ratio = 0;
  double attention_backward_ratio = 0;

  double transcendental_ratio = 0;
  double random_ratio = 0;
  double reduction_ratio = 0;
  double strided_ratio = 0;
  double mixed_slowdown = 0;

  double norm_floor_us = 0;
  double norm_keep_bytes = 0;
  double norm_single_dram_share = 0;
  double norm_generic_dram_share = 0;
  ChannelRate norm_forward, norm_backward, native_statistics, native_backward;
  double norm_forward_half_ratio = 0, norm_backward_half_ratio = 0;
  double native_transform_dram_share = 0;
  double native_plane_sm_cycles = 0;
  double native_update_us = 0;

  double unscale_dram_share = 0;
  double unscale_launch_elements = 0;

  // Host times in units of the trace's own launch calls: a slow host is slow at both.
  double cast_host_ratio = 0, cast_backward_host_ratio = 0;
  double scalar_host_ratio = 0;
  double helper_host_ratio = 0;
  double scalar_us = 0;
  double expected_error = 0;

  std::vector<Provenance> origins;
};

/// Reads configs/kernels/precision.json. Errors: InputError `file:key: found X, expected Y`.
PrecisionLaw load_precision_law(const std::string& path);

}  // namespace tandem
