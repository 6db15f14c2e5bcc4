#include "workloads/lower/lower.h"

#include <algorithm>
#include <cmath>

#include "models/arch/occupancy.h"
#include "models/kernel/launch_rules.h"
#include "models/kernel/time/kernel_time.h"
#include "models/kernel/time/rates.h"
#include "models/kernel/work/work.h"
#include "sim/core/tensors/data_type.h"
#include "workloads/lower/parts.h"

namespace tandem {
namespace lowering {
namespace {

std::string_view element_name(DataType type) {
  const std::string_view framework = framework_type(type);
  if (!framework.empty()) return framework;
  switch (type) {
    case DataType::int64: return "long";
    case DataType::int32: return "int";
    case DataType::int8: return "signed char";
    case DataType::boolean: return "bool";
    case DataType::fp64: return "double";
    case DataType::complex64: return "c10::complex<float>";
    default: return "float";
  }
}

/// The part of the time law's rate that a kernel reaches on this GPU. Where it was less than the
/// whole, the SMs asked for no more: they ask for as much a cycle on any GPU, which is a larger
/// part of a memory that has less for each of them.
double reached_share(const Context& c, const KernelTemplate& kernel) {
  if (kernel.share >= 1) return kernel.share;
  const GpuArch& gpu = c.gpu();
  const double cycle_bytes = gpu.dram_copy_gbps * 1e3 / (gpu.sm_count * gpu.boost_clock_mhz);
  // The SMs' part of the time beside the memory's where the share was read off, and here.
  const double there = std::sqrt(1 / (kernel.share * kernel.share) - 1);
  return 1 / std::hypot(1.0, there * cycle_bytes / c.input.rules.sm_cycle_bytes);
}

}  // namespace

const KernelTemplate& Context::kernel(std::size_t position) const {
  if (position >= rule.kernels.size()) {
    throw InputError(input.rules.path, op.name, std::to_string(rule.kernels.size()) + " kernels",
                     "at least " + std::to_string(position + 1));
  }
  return input.rules.kernel(rule.kernels[position], input.gpu.compute_major);
}

const KernelTemplate& Context::kernel_in_order(std::size_t position) const {
  const KernelTemplate& row = kernel(position);
  const auto& shapes = operands.tensors.shapes;
  const bool last = std::any_of(shapes.begin(), shapes.end(),
                                [](const TensorShape& t) { return t.channels_last; });
  if (row.channels_last.empty() || !last) return row;
  return input.rules.kernel(row.channels_last, input.gpu.compute_major);
}

const TensorShape* Context::shared_out(Over over) const {
  switch (over) {
    case Over::output: return outputs.empty() ? tensor(0) : &outputs[0];
    case Over::first: return tensor(0);
    case Over::second: return tensor(1);
    case Over::third: return tensor(2);
    case Over::fourth: return tensor(3);
    default: return nullptr;
  }
}

OpContext context_of(const Context& c) {
  static const LaunchGeometry none;
  return {c.op.name, c.operands.tensors, c.operands.arguments, none};
}

std::string name_of(const Context& c, const KernelTemplate& kernel, DataType type, int operands,
                    int width) {
  std::string name = kernel.name;
  fill_in(name, "{functor}", c.rule.functor);
  fill_in(name, "{type}", element_name(type));
  fill_in(name, "{operands}", std::to_string(operands));
  fill_in(name, "{width}", std::to_string(width));
  return name;
}

double reached_us(const Context& c, const KernelTemplate& kernel, double timed_us) {
  return std::max(0.0, timed_us - c.gpu().graph_kernel_period_us) / reached_share(c, kernel);
}

double stream_time_us(const Context& c, double bytes) {
  TimedLaunch timed;
  timed.law = TimeLaw::memory;
  timed.bytes = std::max(bytes, 1.0);
  return kernel_time(timed, c.gpu(), c.input.time).time_us;
}

double law_us(const Context& c, const std::string& name, const LaunchGeometry& geometry,
              double bytes) {
  const KernelClass kernel =
      with_operand_type(classify(name, c.op.name), c.operands.tensors.shapes);
  KernelLaunch launch;
  launch.name = name;
  launch.op = c.op.name;
  launch.family = kernel.family;
  launch.math = kernel.math;
  launch.traits = kernel.traits;
  launch.geometry = geometry;
  launch.work =
      kernel_work(kernel, OpContext{launch.op, c.operands.tensors, c.operands.arguments, geometry});
  launch.tensors = c.operands.tensors.shapes;
  TimedLaunch timed = timed_launch(launch, bytes);
  if (bytes > 0 && timed.law == TimeLaw::memory) timed.bytes = bytes;
  switch (timed.law) {  // laws that only tell ratios between GPUs
    case TimeLaw::throughput:
    case TimeLaw::link:
    case TimeLaw::none: timed.law = TimeLaw::memory; break;
    default: break;
  }
  if (timed.bytes <= 0) timed.bytes = 1;
  return kernel_time(timed, c.gpu(), c.input.time).time_us;
}

LaunchGeometry geometry_of(const KernelTemplate& kernel, Sides grid, int threads_y) {
  const auto threads = static_cast<std::uint32_t>(kernel.threads);
  const auto y = static_cast<std::uint32_t>(std::max(threads_y, 1));
  return {{grid_side(grid.x), grid_side(grid.y), grid_side(grid.z)},
          {threads, y, 1},
          static_cast<std::uint32_t>(kernel.registers),
          static_cast<std::uint32_t>(kernel.shared_bytes)};
}

LoweredKernel make(const Context& c, const KernelTemplate& kernel, DataType type, Sides grid,
                   double bytes) {
  LoweredKernel out;
  out.name = name_of(c, kernel, type);
  out.geometry = geometry_of(kernel, grid);
  const double timed_us = law_us(c, out.name, out.geometry, bytes);
  const double blocks = static_cast<double>(grid.x) * static_cast<double>(grid.y * grid.z);
  const double issue_us = all_sms_us(c.gpu(), blocks * kernel.block_cycles);
  out.duration_us = c.gpu().graph_kernel_period_us + kernel.start_us +
                    std::hypot(reached_us(c, kernel, timed_us), issue_us);
  return out;
}

void add_small(const Context& c, const KernelTemplate& row, DataType type, std::int64_t size,
               double bytes, Kernels& out) {
  const auto blocks = ceil_div(size, static_cast<std::int64_t>(row.per_block));
  out.push_back(make(c, row, type, {blocks}, std::max(bytes, 1.0)));
}

void lasts_at_least(const Context& c, double us, LoweredKernel& kernel) {
  kernel.duration_us = std::max(kernel.duration_us, c.gpu().graph_kernel_period_us + us);
}

std::int64_t blocks_at_once(const Context& c, const KernelTemplate& row) {
  return std::max(1, occupancy(c.gpu(), geometry_of(row, {})).blocks_per_sm);
}

LoweredKernel memset_of(const Context& c, std::int64_t bytes) {
  LoweredKernel out;
  out.kind = ActivityKind::memset;
  const KernelTemplate& row = c.input.rules.kernel("memset", c.gpu().compute_major);
  out.name = row.name;
  out.bytes = bytes;
  out.duration_us = stream_time_us(c, static_cast<double>(bytes));
  return out;
}

double unique_elements(const TensorShape& shape) {
  return static_cast<double>(shape.elements()) /
         static_cast<double>(std::max<std::int64_t>(shape.expanded, 1));
}

double bytes_of(const TensorShape& shape) {
  return unique_elements(shape) * element_bytes(shape.type);
}

double all_bytes(const Context& c) {
  double bytes = 0;
  for (const TensorShape& t : c.operands.tensors.shapes) bytes += bytes_of(t);
  for (const TensorShape& t : c.outputs) bytes += bytes_of(t);
  return bytes;
}

DataType float_type(const Context& c) {
  for (const TensorShape& t : c.outputs) {
    if (is_floating(t.type)) return t.type;
  }
  for (const TensorShape& t : c.operands.tensors.shapes) {
    if (is_floating(t.type)) return t.type;
  }
  return c.outputs.empty() ? DataType::fp32 : c.outputs[0].type;
}

std::int64_t next_power(std::int64_t n) {
  std::int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

namespace {

using RecipeFunction = void (*)(const Context&, Kernels&);

RecipeFunction function_of(Recipe recipe) {
  switch (recipe) {
    case Recipe::nothing: return nullptr;
    case Recipe::sequence: return lower_sequence;
    case Recipe::picked_loss: return lower_picked_loss;
    case Recipe::put: return lower_put;
    case Recipe::elementwise: return lower_elementwise;
    case Recipe::copy: return lower_copy;
    case Recipe::fill: return lower_fill;
    case Recipe::reduction: return lower_reduction;
    case Recipe::softmax: return lower_softmax;
    case Recipe::row_norm: return lower_row_norm;
    case Recipe::batch_norm: return lower_batch_norm;
    case Recipe::group_norm: return lower_group_norm;
    case Recipe::product: return lower_product;
    case Recipe::convolution: return lower_convolution;
    case Recipe::convolution_backward: return lower_convolution_backward;
    case Recipe::depthwise: return lower_depthwise;
    case Recipe::attention: return lower_attention;
    case Recipe::multi_tensor: return lower_multi_tensor;
    case Recipe::concatenation: return lower_concatenation;
    case Recipe::embedding_gradient: return lower_embedding_gradient;
    case Recipe::recurrent: return lower_recurrent;
    case Recipe::fourier: return lower_fourier;
    case Recipe::interpolation: return lower_interpolation;
    case Recipe::sampling: return lower_sampling;
    case Recipe::windows: return lower_windows;
    case Recipe::weight_norm: return lower_weight_norm;
    case Recipe::running: return lower_running;
    case Recipe::nhwc_convolution: return lower_nhwc_convolution;
    case Recipe::nhwc_batch_norm: return lower_nhwc_batch_norm;
    case Recipe::column_sums: return lower_column_sums;
  }
  return nullptr;
}

/// Nothing runs on the device: a kernel of the CPU, or a result that is the operand itself.
bool is_idle(const OpRule* rule, const BoundOp& bound) {
  if (bound.on_host) return true;
  const TensorShape* in = bound.operands.tensors.at(0);
  return rule != nullptr && rule->forwards > 0 && in != nullptr && !bound.outputs.empty() &&
         in->elements() == bound.outputs[0].elements();
}

/// Operands in host memory, brought to the device.
LoweredKernel copy_to_device(const Context& c, std::int64_t bytes) {
  LoweredKernel copy;
  copy.kind = ActivityKind::memcpy;
  copy.name = c.input.rules.kernel("copy_to_device", c.gpu().compute_major).name;
  copy.bytes = bytes;
  constexpr double bytes_a_us = 1e3;  // of a rate in GB/s
  const double rate = std::max(c.gpu().pcie_copy_gbps, 1.0) * bytes_a_us;
  copy.duration_us = c.gpu().graph_kernel_period_us + static_cast<double>(bytes) / rate;
  return copy;
}

bool same(const BoundOp& a, const BoundOp& b) {
  return a.on_host == b.on_host && a.copied_bytes == b.copied_bytes && a.outputs == b.outputs &&
         a.operands == b.operands;
}

/// Nobody wrote a rule: a kernel that streams over all operands and results.
void lower_unknown(const Context& c, Kernels& out, LossList& losses) {
  losses.add("op_without_kernel_rule", Severity::warning,
             "operations for which configs/kernels/lowering.json has no rule, timed as one kernel "
             "that reads and writes all operands, e.g. " +
                 c.op.name);
  double elements = 1;
  for (const TensorShape& t : c.outputs) elements = std::max(elements, unique_elements(t));
  const KernelTemplate& row = c.input.rules.kernel("unknown", c.gpu().compute_major);
  LoweredKernel kernel;
  kernel.name = name_of(c, row, float_type(c));
  kernel.geometry = geometry_of(row, {static_cast<std::int64_t>(elements / row.per_block) + 1});
  kernel.duration_us = stream_time_us(c, all_bytes(c));
  out.push_back(std::move(kernel));
}

}  // namespace
}  // namespace lowering

const std::vector<LoweredKernel>& Lowering::kernels(const NetworkOp& op, const BoundOp& bound,
                                                    LossList& losses) {
  static const OpRule no_rule;
  const OpRule* const rule = input_.rules.find(op.name);
  const std::size_t key = hash_of(bound.operands) ^ std::hash<std::string>{}(op.name);
  std::vector<Known>& known = known_[key];
  for (const Known& k : known) {
    if (rule != nullptr && lowering::same(*k.bound, bound)) return k.kernels;
  }
  std::vector<LoweredKernel>& kernels = known.emplace_back(Known{&bound, {}}).kernels;
  if (lowering::is_idle(rule, bound)) return kernels;
  const lowering::Context context{input_, rule != nullptr ? *rule : no_rule, op, bound.operands,
                                  bound.outputs};
  if (rule != nullptr) {
    const auto recipe = lowering::function_of(rule->recipe);
    if (recipe == nullptr) return kernels;
    recipe(context, kernels);
  }
  // Also operands that a recipe does not expect; results without elements take no kernel.
  const bool makes_something =
      bound.outputs.empty() || std::any_of(bound.outputs.begin(), bound.outputs.end(),
                                           [](const TensorShape& t) { return t.elements() > 0; });
  if (kernels.empty() && makes_something) lowering::lower_unknown(context, kernels, losses);
  if (bound.copied_bytes > 0) {
    kernels.insert(kernels.begin(), lowering::copy_to_device(context, bound.copied_bytes));
  }
  return kernels;
}

}  // namespace tandem
