#include "sim/cli/replay.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/cli/kernel_counters.h"
#include "sim/cli/step_energy.h"
#include "sim/cli/whatif.h"
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
void add_gpu_metrics(const Analysis& a, const std::vector<WorkCounters>& counters, const Plan& step,
                     Result& result) {
  if (!a.gpu) return;
  std::vector<WorkCounters> works;
  works.reserve(step.works.size());
  for (const DeviceWork& work : step.works) works.push_back(counters[work.source]);
  const GpuScale scale = gpu_scale(*a.gpu);
  result.gpu_step = gpu_metrics(works, scale, result.step.time_us);
  result.gpu_kernel_time = gpu_metrics(works, scale, elapsed_us(works, scale));
  result.families = family_shares(works, scale);
  result.smsp_issue_bins =
      utilization_bins(works, BinnedUtilization::smsp_issue, utilization_bin_count);
  result.tc_issue_bins =
      utilization_bins(works, BinnedUtilization::tc_issue, utilization_bin_count);
}

void add_shares(const Trace& trace, const Analysis& a, const Plan& step, Result& result) {
  result.kernels = time_shares(trace, step, *a.attribution, GroupBy::kernel);
  result.ops = time_shares(trace, step, *a.attribution, GroupBy::op);
  result.layers = time_shares(trace, step, *a.attribution, GroupBy::layer);
  for (const DeviceWork& work : step.works) {
    if (work.graph_node) result.graph_captured_us += to_us(work.duration);
  }
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

/// The measured plan with the durations of another trace of the same rows.
MeasuredPlan retimed(const MeasuredPlan& measured, const Trace& trace) {
  MeasuredPlan out = measured;
  for (DeviceWork& work : out.plan.works) work.duration = trace.activities.duration[work.source];
  return out;
}

void add_batch(const RewrittenTrace& rewritten, const ReplayOptions& options, Result& result) {
  const BatchConfidence& c = rewritten.batch.confidence;
  result.losses.merge(rewritten.losses);
  result.scenario.batch = options.batch;
  result.batch = BatchConfidenceSummary{c.factor, c.extrapolated, c.affine_share, c.switch_share,
                                        c.expected_error};
}

/// `rewritten`: the trace of the scenario, or null for the analysed one.
Prediction predict_step(const Analysis& a, const RewrittenTrace* rewritten,
                        const ReplayOptions& options) {
  Prediction p;
  Result& result = p.result;
  describe_scenario(a, options, result);
  const Trace& trace = rewritten != nullptr ? rewritten->trace : a.trace;
  if (rewritten != nullptr) add_batch(*rewritten, options, result);
  StepPlan step = rewritten != nullptr
                      ? step_plan(trace, retimed(a.measured, trace), a.host, options.profiler)
                      : step_plan(trace, a.measured, a.host, options.profiler);
  result.losses.merge(step.losses);
  apply_mode(trace, a.host, options.mode, step.plan, result.losses);
  const Plan repeated = repeat(step.plan, steady_copies, a.host);
  const Timeline steady = simulate(repeated);
  const Duration period = steady_period(step.plan, steady, steady_copies);
  p.isolated = repeat(step.plan, 1, a.host);
  p.isolated_timeline = simulate(p.isolated);
  result.events = a.measured_timeline.events + steady.events + p.isolated_timeline.events;
  result.step = step_metrics(trace, step.plan, steady, steady_copies, period, p.isolated,
                             p.isolated_timeline);
  const double samples = result.scenario.batch ? static_cast<double>(*result.scenario.batch) : 1.0;
  if (result.step.time_us > 0) result.step.throughput_per_s = samples / result.step.time_us * 1e6;
  add_shares(trace, a, step.plan, result);
  add_gpu_metrics(a, rewritten != nullptr ? rewritten->counters : a.counters, step.plan, result);
  if (a.gpu) {
    const auto& counters = rewritten != nullptr ? rewritten->counters : a.counters;
    for (const DeviceWork& work : p.isolated.works) {
      p.shares.push_back(dcgm_shares(counters[work.source], gpu_scale(*a.gpu)));
    }
  }
  add_critical_path(a, step.plan, repeated, steady, period, result);
  if (result.batch) {
    result.expected_error = std::hypot(result.expected_error, result.batch->expected_error);
  }
  add_energy(a, trace, step.plan, p.isolated_timeline, options, result);
  return p;
}

}  // namespace

Prediction predict(const Analysis& a, const ReplayOptions& options) {
  Prediction p;
  if (options.batch && options.batch != a.summary.batch) {
    const RewrittenTrace rewritten = rewrite(a, options);
    p = predict_step(a, &rewritten, options);
  } else {
    p = predict_step(a, nullptr, options);
  }
  add_memory(a, nullptr, options, p.result);
  return p;
}

Replay predict_from_two(Analysis first, Analysis second, const ReplayOptions& options) {
  if (!options.batch) {
    throw InputError("command line", "--base", "a second trace without --batch",
                     "--batch N, which the two traces predict together");
  }
  const RewrittenTrace rewritten = rewrite(first, second, options);
  Analysis& kept = rewritten.batch.from_second ? second : first;
  const Analysis& other = rewritten.batch.from_second ? first : second;
  Prediction p = predict_step(kept, &rewritten, options);
  add_memory(kept, &other, options, p.result);
  return {std::move(kept), std::move(p)};
}

Replay replay(Trace trace, const ReplayOptions& options) {
  Analysis analysis = analyse(std::move(trace), options);
  if (!options.base_path.empty()) {
    return predict_from_two(std::move(analysis),
                            analyse(import_trace(options.base_path, options.import), options),
                            options);
  }
  Prediction prediction = predict(analysis, options);
  return {std::move(analysis), std::move(prediction)};
}

Replay replay(const ReplayOptions& options) {
  return replay(import_trace(options.trace_path, options.import), options);
}

}  // namespace tandem
