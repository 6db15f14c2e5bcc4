// Norms of groups of channels (aten/src/ATen/native/cuda/group_norm_kernel.cu): a block goes over
// the elements of each group of an image, then a kernel over all elements scales them.
#include <algorithm>

#include "sim/core/bounds/limits.h"
#include "workloads/lower/parts.h"

namespace tandem::lowering {
namespace {

constexpr std::int64_t wide_block = 512;  // kCUDANumThreads and more: a block, else a warp

struct Groups {
  std::int64_t images = 1;
  std::int64_t channels = 1;
  std::int64_t pixels = 1;
  std::int64_t groups = 1;
  std::int64_t planes() const { return limits::product(images, channels); }
  std::int64_t rows() const { return limits::product(images, groups); }
};

Groups groups_of(const Context& c, std::size_t first_argument) {
  const auto stated = [&](std::size_t i) {
    const auto numbers = integers_of(c.operands.argument(first_argument + i));
    return numbers.empty() ? 1 : std::max<std::int64_t>(1, numbers[0]);
  };
  return {stated(0), stated(1), stated(2), stated(3)};
}

/// A block for each of `rows` that goes over `length` elements: it takes `block_cycles` and
/// `step_cycles` for each, an SM that has several at least `busy` of these cycles for each of them.
void add_rows(const Context& c, const KernelTemplate& wide, const KernelTemplate& narrow,
              std::int64_t rows, std::int64_t length, double bytes, Kernels& out) {
  constexpr double busy = 0.55;
  const bool warp = length < wide_block;
  KernelTemplate row = warp ? narrow : wide;
  const GpuArch& gpu = c.gpu();
  const double of_an_sm = static_cast<double>(rows) / gpu.sm_count;
  const auto most = static_cast<double>(blocks_at_once(c, row));
  const double together = std::clamp(of_an_sm, 1.0, most);
  const double steps = row.step_cycles * static_cast<double>(length);
  const double alone = row.block_cycles + steps * std::max(1.0, busy * together);
  row.block_cycles = 0;
  LoweredKernel kernel = make(c, row, float_type(c), {rows}, bytes);
  const double cycles = alone * std::max(1.0, of_an_sm / most);
  lasts_at_least(c, cycles / gpu.boost_clock_mhz, kernel);
  out.push_back(std::move(kernel));
}

void add_parameters(const Context& c, std::size_t kernel, std::int64_t size, Kernels& out) {
  add_small(c, c.kernel(kernel), float_type(c), size, 0, out);
}

void lower_forward(const Context& c, const Groups& g, Kernels& out) {
  const TensorShape& in = *c.tensor(0);
  add_rows(c, c.kernel(0), c.kernel(1), g.rows(), in.elements() / g.rows(), bytes_of(in), out);
  if (g.pixels > 1) add_parameters(c, 2, g.planes(), out);
  add_sized(c, c.kernel(3), out);
}

void lower_backward(const Context& c, const Groups& g, Kernels& out) {
  const double bytes = 2 * bytes_of(*c.tensor(1));
  add_rows(c, c.kernel(0), c.kernel(1), g.planes(), g.pixels, bytes, out);
  add_parameters(c, 2, g.planes(), out);
  add_parameters(c, 3, g.rows(), out);
  add_sized(c, c.kernel(4), out);
  // A thread goes over the images of a channel, or several share them.
  constexpr std::int64_t most_images = 128, shares = 10;
  const std::int64_t steps = g.images <= most_images ? g.images : g.images / shares;
  add_parameters(c, 5, g.channels, out);
  out.back().duration_us +=
      c.kernel(5).step_cycles * static_cast<double>(steps) / c.gpu().boost_clock_mhz;
}

}  // namespace

void lower_group_norm(const Context& c, Kernels& out) {
  const bool backward = c.op.phase == Phase::backward;
  const TensorShape* in = c.tensor(backward ? 1 : 0);
  if (in == nullptr || in->elements() == 0) return;
  const Groups g = groups_of(c, backward ? 5 : 3);
  if (backward) return lower_backward(c, g, out);
  lower_forward(c, g, out);
}

}  // namespace tandem::lowering
