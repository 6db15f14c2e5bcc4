#include "models/step/slowdown.h"

#include <algorithm>
#include <optional>

namespace tandem {
namespace {

Slowdown slowdown(const TimedLaunch& launch, const GpuArch& before, const GpuArch& after,
                  const TimeConstants& constants) {
  const KernelTime was = kernel_time(launch, before, constants);
  const KernelTime is = kernel_time(launch, after, constants);
  if (was.confidence <= 0 || is.confidence <= 0 || was.time_us <= 0) return {};
  const double ratio = std::max(1.0, is.time_us / was.time_us);
  // A ratio errs where the law takes the wrong part of the time for one that follows the clock.
  return {ratio, (ratio - 1) * (1 - std::min(was.confidence, is.confidence)), true};
}

}  // namespace

GpuArch locked_at(GpuArch gpu, double mhz) {
  gpu.boost_clock_mhz = mhz;
  gpu.tensor_clock_mhz = std::min(gpu.tensor_clock_mhz, mhz);
  gpu.base_clock_mhz = std::min(gpu.base_clock_mhz, mhz);
  return gpu;
}

GpuArch lowered_to(GpuArch gpu, double share) {
  gpu.boost_clock_mhz *= share;
  gpu.tensor_clock_mhz *= share;
  gpu.base_clock_mhz *= share;
  return gpu;
}

std::vector<Slowdown> slowdowns(const Step& step, const TraceLaunches& launches,
                                const GpuArch& before, const GpuArch& after,
                                const TimeConstants& constants) {
  const Activities& activities = step.trace.activities;
  std::vector<std::optional<Slowdown>> known(launches.shapes());
  std::vector<Slowdown> out;
  out.reserve(step.plan.works.size());
  for (const DeviceWork& work : step.plan.works) {
    const std::uint32_t row = work.source;
    if (activities.kind[row] != ActivityKind::kernel) {
      out.push_back({1, 0, true});
      continue;
    }
    std::optional<Slowdown>& one = known[launches.shape_of(row)];
    if (!one) {
      const auto bytes = static_cast<double>(activities.bytes[row]);
      one = slowdown(timed_launch(launches.launch(row), bytes), before, after, constants);
    }
    out.push_back(*one);
  }
  return out;
}

void slow_down(Step& step, const std::vector<Slowdown>& slowdowns) {
  for (std::size_t w = 0; w < slowdowns.size(); ++w) {
    Duration& duration = step.trace.activities.duration[step.plan.works[w].source];
    duration = scale(duration, slowdowns[w].ratio);
  }
  retime_plan(step);
}

}  // namespace tandem
