#include "sim/check/kernel_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/kernel/kinds.h"
#include "models/kernel/time/kernel_time.h"
#include "sim/core/units.h"

namespace tandem {

namespace {

double matrix_flop(const MatrixProblem& p) {
  const double flop = 2.0 * double(p.batch) * double(p.m) * double(p.n) * double(p.k) *
                      double(std::max<std::int64_t>(p.steps, 1));
  return p.causal ? flop / 2 : flop;
}

/// At the highest clock, of the pipe that multiplies the type.
double peak_tflops(const GpuArch& gpu, DataType type) {
  if (multiply_engine(gpu, type) == Engine::simt) {
    return fp32_peak_tflops(gpu, gpu.boost_clock_mhz);
  }
  const MathType math = type == DataType::fp16   ? MathType::fp16
                        : type == DataType::bf16 ? MathType::bf16
                                                 : MathType::tf32;
  return tensor_peak_tflops(gpu, math, gpu.boost_clock_mhz);
}

/// What no run of the launch can be shorter than: products at the peak of their pipe, operands once
/// through L2, and from DRAM what L2 cannot hold. 0: nothing known.
double least_us(const GpuArch& gpu, const CheckLimits& limits, const KernelLaunch& launch) {
  const KindRow& kind = row_of(launch.traits);
  double us = 0;
  if (launch.family == KernelFamily::gemm && kind.time == TimeLaw::matrix &&
      kind.role == Role::main) {
    us = matrix_flop(launch.work.matrix) / peak_tflops(gpu, launch.math) * micro;
  }
  const bool counted =
      launch.work.exact && (kind.work == WorkRule::elementwise || kind.work == WorkRule::reduction);
  if (!counted) return us;
  const double bytes = launch.work.read_bytes + launch.work.write_bytes;
  const double l2_rate = gpu.l2_read_gbps * limits.l2_peak_factor;
  const double beyond_l2 = bytes - 2 * static_cast<double>(gpu.l2_bytes);  // found and left there
  us = std::max(us, bytes / l2_rate / bytes_per_gb / micro);
  return std::max(us, beyond_l2 / gpu.dram_peak_gbps / bytes_per_gb / micro);
}

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
  double worst = 0;
  std::uint32_t where = no_row;
  std::int64_t count = 0;
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    if (acts.kind[a] != ActivityKind::kernel) continue;
    const double least = least_us(*e.run.gpu, e.limits, e.launches->launch(a));
    const double us = to_us(acts.duration[a]);
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
  double traced = 0;
  double modelled = 0;
  for (const auto& step : e.kernels) {
    for (const std::uint32_t a : step) {
      const double us = to_us(acts.duration[a]);
      all += us;
      if (!e.alone[a] || acts.collective[a].valid()) continue;
      const TimedLaunch launch = timed_launch(e.launches->launch(a));
      const KernelTime time = kernel_time(launch, *e.run.gpu, e.run.configs.time);
      if (time.confidence < e.limits.model_confidence) continue;
      traced += us;
      modelled += time.time_us;
    }
  }
  if (traced < e.limits.model_kernels_share * all || modelled <= 0) return {};
  const double ratio = traced / modelled;
  if (ratio <= e.limits.slower_than_model) return {};
  return Observation{Concern::wrong, ratio, e.limits.slower_than_model,
                     fmt::format("all steps, kernels of {:.0f} % of the time", 100 * traced / all)};
}

}  // namespace tandem
