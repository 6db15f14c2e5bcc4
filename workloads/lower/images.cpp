// Kernels that walk over images and filters in an order of their own: interpolation, windows,
// weight norms.
#include <algorithm>

#include "workloads/lower/parts.h"

namespace tandem::lowering {
namespace {

/// So many cycles of an SM, and what the kernel moves.
double walked_us(const Context& c, const KernelTemplate& row, double cycles, double bytes) {
  return c.gpu().graph_kernel_period_us + row.start_us + cycles / c.gpu().boost_clock_mhz +
         reached_us(c, row, stream_time_us(c, bytes));
}

/// Steps of a thread that starts from a place of one image, of one plane.
std::int64_t steps_through(const TensorShape& images, Through through) {
  if (images.rank < 2) return 1;
  switch (through) {
    case Through::nothing: return 1;
    case Through::images: return images.dims[0];
    case Through::channels: return images.dims[1];
    case Through::planes: return images.dims[0] * images.dims[1];
  }
  return 1;
}

std::int64_t side(const TensorShape& t) {
  return std::max<std::int64_t>(t.rank == 0 ? 1 : t.dims[t.rank - 1U], 1);
}

/// The share of the operands that the L2 misses: none up to 0.4 of its size, all from 0.8 on (lines
/// interpolated on an H200: 0.181 us a step with 24 MB of 63, 0.23 with 33, 0.29 with 38, 0.37 with
/// 56).
double missed_share(const GpuArch& gpu, double bytes) {
  constexpr double held = 0.4, lost = 0.8;
  return std::clamp((bytes / static_cast<double>(gpu.l2_bytes) - held) / (lost - held), 0.0, 1.0);
}

}  // namespace

// A step takes what a thread waits for memory, or what an SM needs for all of its blocks.
void add_walk(const Context& c, const KernelTemplate& row, Kernels& out) {
  const TensorShape* over = c.shared_out(row.over);
  if (over == nullptr || over->elements() == 0) return;
  const std::int64_t steps = steps_through(*over, row.through);
  const auto blocks = ceil_div(over->elements() / steps, static_cast<std::int64_t>(row.per_block));
  const double bytes = all_bytes(c);
  LoweredKernel kernel = make(c, row, float_type(c), {blocks}, bytes);
  const double busy = static_cast<double>(blocks) / c.gpu().sm_count * row.block_cycles;
  const double waits = row.step_cycles + row.missed_cycles * missed_share(c.gpu(), bytes);
  const double cycles = static_cast<double>(steps) * std::max(waits, busy);
  kernel.duration_us = walked_us(c, row, cycles, bytes);
  out.push_back(std::move(kernel));
}

// UpSampleBilinear2d.cu: a thread adds its element to four places. With channels first as many
// neighbours meet there as the image grew by.
void lower_interpolation(const Context& c, Kernels& out) {
  const TensorShape* large = c.tensor(0);
  if (large == nullptr || large->rank != image_rank || c.outputs.empty()) return;
  if (large->elements() == 0) return;
  const TensorShape& result = c.outputs[0];
  KernelTemplate row = c.kernel(large->channels_last ? 1 : 0);
  if (!large->channels_last) {
    row.block_cycles *= std::max(1.0, double(side(*large)) / double(side(result)));
  }
  add_sized(c, c.kernel(2), out);
  const Sides grid{ceil_div(large->elements(), row.threads)};
  out.push_back(make(c, row, large->type, grid, bytes_of(*large) + bytes_of(result)));
}

// GridSampler.cu: a thread has a point and goes through the channels of its image. Images between
// whose corners points lie are the library's, if they have few channels.
void lower_sampling(const Context& c, Kernels& out) {
  constexpr std::int64_t most_channels = 1024;
  const bool backward = c.op.phase == Phase::backward;
  const std::size_t read = backward ? 1 : 0, stated = backward ? 5 : 4;
  const TensorShape* image = c.tensor(read);
  if (image == nullptr || image->rank < 2 || c.outputs.empty()) return;
  const bool corners = c.operands.argument(stated) == Argument(true);
  const bool library = corners && image->rank == image_rank && image->dims[1] <= most_channels;
  if (backward) add_sized(c, c.kernel(2), out);
  add_sized(c, c.kernel(library ? 1 : 0), out);
}

// Im2Col.cu: images are cut one after the other, a thread for each window of each channel, which
// goes through the places of its window.
void lower_windows(const Context& c, Kernels& out) {
  const TensorShape* in = c.tensor(0);
  if (in == nullptr || in->rank != image_rank || in->elements() == 0 || c.outputs.empty()) return;
  std::int64_t taps = 1;
  for (const std::int64_t of_side : integers_of(c.operands.argument(1))) taps *= of_side;
  const std::int64_t images = in->dims[0];
  const std::int64_t windows = c.outputs[0].elements() / std::max<std::int64_t>(1, images * taps);
  const KernelTemplate& row = c.kernel(0);
  const std::int64_t blocks = ceil_div(std::max<std::int64_t>(1, windows), row.threads);
  const double bytes = (bytes_of(*in) + bytes_of(c.outputs[0])) / static_cast<double>(images);
  const double cycles = std::max(row.block_cycles * double(ceil_div(blocks, c.gpu().sm_count)),
                                 row.step_cycles * double(taps));
  LoweredKernel kernel = make(c, row, in->type, {blocks}, bytes);
  kernel.duration_us = walked_us(c, row, cycles, bytes);
  out.insert(out.end(), static_cast<std::size_t>(images), kernel);
}

// WeightNorm.cu: norms of the first dimension have a block a row. Those of the last one have a
// block for 16 columns, which walks over all rows.
void lower_weight_norm(const Context& c, Kernels& out) {
  const std::size_t weights = c.op.phase == Phase::backward ? 1 : 0;
  const std::size_t stated = c.op.phase == Phase::backward ? 4 : 2;
  const TensorShape* v = c.tensor(weights);
  if (v == nullptr || v->rank == 0 || v->elements() == 0) return;
  const auto dim = integers_of(c.operands.argument(stated));
  const bool last = v->rank > 1 && !dim.empty() && dim[0] == v->rank - 1;
  const KernelTemplate& row = c.kernel(last ? 1 : 0);
  if (!last) {
    out.push_back(make(c, row, v->type, {v->dims[0]}, all_bytes(c)));
    return;
  }
  constexpr std::int64_t columns_a_block = 16;
  const Sides grid{ceil_div(side(*v), columns_a_block)};
  LoweredKernel kernel = make(c, row, v->type, grid, all_bytes(c));
  const double rows = static_cast<double>(v->elements() / side(*v));
  kernel.duration_us = std::max(kernel.duration_us, walked_us(c, row, row.block_cycles * rows, 0));
  out.push_back(std::move(kernel));
}

}  // namespace tandem::lowering
