#include "models/kernel/time/laws/channel_norm.h"

#include <algorithm>
#include <cmath>

#include "models/arch/occupancy.h"
#include "models/kernel/time/rates.h"
#include "sim/core/fields/field.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

double width_of(DataType type) { return std::max(element_bytes(type), 2); }

double channel_us(const GpuArch& gpu, const NormShape& s, const ChannelRate& rate,
                  double block_ratio = 1) {
  return std::max(rate.block_cycles * block_ratio * s.per_channel,
                  rate.sm_cycles * s.elements() / gpu.sm_count) /
         gpu.boost_clock_mhz;
}

std::vector<Field<ChannelRate>> channel_fields(const std::string& name, const std::string& doc) {
  using R = ChannelRate;
  return {field(name + "_block_cycles", "cycles",
                "of a block for an element of its channel, " + doc, &R::block_cycles),
          field(name + "_sm_cycles", "cycles", "of an SM for an element, " + doc, &R::sm_cycles)};
}

}  // namespace

NormShape norm_shape(const TensorShape& input) {
  NormShape shape;
  if (input.rank < 2) return shape;
  shape.channels = static_cast<double>(std::max<std::int64_t>(input.dims[1], 1));
  shape.per_channel = static_cast<double>(input.elements()) / shape.channels;
  shape.plane = 1;
  for (std::size_t i = 2; i < input.rank; ++i) shape.plane *= static_cast<double>(input.dims[i]);
  return shape;
}

std::vector<Field<NormGrowth>> norm_growth_fields() {
  using G = NormGrowth;
  return {field("bn_floor_us", "us", "launch floor, batch normalisation", &G::floor_us),
          field("bn_shared_share", "ratio", "shared memory of an SM that one channel may take",
                &G::shared_share),
          field("bn_forward_ns", "ns", "per element of a channel and channel on the SM, two passes",
                &G::forward_ns),
          field("bn_backward_ns", "ns", "the same, backward", &G::backward_ns),
          field("bn_backward_crowded_ns", "ns", "the same with four and more channels per SM",
                &G::backward_crowded_ns),
          field("bn_dram", "ratio", "time from DRAM / from L2, several channels per SM", &G::dram),
          field("bn_block_us", "us", "start and end of a channel kept on chip", &G::block_us),
          field("bn_block_gbps", "GB/s", "rate of one block, channel kept on chip", &G::block_gbps),
          field("bn_chip_share", "ratio", "DRAM rate of all blocks / peak, channel kept on chip",
                &G::chip_share)};
}

bool stays_on_chip(const GpuArch& gpu, const NormGrowth& growth, const NormShape& s, DataType type,
                   bool backward) {
  const double width = width_of(type);
  const double registers = width > 2 ? 0 : backward ? 28672 : 40960;
  const double bytes = s.per_channel * width * (backward ? 2 : 1) - registers;
  return bytes <= growth.shared_share * static_cast<double>(max_shared_bytes(gpu));
}

double norm_growth_us(const GpuArch& gpu, const NormGrowth& growth, const CachedMemory& memory,
                      const NormShape& s, DataType type, bool on_chip, bool backward) {
  const double passes = backward ? 3 : 2, width = width_of(type);
  const double resident = std::ceil(s.channels / gpu.sm_count);
  const double bytes = s.elements() * width;
  if (on_chip) {
    const double chip = dram_us(gpu, bytes * passes, growth.chip_share);
    const double block = s.per_channel * width * passes / (growth.block_gbps * 1e3);
    return growth.block_us * resident + std::max(chip, block);
  }
  const double dram = resident > 1 ? growth.dram : memory.lone_dram;
  const double element_ns = !backward       ? growth.forward_ns
                            : resident >= 4 ? growth.backward_crowded_ns
                                            : growth.backward_ns;
  return s.per_channel * resident * element_ns * 1e-3 *
         (1 + (dram - 1) * l2_missed(gpu, bytes * passes, memory.l2));
}

std::vector<Field<NormTimes>> norm_times_fields() {
  using N = NormTimes;
  std::vector<Field<N>> fields;
  const auto add = [&](std::string_view name, std::string_view unit, std::string_view doc,
                       double N::*member) { fields.push_back(field(name, unit, doc, member)); };
  add("norm_floor_us", "us", "part of a batch norm that elements do not change", &N::floor_us);
  add("norm_keep_bytes", "byte", "of a channel that a block keeps on chip: it reads them once",
      &N::keep_bytes);
  add("norm_single_dram_share", "ratio", "share of the peak DRAM rate, channels kept on chip",
      &N::single_dram_share);
  add("norm_single_block_gbps", "GB/s", "rate of one block, channels kept on chip",
      &N::single_block_gbps);
  add("norm_generic_dram_share", "ratio", "share of the peak DRAM rate, channels read twice",
      &N::generic_dram_share);
  add_fields(fields, &N::forward, channel_fields("norm_forward", "library forward, read twice"));
  add_fields(fields, &N::backward, channel_fields("norm_backward", "library backward, read twice"));
  add("norm_cached_ratio", "ratio",
      "time of a channel that is read twice from L2 over that from DRAM, at most one block an SM",
      &N::cached_ratio);
  add("norm_forward_half_ratio", "ratio", "norm_forward_block_cycles in 16 bits over FP32",
      &N::forward_half_ratio);
  add("norm_backward_half_ratio", "ratio", "norm_backward_block_cycles in 16 bits over FP32",
      &N::backward_half_ratio);
  add_fields(fields, &N::native_statistics,
             channel_fields("native_statistics", "statistics of the framework"));
  add_fields(fields, &N::native_backward,
             channel_fields("native_backward", "backward of the framework"));
  add("native_transform_dram_share", "ratio", "share of the peak DRAM rate of the transform",
      &N::native_transform_dram_share);
  add("native_plane_sm_cycles", "cycles",
      "of an SM for a block that takes an image plane (transform, inference)",
      &N::native_plane_sm_cycles);
  add("native_update_us", "us", "kernel that updates running statistics", &N::native_update_us);
  add("native_last_dram_share", "ratio",
      "share of the peak DRAM rate of the framework's transform, forward and backward, of images "
      "in "
      "channels-last order",
      &N::native_last_dram_share);
  add("native_last_reduce_sm_cycles", "cycles",
      "of an SM for an element of the sums before it, backward", &N::native_last_reduce_sm_cycles);
  add("norm_inference_dram_share", "ratio",
      "share of the peak DRAM rate of the library's inference batch norm",
      &N::inference_dram_share);
  add("norm_inference_sm_cycles", "cycles", "of an SM for an element of it",
      &N::inference_sm_cycles);
  add("norm_inference_last_sm_cycles", "cycles", "the same of images in channels-last order",
      &N::inference_last_sm_cycles);
  return fields;
}

bool reads_once(const NormTimes& times, const NormShape& s, DataType type, bool backward) {
  return (backward ? 2 : 1) * s.per_channel * element_bytes(type) <= times.keep_bytes;
}

double library_norm_us(const GpuArch& gpu, const NormTimes& times, const NormShape& s,
                       DataType type, bool backward) {
  const double size = element_bytes(type), operands = backward ? 2 : 1;
  const double moved = operands + 1;
  if (reads_once(times, s, type, backward)) {
    // Odd planes are read element by element, which takes as long as reading twice the bytes.
    const double words = std::max(1.0, s.plane) * size / 4;
    const double width = words != std::floor(words) ? 4 : size;
    const double bytes = moved * s.elements() * width;
    const double block = moved * s.per_channel * width / (times.single_block_gbps * 1e3);
    return times.floor_us + std::max(block, dram_us(gpu, bytes, times.single_dram_share));
  }
  const double half = !is_half(type) ? 1
                      : backward     ? times.backward_half_ratio
                                     : times.forward_half_ratio;
  const double missed = l2_missed(gpu, moved * s.elements() * size);
  const double cached = times.cached_ratio + (1 - times.cached_ratio) * missed;
  const double bytes = (2 * operands + 1) * s.elements() * size;
  return times.floor_us +
         std::max(channel_us(gpu, s, backward ? times.backward : times.forward, half * cached),
                  dram_us(gpu, bytes, times.generic_dram_share));
}

double inference_norm_us(const GpuArch& gpu, const NormTimes& times, const NormShape& s,
                         DataType type) {
  const double planes = s.elements() / std::max(1.0, s.plane);
  const double sm_cycles =
      std::max(times.native_plane_sm_cycles * planes, times.inference_sm_cycles * s.elements());
  return std::max(dram_us(gpu, 2 * s.elements() * element_bytes(type), times.inference_dram_share),
                  all_sms_us(gpu, sm_cycles));
}

double inference_last_norm_us(const GpuArch& gpu, const NormTimes& times, const NormShape& s,
                              DataType type) {
  return times.floor_us + std::max(copied_us(gpu, 2 * s.elements() * element_bytes(type)),
                                   all_sms_us(gpu, times.inference_last_sm_cycles * s.elements()));
}

double native_statistics_us(const GpuArch& gpu, const NormTimes& times, const NormShape& s) {
  return times.floor_us + channel_us(gpu, s, times.native_statistics);
}

double native_transform_us(const GpuArch& gpu, const NormTimes& times, const NormShape& s,
                           DataType type, double pointwise_floor_us) {
  const double bytes = 2 * s.elements() * element_bytes(type);
  const double planes = s.elements() / std::max(1.0, s.plane);
  return pointwise_floor_us + std::max(dram_us(gpu, bytes, times.native_transform_dram_share),
                                       all_sms_us(gpu, times.native_plane_sm_cycles * planes));
}

double native_backward_us(const GpuArch& gpu, const NormTimes& times, const NormShape& s) {
  return times.floor_us + channel_us(gpu, s, times.native_backward);
}

double native_last_statistics_us(const GpuArch& gpu, const NormTimes& times, const NormShape& s) {
  return times.floor_us + all_sms_us(gpu, times.native_statistics.sm_cycles * s.elements());
}

double native_last_reduce_us(const GpuArch& gpu, const NormTimes& times, const NormShape& s) {
  return times.floor_us + all_sms_us(gpu, times.native_last_reduce_sm_cycles * s.elements());
}

double native_last_transform_us(const GpuArch& gpu, const NormTimes& times, const NormShape& s,
                                DataType type, double moved, double pointwise_floor_us) {
  const double bytes = moved * s.elements() * element_bytes(type);
  return pointwise_floor_us + dram_us(gpu, bytes, times.native_last_dram_share);
}

}  // namespace tandem
