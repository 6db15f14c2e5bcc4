#include "sim/cli/replay.h"

#include <algorithm>
#include <utility>

#include "sim/cli/kernel_counters.h"
#include "sim/engine/engine.h"
#include "sim/metrics/critical_path.h"
#include "sim/metrics/step_metrics.h"

namespace tandem {

namespace {

/// Copies of the step in the steady-state run. The launch queue is full or empty for good after
/// two.
constexpr std::size_t steady_copies = 6;

/// Bins of the utilization distributions (thesis figures 4.7-4.9).
constexpr std::size_t utilization_bin_count = 20;

double share_of(const std::vector<PathShare>& path, std::initializer_list<std::string_view> kinds) {
  double sum = 0;
  for (const PathShare& p : path) {
    for (const std::string_view kind : kinds) sum += p.kind == kind ? p.share : 0;
  }
  return sum;
}

/// Critical path of the last full period of the steady state.
void add_critical_path(const Analysis& a, const Plan& step, const Plan& repeated,
                       const Timeline& steady, Duration period, Result& result) {
  const std::size_t end_item = steady_copies * step.items.size();
  const std::size_t end_work = steady_copies * step.works.size();
  TimePoint end{};
  for (std::size_t i = 0; i < end_item; ++i) end = std::max(end, steady.item_end[i]);
  for (std::size_t w = 0; w < end_work; ++w) end = std::max(end, steady.work_end[w]);
  const auto links = critical_path(repeated, steady, end - period, end_item, end_work);
  result.critical_path = summarize_path(a.trace, *a.attribution, links);
  const double gpu = share_of(result.critical_path, {"kernel", "device_gap", "stream_wait"});
  result.limited_by = gpu > 0.6 ? "gpu" : gpu < 0.4 ? "host" : "balance";
  // Errors of the validation cases (README): 2 % where the GPU decides, 15 % where the host does.
  result.expected_error = 0.02 * gpu + 0.15 * (1 - gpu);
}

/// Metrics that need the kernel model: the four levels of the thesis, DCGM's, traffic, families.
void add_gpu_metrics(const Analysis& a, const Plan& step, Result& result) {
  if (!a.gpu) return;
  std::vector<WorkCounters> works;
  works.reserve(step.works.size());
  for (const DeviceWork& work : step.works) works.push_back(a.counters[work.source]);
  const GpuScale scale = gpu_scale(*a.gpu);
  result.gpu_step = gpu_metrics(works, scale, result.step.time_us);
  result.gpu_kernel_time = gpu_metrics(works, scale, elapsed_us(works, scale));
  result.families = family_shares(works, scale);
  result.smsp_issue_bins =
      utilization_bins(works, BinnedUtilization::smsp_issue, utilization_bin_count);
  result.tc_issue_bins =
      utilization_bins(works, BinnedUtilization::tc_issue, utilization_bin_count);
}

void describe_scenario(const Analysis& a, const ReplayOptions& options, Result& result) {
  result.trace = a.summary;
  result.fidelity = a.fidelity;
  result.losses = a.losses;
  result.scenario.gpu = a.gpu ? a.gpu->name : a.summary.gpu;
  result.scenario.mode = to_string(options.mode.mode);
  result.scenario.batch = a.summary.batch;
  result.scenario.precision = "as-traced";
  result.scenario.profiler = options.profiler == Profiler::remove ? "remove" : "keep";
  result.scenario.host = a.host.name;
}

}  // namespace

Prediction predict(const Analysis& a, const ReplayOptions& options) {
  Prediction p;
  Result& result = p.result;
  describe_scenario(a, options, result);
  StepPlan step = step_plan(a.trace, a.measured, a.host, options.profiler);
  result.losses.merge(step.losses);
  apply_mode(a.trace, a.host, options.mode, step.plan, result.losses);
  const Plan repeated = repeat(step.plan, steady_copies, a.host);
  const Timeline steady = simulate(repeated);
  const Duration period = steady_period(step.plan, steady, steady_copies);
  p.isolated = repeat(step.plan, 1, a.host);
  p.isolated_timeline = simulate(p.isolated);
  result.events = a.measured_timeline.events + steady.events + p.isolated_timeline.events;
  result.step = step_metrics(a.trace, step.plan, steady, steady_copies, period, p.isolated,
                             p.isolated_timeline);
  const double samples = result.trace.batch ? static_cast<double>(*result.trace.batch) : 1.0;
  if (result.step.time_us > 0) result.step.throughput_per_s = samples / result.step.time_us * 1e6;
  result.kernels = time_shares(a.trace, step.plan, *a.attribution, GroupBy::kernel);
  result.ops = time_shares(a.trace, step.plan, *a.attribution, GroupBy::op);
  result.layers = time_shares(a.trace, step.plan, *a.attribution, GroupBy::layer);
  for (const DeviceWork& work : step.plan.works) {
    if (work.graph_node) result.graph_captured_us += to_us(work.duration);
  }
  add_gpu_metrics(a, step.plan, result);
  add_critical_path(a, step.plan, repeated, steady, period, result);
  return p;
}

Replay replay(Trace trace, const ReplayOptions& options) {
  Analysis analysis = analyse(std::move(trace), options);
  Prediction prediction = predict(analysis, options);
  return {std::move(analysis), std::move(prediction)};
}

Replay replay(const ReplayOptions& options) {
  return replay(import_trace(options.trace_path, options.import), options);
}

}  // namespace tandem
