#include "models/step/slowdown.h"

#include <algorithm>
#include <optional>

#include "models/kernel/counters/cost_model.h"

namespace tandem {
namespace {

/// What the laws say of a launch at both clocks; confidence 0: nothing.
struct AtBoth {
  ModelledTime before, after;
  double least_before_us = 0, least_after_us = 0;  // at the peak of a pipe or of the issue slots
  double confidence = 0;
};

/// Both clocks of one GPU.
struct Clocks {
  const GpuArch& before;
  const GpuArch& after;
  GpuArch before_without_dram = without_dram(before);
  GpuArch after_without_dram = without_dram(after);
};

/// Time to issue the instructions of a launch on all SMSPs; 0 where they are not counted.
double least_issue_us(const KernelLaunch& kernel, const GpuArch& gpu, const CostConstants& costs) {
  constexpr double counted = 0.5;  // KernelCost::confidence of what does not depend on the time
  const KernelCost cost = kernel_cost(gpu, kernel, costs);
  if (cost.confidence < counted) return 0;
  return cost.smsp_issue_cycles / (smsp_count(gpu) * gpu.boost_clock_mhz);
}

AtBoth at_both(const KernelLaunch& kernel, double bytes, const Clocks& c, const KernelLaws& laws) {
  const TimeConstants& constants = laws.time;
  const TimedLaunch launch = timed_launch(kernel, bytes);
  const double confidence = std::min(kernel_time(launch, c.before, constants).confidence,
                                     kernel_time(launch, c.after, constants).confidence);
  if (confidence <= 0) return {};
  AtBoth out{modelled_time(launch, c.before, c.before_without_dram, constants),
             modelled_time(launch, c.after, c.after_without_dram, constants),
             least_product_us(kernel, c.before, launch.type),
             least_product_us(kernel, c.after, launch.type), confidence};
  const double issue_us = least_issue_us(kernel, c.before, laws.costs);
  const double slower = c.before.boost_clock_mhz / c.after.boost_clock_mhz;
  out.least_before_us = std::max(out.least_before_us, issue_us);
  out.least_after_us = std::max(out.least_after_us, issue_us * slower);
  // A stream waits for memory also where it falls short of the rate that the model gives it.
  if (launch.law == TimeLaw::memory) out.after.rest_us = out.before.rest_us;
  return out;
}

Slowdown slowdown(double us, const AtBoth& t, double floor_share) {
  if (t.confidence <= 0 || us <= 0) return {};
  const double carried = carried_us(us, t.before, t.after, floor_share) / us;
  const double least = t.least_after_us / std::max(us, t.least_before_us);
  const double ratio = std::max({1.0, carried, least});
  // A ratio errs where the law takes the wrong part of the time for one that follows the clock.
  return {ratio, (ratio - 1) * (1 - t.confidence), true};
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
                                const GpuArch& before, const GpuArch& after, const KernelLaws& laws,
                                double floor_share) {
  const Activities& activities = step.trace.activities;
  const Clocks clocks{before, after};
  std::vector<std::optional<AtBoth>> known(launches.shapes());
  std::vector<Slowdown> out;
  out.reserve(step.plan.works.size());
  for (const DeviceWork& work : step.plan.works) {
    const std::uint32_t row = work.source;
    if (activities.kind[row] != ActivityKind::kernel) {
      out.push_back({1, 0, true});
      continue;
    }
    std::optional<AtBoth>& one = known[launches.shape_of(row)];
    if (!one) {
      const auto bytes = static_cast<double>(activities.bytes[row]);
      one = at_both(launches.launch(row), bytes, clocks, laws);
    }
    out.push_back(slowdown(to_us(work.duration), *one, floor_share));
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
