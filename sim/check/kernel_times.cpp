#include "sim/check/kernel_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "models/kernel/kinds.h"
#include "models/kernel/time/kernel_time.h"
#include "models/ops/op_table.h"
#include "sim/core/units.h"

namespace tandem {

namespace {

double matrix_flop(const MatrixProblem& p) {
  const double flop = 2.0 * double(p.batch) * double(p.m) * double(p.n) * double(p.k);
  return p.causal ? flop / 2 : flop;
}

/// At the highest clock, of the pipe that multiplies the type.
double peak_tflops(const GpuArch& gpu, DataType type) {
  if (multiply_engine(gpu, type) == Engine::simt) {
    return fp32_peak_tflops(gpu, gpu.boost_clock_mhz);
  }
  return tensor_peak_tflops(gpu, math_type(type), gpu.boost_clock_mhz);
}

/// A plain product: convolutions also multiply after Winograd's transforms, which spare most of it.
bool is_product(const KernelLaunch& launch) {
  const KindRow& kind = row_of(launch.traits);
  return op_row(launch.op).kind == OpKind::matmul && launch.family == KernelFamily::gemm &&
         kind.time == TimeLaw::matrix && kind.role == Role::main;
}

bool is_bounded(const KernelLaunch& launch) {
  return is_product(launch) ||
         (launch.work.exact && row_of(launch.traits).work == WorkRule::elementwise);
}

/// What no run of the launch can be shorter than: products at the peak of their pipe, operands once
/// through L2, and from DRAM what L2 cannot hold. 0: nothing known.
double least_us(const GpuArch& gpu, const CheckLimits& limits, const KernelLaunch& launch) {
  if (is_product(launch)) {
    return matrix_flop(launch.work.matrix) / peak_tflops(gpu, launch.math) * micro;
  }
  if (!is_bounded(launch)) return 0;
  const double bytes = launch.work.read_bytes + launch.work.write_bytes;
  const double l2_gbps = gpu.l2_read_gbps * limits.l2_peak_factor;
  const double beyond_l2 = bytes - 2 * static_cast<double>(gpu.l2_bytes);  // found and left there
  return std::max(bytes / l2_gbps, beyond_l2 / gpu.dram_peak_gbps) / bytes_per_gb / micro;
}

/// Time of the kernels that least_us() speaks of, per operation: libraries split large products and
/// tensors into several, each of which names the whole.
std::vector<double> bounded_us(const Evidence& e) {
  const Activities& acts = e.run.trace.activities;
  std::vector<double> us(e.run.trace.ops.size(), 0);
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    const std::uint32_t op = e.op_of_activity[a];
    if (op == no_row || !is_bounded(e.launches->launch(a))) continue;
    us[op] += to_us(acts.duration[a]);
  }
  return us;
}

/// Products, and elementwise kernels that read in order: what the laws of time know best.
bool has_good_law(const KernelLaunch& launch) {
  return launch.work.exact &&
         (is_product(launch) || row_of(launch.traits).loop == Loop::vectorized);
}

/// Operands come from DRAM: the longer of the times that a clean run may take.
constexpr TimeContext cold{.cache = CacheState::cold};

/// Value below which half of the weight lies.
double weighted_middle(std::vector<std::pair<double, double>> values) {
  std::sort(values.begin(), values.end());
  double all = 0;
  for (const auto& [value, weight] : values) all += weight;
  double sum = 0;
  for (const auto& [value, weight] : values) {
    sum += weight;
    if (2 * sum >= all) return value;
  }
  return 1;
}

/// Shortest run of the kernel at `position` over the steps, us; 0: not to be compared, for it waits
/// for others or shares the device with them.
double shortest_us(const Evidence& e, std::size_t position) {
  const Activities& acts = e.run.trace.activities;
  double least = 0;
  for (const auto& step : e.repeated.kernels) {
    const std::uint32_t a = step[position];
    if (!e.alone[a] || acts.collective[a].valid()) return 0;
    const double us = to_us(acts.duration[a]);
    least = least == 0 ? us : std::min(least, us);
  }
  return least;
}

/// A stretch of a step and by how much most of its kernels are longer than in another step.
struct Stretch {
  double ratio = 0;
  std::uint32_t first = no_row;
};

/// The slowest stretch of a step; stretches hold a share of its kernel time, and several kernels.
Stretch slowest_stretch(const Evidence& e, const std::vector<std::uint32_t>& step,
                        const std::vector<double>& least) {
  const Activities& acts = e.run.trace.activities;
  double all = 0;
  for (const double us : least) all += us;
  Stretch worst;
  std::vector<std::pair<double, double>> ratios;
  double time = 0;
  std::uint32_t first = no_row;
  for (std::size_t p = 0; p < step.size(); ++p) {
    if (least[p] <= 0) continue;
    if (ratios.empty()) first = step[p];
    ratios.emplace_back(to_us(acts.duration[step[p]]) / least[p], least[p]);
    time += least[p];
    const bool whole = time >= e.limits.stretch_share * all &&
                       static_cast<double>(ratios.size()) >= e.limits.stretch_kernels;
    if (!whole) continue;
    const double ratio = weighted_middle(std::exchange(ratios, {}));
    if (ratio > worst.ratio) worst = {ratio, first};
    time = 0;
  }
  return worst;
}

}  // namespace

std::optional<Observation> faster_than_physics(const Evidence& e) {
  if (!e.launches) return {};
  const Activities& acts = e.run.trace.activities;
  const std::vector<double> of_op = bounded_us(e);
  double worst = 0;
  std::uint32_t where = no_row;
  std::int64_t count = 0;
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    // What was launched before the trace began belongs to no operation in it.
    const bool known = e.run.links.call_of_activity[a] != no_row;
    if (acts.kind[a] != ActivityKind::kernel || !known) continue;
    const KernelLaunch launch = e.launches->launch(a);
    const double least = least_us(*e.run.gpu, e.limits, launch);
    const std::uint32_t op = e.op_of_activity[a];
    const double us = op == no_row ? to_us(acts.duration[a]) : of_op[op];
    if (least < e.limits.physics_floor_us || least <= us * e.limits.physics_margin) continue;
    ++count;
    const double ratio = us > 0 ? least / us : least / 1e-3;
    if (ratio <= worst) continue;
    worst = ratio;
    where = a;
  }
  if (count == 0) return {};
  return Observation{Concern::wrong, worst, e.limits.physics_margin,
                     fmt::format("{} kernels, worst {}", count, place_of_kernel(e, where))};
}

std::optional<Observation> slow_stretch(const Evidence& e) {
  if (e.repeated.steps.size() < 2) return {};
  std::vector<double> least;
  for (std::size_t p = 0; p < e.repeated.kernels.front().size(); ++p) {
    least.push_back(shortest_us(e, p));
  }
  Stretch worst;
  for (const auto& step : e.repeated.kernels) {
    const Stretch s = slowest_stretch(e, step, least);
    if (s.ratio > worst.ratio) worst = s;
  }
  if (worst.ratio <= e.limits.slow_stretch) return {};
  return Observation{worst.ratio > e.limits.slow_stretch_wrong ? Concern::wrong : Concern::doubt,
                     worst.ratio, e.limits.slow_stretch,
                     "from " + place_of(e, e.run.trace.activities.begin[worst.first])};
}

std::optional<Observation> unlike_repeats(const Evidence& e) {
  if (e.repeated.steps.size() < 2) return {};
  const Activities& acts = e.run.trace.activities;
  double worst = 0;
  std::uint32_t where = no_row;
  std::int64_t count = 0;
  for (std::size_t p = 0; p < e.repeated.kernels.front().size(); ++p) {
    const double least = shortest_us(e, p);
    if (least <= 0) continue;
    for (const auto& step : e.repeated.kernels) {
      const double us = to_us(acts.duration[step[p]]);
      if (us <= e.limits.unlike_repeats * least || us - least <= e.limits.unlike_least_us) continue;
      ++count;
      if (us / least <= worst) continue;
      worst = us / least;
      where = step[p];
    }
  }
  if (count == 0) return {};
  return Observation{Concern::doubt, worst, e.limits.unlike_repeats,
                     fmt::format("{} kernels, worst {}", count, place_of_kernel(e, where))};
}

std::optional<Observation> slower_than_model(const Evidence& e) {
  if (!e.launches) return {};
  const Activities& acts = e.run.trace.activities;
  double all = 0;
  double judged = 0;
  std::vector<std::pair<double, double>> ratios;
  for (const auto& step : e.kernels) {
    for (const std::uint32_t a : step) {
      const double us = to_us(acts.duration[a]);
      all += us;
      if (!e.alone[a] || us < e.limits.model_least_us) continue;
      const KernelLaunch launch = e.launches->launch(a);
      if (!has_good_law(launch)) continue;
      const KernelTime time =
          kernel_time(timed_launch(launch), *e.run.gpu, e.run.configs.time, cold);
      if (time.confidence <= 0 || time.time_us <= 0) continue;
      ratios.emplace_back(us / time.time_us, us);
      judged += us;
    }
  }
  if (judged <= 0 || judged < e.limits.model_share * all) return {};
  const double ratio = weighted_middle(std::move(ratios));
  if (ratio <= e.limits.slower_than_model) return {};
  return Observation{
      ratio > e.limits.slower_than_model_wrong ? Concern::wrong : Concern::doubt, ratio,
      e.limits.slower_than_model,
      fmt::format("all steps, by kernels of {:.0f} % of the time", 100 * judged / all)};
}

namespace {

/// What a convolution could take on the pipes that its type of operands has: the peak of tensor
/// cores, or its operands once from DRAM. 0: nothing known.
double least_of_convolution_us(const GpuArch& gpu, const KernelLaunch& launch) {
  if (launch.family != KernelFamily::convolution || launch.work.matrix.m <= 0) return 0;
  const DataType math = launch.traits.data == DataType::fp32 ? DataType::tf32 : launch.traits.data;
  const double tflops = std::max(peak_tflops(gpu, math), peak_tflops(gpu, launch.math));
  if (tflops <= 0) return 0;
  const double bytes = launch.work.read_bytes + launch.work.write_bytes;
  return std::max(matrix_flop(launch.work.matrix) / tflops * micro,
                  bytes / gpu.dram_peak_gbps / bytes_per_gb / micro);
}

}  // namespace

std::optional<Observation> slow_choice(const Evidence& e) {
  if (!e.launches) return {};
  const Activities& acts = e.run.trace.activities;
  double all = 0, slow = 0, least = 0, worst_us = 0;
  std::uint32_t worst = no_row;
  std::int64_t count = 0;
  for (const auto& step : e.kernels) {
    for (const std::uint32_t a : step) {
      const double us = to_us(acts.duration[a]);
      all += us;
      if (!e.alone[a] || us < e.limits.slow_choice_us) continue;
      const double bound = least_of_convolution_us(*e.run.gpu, e.launches->launch(a));
      if (bound <= 0 || us <= e.limits.slow_choice * bound) continue;
      ++count, slow += us, least += bound;
      if (us > worst_us) worst_us = us, worst = a;
    }
  }
  if (slow <= e.limits.slow_choice_share * all) return {};
  return Observation{Concern::note, slow / least, e.limits.slow_choice,
                     fmt::format("{} kernels of {:.0f} % of the time, worst {}", count,
                                 100 * slow / all, place_of_kernel(e, worst))};
}

}  // namespace tandem
