// Kernels that reduce or normalise rows: sums, softmax, norms.
#include <algorithm>
#include <cmath>

#include "models/kernel/time/laws/framework_sums.h"
#include "models/kernel/time/rates.h"
#include "sim/core/bounds/limits.h"
#include "workloads/lower/parts.h"

namespace tandem::lowering {
namespace {

SumSizes sum_of(const TensorShape& in, const TensorShape& out) {
  SumSizes s;
  s.results = std::max<std::int64_t>(out.elements(), 1);
  s.inputs = std::max<std::int64_t>(in.elements() / s.results, 1);
  s.whole = s.results == 1;
  if (s.whole || in.rank == 0) return s;
  // The last dimension is kept if the result still ends in it.
  const std::int64_t last = in.dims[in.rank - 1U];
  const std::int64_t kept = out.rank > 0 ? out.dims[out.rank - 1U] : 1;
  bool fastest = last == 1 || !(last == kept && is_contiguous(in));
  if (in.channels_last) fastest = s.results % in.dims[1] != 0;  // channels lie side by side
  std::int64_t together = 1;                                    // values of the last dimensions
  for (std::size_t d = in.rank; d-- > 0 && together < s.inputs;) together *= in.dims[d];
  const SumForm along = together == s.inputs ? SumForm::rows : SumForm::pieces;
  s.form = fastest ? along : SumForm::columns;
  return s;
}

/// Kernels of the rule from `first` on: without vectors, with two elements, with four.
void add_sum(const Context& c, const SumSizes& s, DataType type, std::size_t first, double bytes,
             Kernels& out) {
  const SumGrid g = sum_grid(s, c.gpu());
  const std::size_t form = first + (g.width == 1 ? 0 : g.width == 2 ? 1 : 2);
  const KernelTemplate& row = c.kernel(c.has_kernel(form) ? form : first);
  if (g.parts > 1) out.push_back(memset_of(c, 4 * g.blocks));
  LoweredKernel kernel = make(c, row, type, {g.blocks, g.parts}, bytes);
  kernel.geometry.block = {static_cast<std::uint32_t>(g.threads_x),
                           static_cast<std::uint32_t>(g.threads_y), 1};
  kernel.duration_us += sum_waiting_us(c.gpu(), c.input.sums, g);
  out.push_back(std::move(kernel));
}

}  // namespace

void lower_reduction(const Context& c, Kernels& out) {
  const TensorShape* in = c.tensor(0);
  if (in == nullptr || c.outputs.empty() || in->elements() == 0) return;
  add_sum(c, sum_of(*in, c.outputs[0]), in->type, 0, all_bytes(c), out);
}

void add_channel_sum(const Context& c, const TensorShape& images, std::size_t part, Kernels& out) {
  SumSizes s;
  s.results = std::max<std::int64_t>(images.dims[1], 1);
  s.inputs = images.elements() / s.results;
  s.form = SumForm::pieces;
  add_sum(c, s, images.type, part, bytes_of(images), out);
}

void lower_softmax(const Context& c, Kernels& out) {
  const bool backward = c.op.phase == Phase::backward;
  const TensorShape* in = c.tensor(0);
  if (in == nullptr || in->rank == 0) return;
  const auto stated = integers_of(c.operands.argument(backward ? 2 : 1));
  const std::int64_t dim = from_front(stated.empty() ? -1 : stated[0], in->rank);
  if (dim < 0 || dim >= in->rank) return;  // not a dimension of it: an operand that is not expected
  const bool last = dim == in->rank - 1;
  const std::int64_t columns = std::max<std::int64_t>(in->dims[static_cast<std::size_t>(dim)], 1);
  const std::int64_t rows = in->elements() / columns;
  if (!last) {
    const KernelTemplate& row = c.kernel(2);
    out.push_back(make(c, row, in->type, {ceil_div(rows, row.threads)}, all_bytes(c)));
    return;
  }
  if (columns <= softmax_warp_columns) {
    const KernelTemplate& row = c.kernel(0);
    const std::int64_t lanes = std::min<std::int64_t>(next_power(columns), lanes_per_warp);
    const std::int64_t rows_a_block =
        row.threads / lanes * (next_power(columns) <= 4 * lanes_per_warp ? 2 : 1);
    LoweredKernel kernel = make(c, row, in->type, {ceil_div(rows, rows_a_block)}, all_bytes(c));
    kernel.geometry.block = {static_cast<std::uint32_t>(lanes),
                             static_cast<std::uint32_t>(row.threads / lanes), 1};
    out.push_back(std::move(kernel));
    return;
  }
  out.push_back(make(c, c.kernel(1), in->type, {rows}, all_bytes(c)));
}

namespace {

/// Parameter gradients of many short rows: parts by warps, then a sum each for weight and bias.
void lower_long_norm_sums(const Context& c, const TensorShape& in, std::int64_t rows,
                          std::int64_t columns, Kernels& out) {
  const std::int64_t parts = ceil_div(rows, lanes_per_warp);
  const KernelTemplate& row = c.kernel(1);
  LoweredKernel first =
      make(c, row, in.type, {ceil_div(columns, lanes_per_warp), parts}, 2 * bytes_of(in));
  first.geometry.block = {lanes_per_warp, 1, 1};
  out.push_back(std::move(first));
  for (int result = 0; result < 2; ++result) {
    const SumSizes s{columns, parts, SumForm::columns, false};
    const SumGrid g = sum_grid(s, c.gpu());
    out.push_back(memset_of(c, 4 * g.blocks));
    LoweredKernel sum = make(c, c.kernel(2), DataType::fp32, {g.blocks, g.parts},
                             4.0 * static_cast<double>(parts * columns));
    sum.duration_us += sum_waiting_us(c.gpu(), c.input.sums, g);
    out.push_back(std::move(sum));
  }
}

}  // namespace

void lower_row_norm(const Context& c, Kernels& out) {
  const bool backward = c.op.phase == Phase::backward;
  const TensorShape* in = c.tensor(backward ? 1 : 0);
  if (in == nullptr || in->rank == 0) return;
  const auto normal = integers_of(c.operands.argument(backward ? 2 : 1));
  std::int64_t columns = 1;
  for (const std::int64_t n : normal)
    columns = limits::product(columns, std::max<std::int64_t>(n, 1));
  if (normal.empty()) columns = in->dims[in->rank - 1U];
  columns = std::max<std::int64_t>(columns, 1);
  const std::int64_t rows = in->elements() / columns;
  out.push_back(make(c, c.kernel(0), in->type, {rows}, backward ? 3 * bytes_of(*in) : 0));
  if (!backward || !c.has_kernel(1)) return;
  if (sums_rows_in_parts(c.gpu(), static_cast<double>(rows), static_cast<double>(columns))) {
    lower_long_norm_sums(c, *in, rows, columns, out);
    return;
  }
  const KernelTemplate& row = c.kernel(1);
  LoweredKernel sums = make(c, row, in->type, {ceil_div(columns, 32)}, 2 * bytes_of(*in));
  // Few blocks walk over all rows; what L2 does not hold takes them longer.
  const double misses = std::min(1.0, 2 * bytes_of(*in) / static_cast<double>(c.gpu().l2_bytes));
  lasts_at_least(c, row.step_us * static_cast<double>(rows) * (1 + misses), sums);
  out.push_back(std::move(sums));
}

namespace {

/// Blocks follow each other on their SM; one by itself takes longer than its share of a full SM.
double channels_us(const Context& c, double channels, double channel_kb, bool backward,
                   bool on_chip) {
  double cycles = 0;
  for (const ChannelPace& p : c.input.rules.paces.channels) {
    if (p.backward != backward || p.on_chip != on_chip) continue;
    const double life = p.life_cycles + p.life_cycles_per_kb * channel_kb;
    const double next = p.next_cycles + p.next_cycles_per_kb * channel_kb;
    cycles = std::max(life, channels / c.gpu().sm_count * next);
  }
  return cycles / c.gpu().boost_clock_mhz;
}

/// Whether a truth value among the arguments says so: the statistics are given.
bool is_inference(const Context& c) {
  for (const Argument& a : c.operands.arguments) {
    if (const bool* value = std::get_if<bool>(&a)) return !*value;
  }
  return false;
}

/// Inference, and the rule has a kernel for it.
bool gives_statistics(const Context& c) {
  return c.op.phase != Phase::backward && c.has_kernel(2) && is_inference(c);
}

/// In channels-last order blocks take stripes of pixels over all channels and keep what they read.
void add_striped_norm(const Context& c, const TensorShape& images, std::size_t part, bool backward,
                      Kernels& out) {
  const KernelTemplate& row = c.kernel_in_order(part);
  const double bytes = bytes_of(images) * (backward ? 3 : 2);
  const double most = 2 * c.gpu().sm_count;
  const double stripes = std::ceil(static_cast<double>(images.elements()) / row.per_block);
  LoweredKernel kernel =
      make(c, row, images.type, {static_cast<std::int64_t>(std::clamp(stripes, 1.0, most))}, bytes);
  const double cycles = static_cast<double>(images.elements()) / row.per_block * row.block_cycles;
  kernel.duration_us =
      c.gpu().graph_kernel_period_us + row.start_us +
      std::max(reached_us(c, row, stream_time_us(c, bytes)), all_sms_us(c.gpu(), cycles));
  out.push_back(std::move(kernel));
}

}  // namespace

void add_batch_norm(const Context& c, Kernels& out) {
  const TensorShape* in = c.tensor(0);
  if (in == nullptr || in->rank < 2 || in->elements() == 0) return;
  const std::int64_t channels = in->dims[1];
  const bool backward = c.op.phase == Phase::backward;
  if (gives_statistics(c)) {
    const KernelTemplate& row = c.kernel(2);
    const auto blocks =
        static_cast<std::int64_t>(std::ceil(static_cast<double>(in->elements()) / row.per_block));
    out.push_back(make(c, row, in->type, {blocks}, 2 * bytes_of(*in)));
    return;
  }
  const double channel = bytes_of(*in) / static_cast<double>(channels);
  const double kept = channel * (backward ? 2 : 1) + 512;
  const bool stays = kept <= static_cast<double>(c.gpu().shared_block_optin_bytes) / 2;
  const KernelTemplate& row = c.kernel(stays ? 0 : 1);
  LoweredKernel kernel = make(c, row, in->type, {channels}, bytes_of(*in) * (backward ? 3 : 2));
  if (stays) kernel.geometry.shared_bytes += static_cast<std::uint32_t>(channel);
  const double floor = c.gpu().graph_kernel_period_us;
  const double stream = stream_time_us(c, bytes_of(*in) * (backward ? 3 : 2));
  kernel.duration_us = std::max(stream, floor + channels_us(c, static_cast<double>(channels),
                                                            channel / 1024, backward, stays));
  out.push_back(std::move(kernel));
}

void lower_batch_norm(const Context& c, Kernels& out) {
  const TensorShape* in = c.tensor(0);
  if (in == nullptr || in->rank < 2 || in->elements() == 0) return;
  if (!in->channels_last) return add_batch_norm(c, out);
  add_striped_norm(c, *in, gives_statistics(c) ? 2 : 0, c.op.phase == Phase::backward, out);
}

}  // namespace tandem::lowering
