#include "sim/predict/stages/simulated_step.h"

#include <algorithm>
#include <utility>

#include "models/step/sm_pool.h"
#include "sim/engine/engine.h"
#include "sim/predict/bands.h"
#include "sim/predict/stages/kernel_counters.h"

namespace tandem {

namespace {

/// Copies of the step in the steady-state run. The launch queue is full or empty for good after
/// two; in a step that fills the queue a hundred times over, within the first.
std::size_t steady_copies(const Plan& step) {
  return step.works.size() > std::size_t{100} * step.queue_depth ? 2 : 6;
}

/// Critical path of the last full period of the steady state.
std::vector<PathLink> period_path(const Plan& step, const Plan& repeated, const Timeline& steady,
                                  Duration period) {
  const std::size_t end_item = steady_copies(step) * step.items.size();
  const std::size_t end_work = steady_copies(step) * step.works.size();
  TimePoint end{};
  for (std::size_t i = 0; i < end_item; ++i) end = std::max(end, steady.item_end[i]);
  for (std::size_t w = 0; w < end_work; ++w) end = std::max(end, steady.work_end[w]);
  return critical_path(repeated, steady, end - period, end_item, end_work);
}

/// Waits for input in the last step of the loop: as traced, or for a loader on a thread of its own,
/// whose item is nothing but input and hands over to the item that reads.
double input_wait_us(const Plan& step, const Plan& repeated, const Timeline& steady) {
  Duration waits{};
  std::vector<bool> loader(step.items.size(), false);
  for (const HostItem& item : step.items) {
    if (item.own_gap && item.after != no_index)
      loader[item.after] = step.items[item.after].input > Duration::zero();
  }
  const std::size_t last = (steady_copies(step) - 1) * step.items.size();
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const HostItem& item = step.items[i];
    if (!loader[i]) waits += item.input;
    if (!item.own_gap || item.after == no_index || !loader[item.after]) continue;
    std::size_t before = last + i;  // of its thread
    while (before-- > 0 && repeated.items[before].thread != item.thread) {
    }
    const TimePoint ready = steady.item_end[before] + repeated.items[last + i].gap;
    waits += std::max(Duration::zero(), steady.item_begin[last + i] - ready);
  }
  return to_us(waits);
}

/// Collectives last as planned: the traced ones also wait for other ranks.
void drop_waits(const Plan& plan, std::vector<WorkCounters>& counters) {
  for (const DeviceWork& work : plan.works) {
    if (work.engine != DeviceEngine::collective) continue;
    counters[work.source] = lasting(counters[work.source], to_us(work.duration));
  }
}

}  // namespace

std::vector<WorkCounters> step_counters(const TracedRun& run, const Scenario& scenario,
                                        const Step& step, const TraceLaunches& launches,
                                        const ReplayOptions& options) {
  std::vector<WorkCounters> counters;
  if (!scenario.gpu) return counters;
  if (!scenario.changed) {
    counters.reserve(step.traced_activity.size());
    for (const std::uint32_t row : step.traced_activity) counters.push_back(run.counters[row]);
    drop_waits(step.plan, counters);
    return counters;
  }
  LossList known;  // of the kernel model: the traced run has them already
  counters = kernel_counters(step.trace, launches, *scenario.gpu, run.configs.costs,
                             run.configs.time, options.cache, known);
  for (std::size_t i = 0; i < counters.size() && !run.model_counters.empty(); ++i) {
    const std::uint32_t row = step.traced_activity[i];
    if (row == no_row) continue;
    apply_residual(run.counters[row], run.model_counters[row], *scenario.gpu, counters[i]);
  }
  drop_waits(step.plan, counters);
  return counters;
}

double loop_us(const Plan& plan, const HostModel& host) {
  const std::size_t copies = steady_copies(plan);
  const Timeline steady = simulate(repeat(plan, copies, host));
  return to_us(steady_period(plan, steady, copies));
}

double loop_us(Plan plan, const HostModel& host, double factor) {
  for (DeviceWork& work : plan.works) work.pool_share = 0;  // it is in the durations already
  return loop_us(with_host(std::move(plan), factor), host);
}

SimulatedStep simulate_step(const TracedRun& run, const Step& step, const Attribution& attribution,
                            std::vector<WorkCounters> counters) {
  SimulatedStep out;
  const HostModel& host = run.configs.host;
  out.plan = share_sm_pool(run.pool, places(counters), step);
  out.counters = std::move(counters);
  const std::size_t copies = steady_copies(out.plan);
  Plan repeated = repeat(out.plan, copies, host);
  const Timeline steady = simulate(repeated);
  const Duration period = steady_period(out.plan, steady, copies);
  out.input_wait_us = input_wait_us(out.plan, repeated, steady);
  {
    const std::vector<PathLink> path = period_path(out.plan, repeated, steady, period);
    out.critical_path = summarize_path(step.trace, attribution.op_of_call, path);
    out.parts =
        step_parts(step.trace, {attribution.op, attribution.layer, attribution.op_of_call}, path);
  }
  repeated = {};  // of a step of a million launches half a gigabyte
  out.isolated = repeat(out.plan, 1, host);
  out.isolated_timeline = simulate(out.isolated);
  out.events = steady.events + out.isolated_timeline.events;
  out.metrics = step_metrics(step.trace, out.plan, steady, copies, period, out.isolated,
                             out.isolated_timeline);
  const std::size_t last_copy = (copies - 1) * out.plan.works.size();
  for (std::size_t w = 0; w < out.plan.works.size(); ++w) {  // shared SMs included
    out.plan.works[w].duration = steady.work_end[last_copy + w] - steady.work_begin[last_copy + w];
  }
  return out;
}

Plan traced_loop(const TracedRun& run, const Step& step) {
  std::vector<WorkCounters> counters;
  for (const std::uint32_t row : step.traced_activity) {
    if (!run.counters.empty()) counters.push_back(run.counters[row]);
  }
  return share_sm_pool(run.pool, places(counters), step);
}

}  // namespace tandem
