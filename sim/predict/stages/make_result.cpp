#include "sim/predict/stages/make_result.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <unordered_map>

#include "models/runtime/graph_capture.h"
#include "sim/metrics/communication.h"
#include "sim/metrics/overlap.h"
#include "sim/predict/bands.h"
#include "sim/predict/stages/kernel_counters.h"

namespace tandem {

namespace {

/// Bins of the utilization distributions (thesis figures 4.7-4.9).
constexpr std::size_t utilization_bin_count = 20;

/// Of the critical path. `device_only`: no host was recorded, which may have made the gaps.
double gpu_share(const std::vector<PathShare>& path, bool device_only) {
  double sum = 0;
  for (const PathShare& p : path) {
    const bool gap = device_only && p.kind == PathKind::device_gap;
    sum += of_gpu(p.kind) && !gap ? p.share : 0;
  }
  return sum;
}

/// Metrics that need the kernel model: the four levels of the thesis, DCGM's, traffic, families.
void add_gpu_metrics(const std::vector<WorkCounters>& counters, const GpuScale& scale,
                     const Plan& step, const Timeline& isolated, Result& result) {
  std::vector<WorkCounters> works;
  std::vector<double> times_us;
  works.reserve(step.works.size());
  times_us.reserve(step.works.size());
  for (const DeviceWork& work : step.works) {
    works.push_back(counters[work.source]);
    times_us.push_back(to_us(work.duration));
  }
  result.gpu_step = gpu_metrics(works, scale, result.step.time_us);
  const bool streams = std::any_of(step.works.begin(), step.works.end(), [&](const DeviceWork& w) {
    return w.stream != step.works.front().stream;
  });
  if (streams && cap_overlap(works, isolated, scale, result.step.time_us, *result.gpu_step)) {
    result.losses.add("overlap_clamped", Severity::info,
                      "steps whose kernels of several streams together count more instructions "
                      "than the GPU issues in their time: cut to what it can");
  }
  result.gpu_kernel_time = gpu_metrics(works, scale, elapsed_us(works, scale));
  result.families = family_shares(works, times_us, scale);
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

void add_levels(const Prediction& p, const GpuScale& scale, Result& result) {
  const Trace& trace = p.step.trace;
  const auto kernel = [&](std::uint32_t a) { return trace.strings.get(trace.activities.name[a]); };
  const Attribution& of = p.step_attribution;
  add_levels(p, scale, kernel, result.kernels);
  add_levels(
      p, scale, [&](std::uint32_t a) { return of.op[a]; }, result.ops);
  add_levels(
      p, scale, [&](std::uint32_t a) { return of.layer[a]; }, result.layers);
  const auto module = [&](std::uint32_t a) { return std::string_view(of.module[a]); };
  if (!of.module.empty()) add_levels(p, scale, module, result.modules);
}

std::vector<std::string_view> kernel_names(const Trace& trace) {
  std::vector<std::string_view> names;
  for (const StringId id : trace.activities.name) names.push_back(trace.strings.get(id));
  return names;
}

/// Sets operation and type of layer of each kernel: those of most of its launches.
void add_owners(const Prediction& p, std::vector<TimeShare>& kernels) {
  const Trace& trace = p.step.trace;
  using Owner = std::pair<std::string_view, std::string_view>;
  std::unordered_map<std::string_view, std::map<Owner, std::int64_t>> owners;
  for (const DeviceWork& work : p.step.plan.works) {
    const std::uint32_t a = work.source;
    const Owner owner{p.step_attribution.op[a], p.step_attribution.layer[a]};
    ++owners[trace.strings.get(trace.activities.name[a])][owner];
  }
  for (TimeShare& kernel : kernels) {
    const auto& of = owners[kernel.name];
    const auto most = std::max_element(
        of.begin(), of.end(), [](const auto& x, const auto& y) { return x.second < y.second; });
    if (most == of.end()) continue;
    kernel.op = most->first.first;
    kernel.layer = most->first.second;
  }
}

void add_shares(const Prediction& p, Result& result) {
  const Plan& step = p.step.plan;
  std::vector<double> energy_j;
  if (result.energy) {
    for (const DeviceWork& work : step.works) {
      energy_j.push_back(p.step_counters[work.source].energy_j);
    }
  }
  result.kernels = time_shares(step, kernel_names(p.step.trace), energy_j);
  result.ops = time_shares(step, p.step_attribution.op, energy_j);
  result.layers = time_shares(step, p.step_attribution.layer, energy_j);
  add_owners(p, result.kernels);
  const std::vector<std::string>& modules = p.step_attribution.module;
  if (modules.empty()) return;
  const std::vector<std::string_view> names(modules.begin(), modules.end());
  result.modules = time_shares(step, names, energy_j);
}

/// The operation that a host item belongs to, without one its call.
std::string name_of_item(const Prediction& p, const HostItem& item) {
  if (item.source == no_index) return "(no call)";
  const std::string_view op = p.step_attribution.op_of_call[item.source];
  const Trace& trace = p.step.trace;
  return std::string(op.empty() ? trace.strings.get(trace.calls.name[item.source]) : op);
}

void add_graphs(const Prediction& p, Result& result) {
  const Plan& step = p.step.plan;
  for (const GraphPiece& piece : graph_pieces(step)) {
    const HostItem& launch = step.items[piece.launch];
    GraphSummary graph{launch.work_count, 0, {}};
    for (std::uint32_t k = 0; k < launch.work_count; ++k) {
      graph.device_us += to_us(step.works[launch.first_work + k].duration);
    }
    for (const std::uint32_t item : piece.apart) {
      std::string name = name_of_item(p, step.items[item]);
      const auto known = std::find(graph.followed_by.begin(), graph.followed_by.end(), name);
      if (known == graph.followed_by.end()) graph.followed_by.push_back(std::move(name));
    }
    result.graph_captured_us += graph.device_us;
    result.graphs.push_back(std::move(graph));
  }
}

/// Work of the step alone that `engine` runs; nothing where it runs none.
std::optional<MovedSummary> moved(const Prediction& p, DeviceEngine engine) {
  const MovedTime time = moved_time(p.isolated, p.isolated_timeline, 0, p.isolated.works.size(),
                                    [&](const DeviceWork& work) { return work.engine == engine; });
  if (time.count == 0) return {};
  MovedSummary out{time.count, time.time_us, time.exposed_us, 0};
  for (const DeviceWork& work : p.isolated.works) {
    if (work.engine != engine) continue;
    out.bytes += static_cast<double>(p.step.trace.activities.bytes[work.source]);
  }
  return out;
}

ScenarioSummary summarize(const TracedRun& run, const Scenario& scenario,
                          const ReplayOptions& options) {
  ScenarioSummary s;
  s.gpu = scenario.gpu ? scenario.gpu->name : run.summary.gpu;
  s.mode = options.mode.mode;
  s.compiled = options.what_ifs.has("compile");
  if (options.mode.mode == Mode::cuda_graph) s.graph_scope = options.mode.graph_scope;
  s.batch = run.summary.batch;
  s.passes = run.summary.passes;
  if (const TransformReport* batch = find_report(scenario.what_ifs, "batch")) {
    s.batch = parse_count("batch", batch->to);
  }
  if (const TransformReport* passes = find_report(scenario.what_ifs, "passes")) {
    s.passes = parse_count("passes", passes->to);
  }
  s.precision = options.what_ifs.get("precision");
  if (s.precision.empty()) s.precision = asks_nothing;
  s.profiler = options.profiler;
  s.host = run.configs.host.name;
  return s;
}

HostBasis host_basis(const TracedRun& run, const Scenario& scenario) {
  const HostBasis traced = run.base_band.basis;
  const bool of_the_trace = traced == HostBasis::trace || traced == HostBasis::measured_step;
  // The loop that was measured is that of the traced program, and tells of its host only where the
  // host limits it: another program runs on it as far off as any two runs are.
  if (!of_the_trace || scenario.what_ifs.empty()) return traced;
  const bool compiled = find_report(scenario.what_ifs, "compile") != nullptr;
  return compiled ? HostBasis::compiled : HostBasis::trace;
}

/// `losses`: of the mode.
Launched launched(const TracedRun& run, const ReplayOptions& options, const LossList& losses) {
  const bool changed = losses.count("capture_changes_attention") > 0;
  if (changed || losses.count("capture_may_change_work") > 0) return Launched::recaptured;
  return options.mode.mode == Mode::cuda_graph ? Launched::in_graphs : run.base_band.launched;
}

/// What bands are made from. `losses`: of the mode.
BandParts band_parts(const TracedRun& run, const Scenario& scenario, const ReplayOptions& options,
                     const Plan& plan, const LossList& losses, double gpu_share, double busy_us) {
  BandParts out;
  out.basis = host_basis(run, scenario);
  const Factors& host = run.configs.bands.of(out.basis);
  out.host = {loop_us(plan, run.configs.host, host.low),
              loop_us(plan, run.configs.host, host.high)};
  if (run.measured.device_only) out.host.fast_us = busy_us;
  out.launched = launched(run, options, losses);
  // Where operations run on the host, what what-ifs expect is of host time.
  out.gpu_share = out.basis == HostBasis::executor ? 1 : gpu_share;
  out.generated_error = run.generated_error;
  out.untold = scenario.untold_capture;
  for (const TransformReport& report : scenario.what_ifs) {
    out.what_ifs.emplace_back(report.name, report.expected_error);
  }
  out.unverified = unverified_factors(run.configs.bands, out);
  if (run.summary.steps_by == StepsBy::nothing) out.unverified.push_back("steps of the trace");
  return out;
}

/// What collectives may be off by, beside kernels or alone.
double collectives_error_us(const TracedRun& run, const Result& result) {
  if (!result.collectives) return 0;
  const CollectiveLaw& law = run.configs.collectives;
  const double exposed = result.collectives->exposed_us;
  const double beside = std::max(0.0, result.collectives->time_us - exposed);
  return run.configs.bands.collectives * (law.expected_error * exposed + law.beside_error * beside);
}

/// What limits the step, and how far off a prediction of such a step may be.
void judge(const TracedRun& run, const Scenario& scenario, const ReplayOptions& options,
           const Plan& plan, const LossList& losses, Result& result) {
  const double gpu = gpu_share(result.critical_path, run.measured.device_only);
  const BandConstants& bands = run.configs.bands;
  result.limited_by = bands.limit(gpu);
  const BandParts parts =
      band_parts(run, scenario, options, plan, losses, gpu, result.step.gpu_busy_us);
  const LogBand kernels = gpu_band(bands, parts.launched, run.generated_error, scenario.what_ifs);
  const double moving_us = collectives_error_us(run, result);
  const double time_us = result.step.time_us;
  result.band_parts = parts;
  const bool whole = run.summary.steps_by == StepsBy::nothing;
  // What is untold is a reason to warn, and no part of the error that is expected.
  const auto band_with = [&](const UntoldShare& untold) {
    Band band =
        step_band(time_us, parts.host, with_untold(kernels, untold), parts.gpu_share, moving_us);
    if (whole) band.low_us *= bands.whole_trace.low, band.high_us *= bands.whole_trace.high;
    return band;
  };
  result.band = band_with(parts.untold);
  const LogBand kernel_time =
      with_untold(kernel_time_band(bands, parts.launched, run.generated_error, scenario.what_ifs),
                  parts.untold);
  result.gpu_band = {result.step.gpu_kernel_us * std::exp(kernel_time.low),
                     result.step.gpu_kernel_us * std::exp(kernel_time.high)};
  if (whole) {
    result.gpu_band.low_us *= bands.whole_trace.low;
    result.gpu_band.high_us *= bands.whole_trace.high;
  }
  if (time_us > 0) result.expected_error = band_with({}).half_width_us() / time_us;
  if (scenario.what_ifs.empty() && options.mode.mode == Mode::as_traced) return;
  result.speed_up = speed_up(bands, {run.summary.unprofiled_step_us, 1, run.base_band},
                             {time_us, 1, result.band_parts, moving_us}, scenario.what_ifs);
}

/// What energy may be off by because the step may take another time: as much as the GPU takes
/// while it idles.
void add_time_error(const TracedRun& run, Result& result) {
  constexpr double sd_of_band = 1.645;  // half of a 90 % interval over a standard deviation
  if (!result.energy || result.step.time_us <= 0 || run.base_band.basis == HostBasis::kept) return;
  const double static_j_per_us = result.energy->static_j / result.step.time_us;
  const double sd_us = result.band.half_width_us() / sd_of_band;
  result.energy->error_j = std::hypot(result.energy->error_j, static_j_per_us * sd_us);
}

/// The step's wait for its input, and what of it makes the step longer.
void add_input(const TracedRun& run, const SimulatedStep& simulated, const Plan& plan,
               Result& result) {
  result.input_wait_us = simulated.input_wait_us;
  if (result.input_wait_us <= 0) return;
  Plan without = plan;
  for (HostItem& item : without.items) {
    item.gap = std::max(Duration::zero(), item.gap - item.input);
    item.input = Duration::zero();
  }
  const double least_us = loop_us(std::move(without), run.configs.host, 1);
  result.input_critical_us = std::max(0.0, result.step.time_us - least_us);
}

/// Errors: InputError for a step of which nobody knows how many samples it takes.
void add_job(const JobRequest& job, int gpus, Result& result) {
  if (job.samples <= 0) return;
  if (!result.scenario.batch) {
    throw InputError(result.trace.path, "--samples", "a trace without a recognisable batch",
                     "--traced-batch N beside it");
  }
  std::optional<double> energy_j;
  if (result.energy) energy_j = result.energy->energy_j;
  result.job = job_cost(job, result.step.time_us, static_cast<double>(*result.scenario.items()),
                        gpus, energy_j);
}

}  // namespace

Result make_result(const TracedRun& run, const Scenario& scenario, const ReplayOptions& options,
                   const SimulatedStep& simulated, const std::optional<EnergySummary>& energy,
                   const LossList& losses, const Prediction& p) {
  Result result;
  result.trace = run.summary;
  result.fidelity = run.fidelity;
  result.scenario = summarize(run, scenario, options);
  result.what_ifs = scenario.what_ifs;
  result.events = run.measured_timeline.events + simulated.events;
  result.step = simulated.metrics;
  const auto samples = static_cast<double>(result.scenario.items().value_or(1));
  if (result.step.time_us > 0) result.step.throughput_per_s = samples / result.step.time_us * 1e6;
  result.runtime = runtime_metrics(p.step.trace, p.isolated, p.isolated_timeline);
  result.critical_path = simulated.critical_path;
  result.parts = simulated.parts;
  result.collectives = moved(p, DeviceEngine::collective);
  add_input(run, simulated, p.step.plan, result);
  result.input_copies = moved(p, DeviceEngine::copy_to_device);
  judge(run, scenario, options, p.step.plan, losses, result);
  result.energy = energy;
  add_time_error(run, result);
  add_job(options.job, p.step.trace.distributed.world_size, result);
  add_shares(p, result);
  if (!run.measured.device_only) add_graphs(p, result);
  if (!p.target) return result;
  const GpuScale scale = gpu_scale(*p.target);
  add_gpu_metrics(p.step_counters, scale, p.step.plan, p.isolated_timeline, result);
  add_levels(p, scale, result);
  return result;
}

}  // namespace tandem
