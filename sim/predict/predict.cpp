#include "sim/predict/predict.h"

#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <utility>

#include "models/step/sm_pool.h"
#include "sim/engine/engine.h"
#include "sim/metrics/critical_path.h"
#include "sim/metrics/overlap.h"
#include "sim/metrics/step_metrics.h"
#include "sim/predict/kernel_counters.h"
#include "sim/predict/scenario.h"
#include "sim/predict/step_energy.h"

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
void add_critical_path(const Trace& trace, const Attribution& attribution, const Plan& step,
                       const Plan& repeated, const Timeline& steady, Duration period,
                       Result& result) {
  const std::size_t end_item = steady_copies * step.items.size();
  const std::size_t end_work = steady_copies * step.works.size();
  TimePoint end{};
  for (std::size_t i = 0; i < end_item; ++i) end = std::max(end, steady.item_end[i]);
  for (std::size_t w = 0; w < end_work; ++w) end = std::max(end, steady.work_end[w]);
  const auto links = critical_path(repeated, steady, end - period, end_item, end_work);
  result.critical_path = summarize_path(trace, attribution, links);
  const double gpu = share_of(result.critical_path, {"kernel", "device_gap", "stream_wait"});
  result.limited_by = gpu > 0.6 ? "gpu" : gpu < 0.4 ? "host" : "balance";
  // Errors of the validation cases (README): 2 % where the GPU decides, 15 % where the host does.
  result.expected_error = 0.02 * gpu + 0.15 * (1 - gpu);
}

/// Metrics that need the kernel model: the four levels of the thesis, DCGM's, traffic, families.
void add_gpu_metrics(const std::vector<WorkCounters>& counters, const GpuScale& scale,
                     const Plan& step, const Timeline& isolated, Result& result) {
  std::vector<WorkCounters> works;
  works.reserve(step.works.size());
  for (const DeviceWork& work : step.works) works.push_back(counters[work.source]);
  result.gpu_step = gpu_metrics(works, scale, result.step.time_us);
  const bool streams = std::any_of(step.works.begin(), step.works.end(), [&](const DeviceWork& w) {
    return w.stream != step.works.front().stream;
  });
  if (streams) cap_overlap(works, isolated, scale, result.step.time_us, *result.gpu_step);
  result.gpu_kernel_time = gpu_metrics(works, scale, elapsed_us(works, scale));
  result.families = family_shares(works, scale);
  result.smsp_issue_bins =
      utilization_bins(works, BinnedUtilization::smsp_issue, utilization_bin_count);
  result.tc_issue_bins =
      utilization_bins(works, BinnedUtilization::tc_issue, utilization_bin_count);
}

/// Levels of the kernels behind each share; copies occupy no SM. `name_of`: of an activity's share.
template <class NameOf>
void add_levels(const Prediction& p, const GpuScale& scale, const NameOf& name_of,
                std::vector<TimeShare>& shares) {
  const Activities& acts = p.step.trace.activities;
  std::unordered_map<std::string_view, std::vector<WorkCounters>> by_name;
  for (const DeviceWork& work : p.step.plan.works) {
    if (acts.kind[work.source] != ActivityKind::kernel) continue;
    by_name[name_of(work.source)].push_back(p.step_counters[work.source]);
  }
  for (TimeShare& share : shares) {
    const auto it = by_name.find(share.name);
    if (it != by_name.end()) share.levels = kernel_levels(it->second, scale);
  }
}

void add_levels(Prediction& p, const GpuScale& scale) {
  const Trace& trace = p.step.trace;
  const auto kernel = [&](std::uint32_t a) { return trace.strings.get(trace.activities.name[a]); };
  const auto layer = [&](std::uint32_t a) { return p.step_attribution->layer(a); };
  add_levels(p, scale, kernel, p.result.kernels);
  add_levels(p, scale, layer, p.result.layers);
}

void add_shares(Prediction& p) {
  const Plan& step = p.step.plan;
  std::vector<double> energy_j;
  if (p.result.energy) {
    for (const DeviceWork& work : step.works) {
      energy_j.push_back(p.step_counters[work.source].energy_j);
    }
  }
  const auto shares = [&](GroupBy by) {
    return time_shares(p.step.trace, step, *p.step_attribution, by, energy_j);
  };
  p.result.kernels = shares(GroupBy::kernel);
  p.result.ops = shares(GroupBy::op);
  p.result.layers = shares(GroupBy::layer);
  for (const DeviceWork& work : step.works) {
    if (work.graph_node) p.result.graph_captured_us += to_us(work.duration);
  }
}

void describe_scenario(const Analysis& a, const ReplayOptions& options, Result& result) {
  result.trace = a.summary;
  result.fidelity = a.fidelity;
  result.losses = a.losses;
  result.scenario.gpu = a.gpu ? a.gpu->name : a.summary.gpu;
  result.scenario.mode = to_string(options.mode.mode);
  result.scenario.batch = a.summary.batch;
  result.scenario.precision = options.precision.empty() ? "as-traced" : options.precision;
  result.scenario.profiler = options.profiler == Profiler::remove ? "remove" : "keep";
  result.scenario.host = a.configs.host.name;
}

void add_batch(const BatchReport& report, const ReplayOptions& options, Result& result) {
  const BatchConfidence& c = report.confidence;
  result.scenario.batch = options.batch;
  result.batch = BatchConfidenceSummary{c.factor, c.extrapolated, c.affine_share, c.switch_share,
                                        c.expected_error};
}

void add_fusion(const JitReport& report, const ReplayOptions& options, Result& result) {
  FusionSummary f;
  f.compiler = options.compiler;
  f.attention = options.attention;
  for (const FusedKernel& k : report.kernels) {
    f.kernels.push_back({k.name, k.operations, k.bytes, k.us});
  }
  f.kernels_before = report.kernels_before, f.kernels_after = report.kernels_after;
  f.gpu_before_us = report.gpu_before_us, f.gpu_after_us = report.gpu_after_us;
  f.bytes_before = report.bytes_before, f.bytes_after = report.bytes_after;
  f.host_before_us = report.host_before_us, f.host_after_us = report.host_after_us;
  f.layout_us = report.layout_us;
  f.attention_keep_us = report.attention_keep_us, f.attention_math_us = report.attention_math_us;
  f.unknown_share = report.unknown_share;
  f.expected_error = report.expected_error;
  result.fusion = std::move(f);
}

/// Counters of a rewritten step: the kernel model's, and where the trace's own were measured, times
/// measured over model.
std::vector<WorkCounters> scenario_counters(const Analysis& a, const Prediction& p, bool rewritten,
                                            const TraceLaunches& launches,
                                            const ReplayOptions& options) {
  if (!p.target) return {};
  std::vector<WorkCounters> counters;
  if (!rewritten) {
    for (const std::uint32_t row : p.step.traced_activity) counters.push_back(a.counters[row]);
    return counters;
  }
  LossList known;  // of the kernel model: the analysis has them already
  counters = kernel_counters(p.step.trace, launches, *p.target, a.configs.costs, a.configs.time,
                             options.cache, known);
  for (std::size_t i = 0; i < counters.size() && !a.model_counters.empty(); ++i) {
    const std::uint32_t row = p.step.traced_activity[i];
    if (row != no_row) apply_residual(a.counters[row], a.model_counters[row], counters[i]);
  }
  return counters;
}

/// Runs the step in its mode: the steady state, and once alone.
void simulate_step(const Analysis& a, Prediction& p) {
  Result& result = p.result;
  const HostModel& host = a.configs.host;
  const Plan& step = p.step.plan;
  const Plan repeated = repeat(step, steady_copies, host);
  const Timeline steady = simulate(repeated);
  const Duration period = steady_period(step, steady, steady_copies);
  p.isolated = repeat(step, 1, host);
  p.isolated_timeline = simulate(p.isolated);
  result.events = a.measured_timeline.events + steady.events + p.isolated_timeline.events;
  result.step = step_metrics(p.step.trace, step, steady, steady_copies, period, p.isolated,
                             p.isolated_timeline);
  const double samples = result.scenario.batch ? static_cast<double>(*result.scenario.batch) : 1.0;
  if (result.step.time_us > 0) result.step.throughput_per_s = samples / result.step.time_us * 1e6;
  add_critical_path(p.step.trace, *p.step_attribution, step, repeated, steady, period, result);
  const std::size_t last_copy = (steady_copies - 1) * step.works.size();
  for (std::size_t w = 0; w < step.works.size(); ++w) {  // shared SMs included
    p.step.plan.works[w].duration =
        steady.work_end[last_copy + w] - steady.work_begin[last_copy + w];
  }
}

/// Kernels that the SMs limit take longer at a lower clock.
void slow_down(double clock_share, Prediction& p) {
  for (const DeviceWork& work : p.step.plan.works) {
    if (!limited_by_sms(p.step_counters[work.source])) continue;
    Duration& duration = p.step.trace.activities.duration[work.source];
    duration = scale(duration, 1 / clock_share);
  }
  retime_plan(p.step);
}

/// Whether kernels last as predicted, not as traced.
bool predicts_durations(const Scenario& s) { return s.retarget || s.batch || s.precision || s.jit; }

void add_what_ifs(const Analysis& a, const Scenario& s, Result& result) {
  if (s.precision) {
    const PrecisionReport& r = *s.precision;
    result.precision = PrecisionSummary{std::string(to_string(r.from)),
                                        std::string(to_string(r.to)),
                                        r.casts_added,
                                        r.casts_removed,
                                        r.kernels_retyped,
                                        r.switch_share,
                                        r.unmodelled_share,
                                        s.item_memory_ratio,
                                        r.expected_error};
  }
  if (s.retarget) {
    const RetargetReport& r = *s.retarget;
    result.retarget = RetargetSummary{
        a.gpu->name, r.added, r.dropped, r.changed_share, r.unmodelled_share, r.expected_error};
  }
}

Prediction predict_step(const Analysis& a, Scenario scenario, const ReplayOptions& options) {
  Prediction p;
  Result& result = p.result;
  describe_scenario(a, options, result);
  result.losses.merge(scenario.losses);
  if (scenario.gpu) result.scenario.gpu = scenario.gpu->name;
  if (scenario.batch) add_batch(*scenario.batch, options, result);
  if (scenario.jit) add_fusion(*scenario.jit, options, result);
  p.target = std::move(scenario.gpu);
  p.step = std::move(scenario.step);
  apply_mode(p.step.trace, a.configs.host, options.mode, p.step.plan, result.losses);
  const TraceLaunches launches(p.step.trace, p.step.links, ops_of_calls(p.step.trace).innermost);
  p.step_counters = scenario_counters(a, p, scenario.rewritten, launches, options);
  share_sm_pool(a.pool, places(p.step_counters), p.step);
  p.step_attribution.emplace(p.step.trace, p.step.links);
  simulate_step(a, p);
  std::optional<StepDemand> demand;
  if (p.target) demand = step_demand(a, launches, p);
  LimitedPower power;
  if (demand && predicts_durations(scenario)) {
    const TraceEnergyModel& model = demand->config.trace;
    power = limited_power(*demand, a, model.power_limit_w, p);
    if (power.clock_share < 1 && !scenario.retarget) {
      power = limited_power(*demand, a, std::max(model.power_limit_w, traced_power_w(a, model)), p);
    }
    if (power.clock_share < 1) {
      slow_down(power.clock_share, p);
      p.step_counters = scenario_counters(a, p, scenario.rewritten, launches, options);
      share_sm_pool(a.pool, places(p.step_counters), p.step);
      simulate_step(a, p);
      demand = step_demand(a, launches, p);
    }
  }
  add_what_ifs(a, scenario, result);
  const auto widen = [&](const auto& report_or_summary) {
    if (!report_or_summary) return;
    result.expected_error = std::hypot(result.expected_error, report_or_summary->expected_error);
  };
  widen(scenario.precision);
  widen(result.batch);
  widen(result.fusion);
  widen(scenario.retarget);
  if (demand) add_energy(*demand, p);
  if (result.energy) result.energy->power_limited_share = power.power_limited_share;
  add_shares(p);
  if (!p.target) return p;
  const GpuScale scale = gpu_scale(*p.target);
  add_gpu_metrics(p.step_counters, scale, p.step.plan, p.isolated_timeline, result);
  add_levels(p, scale);
  for (const DeviceWork& work : p.isolated.works) {
    p.shares.push_back(dcgm_shares(p.step_counters[work.source], scale));
  }
  return p;
}

}  // namespace

Prediction predict(const Analysis& a, const ReplayOptions& options) {
  Prediction p = predict_step(a, make_scenario(a, nullptr, options), options);
  if (p.target) add_memory(a, nullptr, *p.target, options, p.result);
  return p;
}

namespace {

/// Errors: InputError for two bases whose products are of different types, unless a precision is
/// asked for, which then is that of both.
void check_same_precision(const Analysis& first, const Analysis& second,
                          const ReplayOptions& options) {
  if (!options.precision.empty()) return;
  if (!states_types(first.traced_step) || !states_types(second.traced_step)) return;
  const Precision a = traced_precision(first.traced_step);
  const Precision b = traced_precision(second.traced_step);
  if (a == b) return;
  throw InputError(options.base_path, first.traced_step.name,
                   "a trace in " + std::string(to_string(b)),
                   std::string(to_string(a)) + ", as the other base");
}

struct FromTwo {
  Prediction prediction;
  bool from_second = false;  // the prediction has rows of the second trace
};

FromTwo predict_pair(const Analysis& first, const Analysis& second, const ReplayOptions& options) {
  if (!options.batch) {
    throw InputError("command line", "--base", "a second trace without --batch",
                     "--batch N, which the two traces predict together");
  }
  check_same_precision(first, second, options);
  Scenario scenario = make_scenario(first, &second, options);
  const bool from_second = scenario.batch->from_second;
  const Analysis& kept = from_second ? second : first;
  const Analysis& other = from_second ? first : second;
  FromTwo out{predict_step(kept, std::move(scenario), options), from_second};
  add_memory(kept, &other, *out.prediction.target, options, out.prediction.result);
  return out;
}

}  // namespace

Prediction predict(const Analysis& first, const Analysis& second, const ReplayOptions& options) {
  return predict_pair(first, second, options).prediction;
}

Replay predict_from_two(Analysis first, Analysis second, const ReplayOptions& options) {
  FromTwo both = predict_pair(first, second, options);
  return {std::move(both.from_second ? second : first), std::move(both.prediction)};
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
