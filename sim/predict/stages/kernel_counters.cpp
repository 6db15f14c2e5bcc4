#include "sim/predict/stages/kernel_counters.h"

#include <algorithm>
#include <optional>

#include "models/arch/occupancy.h"
#include "models/kernel/counters/cost_model.h"
#include "models/kernel/time/kernel_time.h"
#include "models/kernel/work/flops.h"
#include "models/memory/l2_warm.h"
#include "sim/core/units.h"
#include "sim/trace/row_order.h"

namespace tandem {

namespace {

/// `window_cycles`: what Nsight Compute counts as elapsed beyond the kernel, over all SMSPs.
WorkCounters to_counters(const GpuArch& gpu, const KernelLaunch& launch, const KernelCost& cost,
                         double window_cycles) {
  WorkCounters c;
  c.family = launch.family;
  c.modelled = cost.confidence > 0;
  c.confidence = cost.confidence;
  c.clamped = cost.clamped;
  c.time_us = launch.duration_us;
  c.clock_mhz = cost.clock_mhz;
  if (launch.family != KernelFamily::transfer) {
    const Occupancy held = occupancy(gpu, launch.geometry);
    c.theoretical_occupancy = held.theoretical;
    c.waves = waves(gpu, launch.geometry, held).count;
  }
  c.smsp_elapsed_cycles = cost.smsp_elapsed_cycles + window_cycles;
  c.smsp_active_cycles = cost.smsp_active_cycles;
  c.smsp_issue_cycles = cost.smsp_issue_cycles;
  c.tc_active_cycles = cost.tc_active_cycles;
  c.tc_issue_cycles = cost.tc_issue_cycles;
  c.warp_active_cycles = cost.warp_active_cycles;
  c.l1_bytes = cost.l1_sectors * sector_bytes;
  c.l2_bytes = cost.l2_sectors * sector_bytes;
  c.dram_read_bytes = cost.dram_read_sectors * sector_bytes;
  c.dram_write_bytes = cost.dram_write_sectors * sector_bytes;
  c.shared_bytes = cost.shared_wavefronts * wavefront_bytes;
  c.flops = launch.work.flops;
  c.product_limit = product_limit(launch);
  const bool product = computes_product({launch.family, launch.math, launch.traits});
  if (product) c.peak_tflops = product_peak_tflops(launch, gpu);
  c.flops_unknown = product && launch.work.flops <= 0;
  return c;
}

/// Bounds of launches by the laws of their time, once for equal launches.
class LawBounds {
 public:
  LawBounds(const GpuArch& gpu, const TimeConstants& constants, CacheState cache)
      : gpu_(gpu), constants_(constants), context_{.cache = cache} {}

  void add(std::uint32_t shape, const KernelLaunch& launch, WorkCounters& c) {
    if (launch.family == KernelFamily::transfer) return;
    if (shape >= entries_.size()) entries_.resize(shape + 1);
    std::optional<Entry>& entry = entries_[shape];
    if (!entry) {
      const TimedLaunch timed = timed_launch(launch);
      entry = Entry{timed, kernel_time(timed, gpu_, constants_, context_)};
    }
    if (!explains(entry->launch, entry->time, launch.duration_us)) return;
    c.bound = entry->time.bound;
    c.bound_law = to_string(entry->launch.law);
  }

 private:
  struct Entry {
    TimedLaunch launch;
    KernelTime time;
  };
  const GpuArch& gpu_;
  const TimeConstants& constants_;
  TimeContext context_;
  std::vector<std::optional<Entry>> entries_;
};

// Counters that are rates of a kind times the duration, because the trace states no shapes or the
// kind was not measured (confidence: kernel_cost()).
void add_estimate_losses(const std::vector<KernelCost>& costs, LossList& losses) {
  const auto between = [&](double low, double high) {
    return std::count_if(costs.begin(), costs.end(), [&](const KernelCost& c) {
      return c.confidence > low && c.confidence < high;
    });
  };
  if (const auto n = between(0.2, 0.5); n > 0) {
    losses.add("kernel_size_unknown", Severity::info,
               "kernels without shapes: counters are what their kind usually does for so long", n);
  }
  if (const auto n = between(0, 0.2); n > 0) {
    losses.add("kernel_kind_not_measured", Severity::info,
               "kernels of kinds that were not measured: counters are those of similar kinds", n);
  }
}

/// Each ratio of measured to modelled counters is that of the traced kernel; of another kernel they
/// may ask for more than fits.
void cut_to_gpu(const GpuArch& gpu, WorkCounters& c) {
  cut_counter(c.smsp_elapsed_cycles, c.smsp_active_cycles, c.clamped);
  cut_to_active(c);
  const TrafficLimits most = traffic_limits(gpu, c.time_us);
  cut_counter(most.dram, c.dram_read_bytes, c.clamped);
  cut_counter(most.dram - c.dram_read_bytes, c.dram_write_bytes, c.clamped);
  cut_counter(most.l2, c.l2_bytes, c.clamped);
  cut_counter(most.l1, c.l1_bytes, c.clamped);
  cut_counter(most.shared, c.shared_bytes, c.clamped);
}

}  // namespace

std::vector<WorkCounters> kernel_counters(const Trace& trace, const TraceLaunches& launches,
                                          const GpuArch& gpu, const CostConstants& constants,
                                          const TimeConstants& time, CacheState cache,
                                          LossList& losses) {
  losses.merge(launches.losses());
  CostCache costs(gpu, constants);
  const double window_cycles = smsp_count(gpu) * constants.general().counter_window_cycles;
  // In the order in which the device runs them: what one leaves in L2 the next ones find.
  const std::vector<std::uint32_t> order = rows_by_begin(trace.activities);
  std::vector<KernelLaunch> launched;
  std::vector<KernelCost> cost;
  for (const std::uint32_t act : order) {
    launched.push_back(launches.launch(act));
    cost.push_back(costs.cost(launches.shape_of(act), launched.back()));
  }
  if (cache == CacheState::warm) {
    apply_warm_l2(gpu, launched, cost);
    losses.add("warm_traffic_is_estimated", Severity::info,
               "kernels whose DRAM traffic assumes that their operands are the most recent tensors "
               "of that "
               "size and type, for traces hold no addresses (errors: models/memory/README.md)",
               static_cast<std::int64_t>(cost.size()));
  } else {
    losses.add("caches_are_cold", Severity::info,
               "kernels whose traffic is that of caches which were emptied before (--cache cold), "
               "as Nsight Compute does: no step runs so",
               static_cast<std::int64_t>(cost.size()));
  }
  add_estimate_losses(cost, losses);
  LawBounds bounds(gpu, time, cache);
  std::vector<WorkCounters> counters(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) {
    counters[order[i]] = to_counters(gpu, launched[i], cost[i], window_cycles);
    bounds.add(launches.shape_of(order[i]), launched[i], counters[order[i]]);
  }
  return counters;
}

std::vector<std::uint32_t> impossible_launches(const Trace& trace, const GpuArch& gpu) {
  std::vector<bool> fits;
  for (const LaunchGeometry& geometry : trace.geometries) {
    fits.push_back(occupancy(gpu, geometry).blocks_per_sm > 0);
  }
  const Activities& acts = trace.activities;
  std::vector<std::uint32_t> found;
  for (std::uint32_t a = 0; a < acts.size(); ++a) {
    if (acts.geometry[a].valid() && !fits[acts.geometry[a].index()]) found.push_back(a);
  }
  return found;
}

void apply_residual(const WorkCounters& measured, const WorkCounters& model, const GpuArch& gpu,
                    WorkCounters& scenario) {
  constexpr double most = 4;  // times the model, beyond which it says nothing of that counter
  const double growth = model.l2_bytes > 0 ? scenario.l2_bytes / model.l2_bytes : 1;
  for (double WorkCounters::*counter :
       {&WorkCounters::smsp_elapsed_cycles, &WorkCounters::smsp_active_cycles,
        &WorkCounters::smsp_issue_cycles, &WorkCounters::tc_active_cycles,
        &WorkCounters::tc_issue_cycles, &WorkCounters::warp_active_cycles, &WorkCounters::l1_bytes,
        &WorkCounters::l2_bytes, &WorkCounters::dram_read_bytes, &WorkCounters::dram_write_bytes,
        &WorkCounters::shared_bytes}) {
    if (measured.*counter > most * (model.*counter)) {
      scenario.*counter += (measured.*counter - model.*counter) * growth;
    } else if (model.*counter > 0) {
      scenario.*counter *= measured.*counter / (model.*counter);
    }
  }
  cut_to_gpu(gpu, scenario);
  scenario.modelled = scenario.modelled || measured.modelled;
}

std::vector<double> places(const std::vector<WorkCounters>& counters) {
  std::vector<double> share;
  share.reserve(counters.size());
  for (const WorkCounters& c : counters) share.push_back(std::clamp(c.waves, 0.0, 1.0));
  return share;
}

GpuScale gpu_scale(const GpuArch& gpu) {
  return {static_cast<double>(gpu.sm_count),
          static_cast<double>(gpu.smsp_per_sm),
          static_cast<double>(max_warps_per_sm(gpu)),
          gpu.boost_clock_mhz,
          gpu.dram_peak_gbps,
          gpu.l2_read_gbps,
          gpu.graph_kernel_period_us};
}

}  // namespace tandem
