// Batch normalisation: every channel by itself, usually a thread block for each.
//
// Two laws for the library's kernels. NormGrowth tells how a measured kernel grows with its
// channels; NormTimes its absolute time in any type, and that of the framework's own kernels.
// Each was tried in the other's place. NormTimes makes batch predictions worse (1.3 to 1.9 % on the
// fitted set). NormGrowth is better at the GPU time between types (5.2 to 4.5 %, 2.4 to 1.4 %, 5.6
// to 5.3 % on unseen models), but a network's time and energy become worse that were right because
// two errors cancelled (FP32 to AMP: step time 4.4 to 5.8 %): to be joined when the host is better.
// A third, channels_time of kernel_time.cpp, compares GPUs: 6.4 %, with NormGrowth 7.5 %.
#pragma once

#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/time/laws/cached_memory.h"
#include "sim/core/fields/json_fwd.h"
#include "sim/core/tensors/operands.h"

namespace tandem {

/// A batch of images that is normalised by channel.
struct NormShape {
  double channels = 0;
  double per_channel = 0;  // elements: images x pixels
  double plane = 0;        // pixels
  double elements() const { return channels * per_channel; }
};
NormShape norm_shape(const TensorShape& input);

/// Fitted on kernels of networks at several batches, in the type of the trace: how long a channel
/// takes that stays on the SM, and one that is read again.
struct NormGrowth {
  double floor_us = 0;
  double shared_share = 0;
  double forward_ns = 0;
  double backward_ns = 0;
  double backward_crowded_ns = 0;
  double dram = 0;
  double block_us = 0;
  double block_gbps = 0;
  double chip_share = 0;
};
std::vector<Field<NormGrowth>> norm_growth_fields();

/// Whether the library (cuDNN) keeps a channel in registers and shared memory.
bool stays_on_chip(const GpuArch& gpu, const NormGrowth& growth, const NormShape& shape,
                   DataType type, bool backward);
/// Without the floor. `memory`: what L2 keeps between the reads of a channel.
double norm_growth_us(const GpuArch& gpu, const NormGrowth& growth, const CachedMemory& memory,
                      const NormShape& shape, DataType type, bool on_chip, bool backward);

/// A kernel with a channel in each block: SM cycles of one block for an element of its channel, and
/// cycles of all SMs together for an element of any channel.
struct ChannelRate {
  double block_cycles = 0;
  double sm_cycles = 0;
};

/// Fitted on single layers in FP32 and 16 bits.
struct NormTimes {
  double floor_us = 0;
  double keep_bytes = 0;
  double single_dram_share = 0;
  double single_block_gbps = 0;
  double generic_dram_share = 0;
  double cached_ratio = 0;
  ChannelRate forward, backward, native_statistics, native_backward;
  double forward_half_ratio = 0, backward_half_ratio = 0;
  double native_transform_dram_share = 0;
  double native_plane_sm_cycles = 0;
  double native_update_us = 0;
  double native_last_dram_share = 0;
  double native_last_reduce_sm_cycles = 0;
  double inference_dram_share = 0;
  double inference_sm_cycles = 0;
  double inference_last_sm_cycles = 0;
};
std::vector<Field<NormTimes>> norm_times_fields();

/// Whether a block keeps its channel on chip, so that it reads it once.
bool reads_once(const NormTimes& times, const NormShape& shape, DataType type, bool backward);

/// Training batch norm of the library, one kernel.
double library_norm_us(const GpuArch& gpu, const NormTimes& times, const NormShape& shape,
                       DataType type, bool backward);
/// Inference batch norm of the library in the framework's order of images, without the floor: a
/// block a plane, so that small planes wait for blocks to start, whatever their type.
double inference_norm_us(const GpuArch& gpu, const NormTimes& times, const NormShape& shape,
                         DataType type);
/// The same of images in channels-last order, with the floor: the arithmetic decides, whatever the
/// type, where the memory is not slower.
double inference_last_norm_us(const GpuArch& gpu, const NormTimes& times, const NormShape& shape,
                              DataType type);
/// Of the framework (BF16): statistics, update and transform forward; one kernel backward. The
/// transform is pointwise and has the launch floor of such kernels.
double native_statistics_us(const GpuArch& gpu, const NormTimes& times, const NormShape& shape);
double native_transform_us(const GpuArch& gpu, const NormTimes& times, const NormShape& shape,
                           DataType type, double pointwise_floor_us);
double native_backward_us(const GpuArch& gpu, const NormTimes& times, const NormShape& shape);
/// The same of images in channels-last order: blocks share channels, so no channel waits for one.
/// Backward sums come first, then the gradient is made of the operand and what came back.
double native_last_statistics_us(const GpuArch& gpu, const NormTimes& times,
                                 const NormShape& shape);
double native_last_reduce_us(const GpuArch& gpu, const NormTimes& times, const NormShape& shape);
/// `moved`: tensors read and written, two forward and three backward.
double native_last_transform_us(const GpuArch& gpu, const NormTimes& times, const NormShape& shape,
                                DataType type, double moved, double pointwise_floor_us);

}  // namespace tandem
