// Kernels that walk over images and filters in an order of their own: interpolation, windows,
// weight norms.
#include <algorithm>

#include "workloads/lower/parts.h"

namespace tandem::lowering {
namespace {

/// The kernel's own steps one after the other, and what it moves.
double walked_us(const Context& c, const KernelTemplate& row, double steps, double bytes) {
  return c.gpu().graph_kernel_period_us + steps * row.block_cycles / c.gpu().boost_clock_mhz +
         reached_us(c, row, stream_time_us(c, bytes));
}

std::int64_t side(const TensorShape& t) {
  return std::max<std::int64_t>(t.rank == 0 ? 1 : t.dims[t.rank - 1U], 1);
}

}  // namespace

// UpSampleBilinear2d.cu. With channels last a thread has an element. Else a thread of the forward
// pass has a pixel and goes over all channels of all images, and one of the backward pass adds its
// element to four places, where as many neighbours meet as the image grew by.
void lower_interpolation(const Context& c, Kernels& out) {
  const TensorShape* in = c.tensor(0);
  if (in == nullptr || in->rank != image_rank || c.outputs.empty()) return;
  const TensorShape& result = c.outputs[0];
  const bool backward = c.op.phase == Phase::backward;
  const TensorShape& large = backward ? *in : result;
  if (large.elements() == 0) return;
  const KernelTemplate& row = c.kernel(in->channels_last ? 1 : 0);
  const DataType type = in->type;
  const auto blocks = [&](std::int64_t elements) { return Sides{ceil_div(elements, row.threads)}; };
  const double bytes = bytes_of(*in) + bytes_of(result);
  if (in->channels_last || backward) {
    KernelTemplate walk = row;
    if (backward && !in->channels_last) {
      walk.block_cycles *= std::max(1.0, double(side(large)) / double(side(result)));
    }
    out.push_back(make(c, walk, type, blocks(large.elements()), bytes));
    return;
  }
  const std::int64_t planes = large.dims[0] * large.dims[1];
  LoweredKernel kernel = make(c, row, type, blocks(large.elements() / planes), bytes);
  kernel.duration_us = walked_us(c, row, static_cast<double>(planes), bytes);
  out.push_back(std::move(kernel));
}

// Im2Col.cu: images are cut one after the other, a thread for each window of each channel.
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
  LoweredKernel kernel = make(c, row, in->type, {blocks}, bytes);
  kernel.duration_us =
      walked_us(c, row, static_cast<double>(ceil_div(blocks, c.gpu().sm_count)), bytes);
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
  kernel.duration_us = std::max(kernel.duration_us, walked_us(c, row, rows, 0));
  out.push_back(std::move(kernel));
}

}  // namespace tandem::lowering
