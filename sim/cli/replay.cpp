#include "sim/cli/replay.h"

#include <algorithm>
#include <utility>

#include "models/arch/gpu_config.h"
#include "sim/engine/engine.h"
#include "sim/metrics/critical_path.h"
#include "sim/metrics/step_metrics.h"

namespace tandem {

namespace {

/// Copies of the step in the steady-state run. The launch queue is full or empty for good after
/// two.
constexpr std::size_t steady_copies = 6;

TraceSummary summarize(const Trace& trace, const Links& links) {
  TraceSummary s;
  s.path = trace.path;
  s.format = trace.format;
  s.framework = trace.framework;
  s.gpu = trace.devices.empty() ? "unknown" : trace.devices.front().name;
  s.batch = batch_size(trace, links);
  s.steps = static_cast<std::int64_t>(links.steps.size());
  s.kernels = static_cast<std::int64_t>(trace.activities.size());
  for (const std::uint32_t call : links.calls_in_order) {
    s.launches += !links.activities_of_call.of(call).empty();
  }
  s.host_ops = static_cast<std::int64_t>(trace.ops.size());
  s.streams = static_cast<std::int64_t>(trace.streams.size());
  s.rank = trace.distributed.rank;
  s.world_size = trace.distributed.world_size;
  return s;
}

/// The config of the traced device; `--gpu` may name it, but not another one yet.
std::string choose_gpu(const Trace& trace, const ReplayOptions& options, LossList& losses) {
  const GpuCatalogue catalogue = load_catalogue(options.configs + "/gpus");
  const DeviceProperties device =
      trace.devices.empty() ? DeviceProperties{} : trace.devices.front();
  const DeviceMatch match = match_device(catalogue, device);
  const std::string traced = match.gpu == nullptr ? "" : match.gpu->name;
  if (options.gpu.empty() && options.overrides.empty()) {
    if (match.gpu == nullptr) {
      losses.add("unknown_device", Severity::warning,
                 "no GPU config matches the traced device \"" + device.name +
                     "\"; nothing that needs one was computed");
      return device.name;
    }
    return traced;
  }
  GpuArch gpu = find_gpu(catalogue, options.gpu.empty() ? traced : options.gpu);
  apply_overrides(gpu, options.overrides);
  if (gpu.name != traced || !options.overrides.empty()) {
    throw InputError("command line", options.overrides.empty() ? "--gpu" : "--set",
                     "\"" + gpu.name + "\" for a trace of \"" + device.name + "\"",
                     "the traced GPU (" + (traced.empty() ? "unknown" : traced) +
                         "): re-timing kernels for another GPU is not part of this version");
  }
  return gpu.name;
}

double share_of(const std::vector<PathShare>& path, std::initializer_list<std::string_view> kinds) {
  double sum = 0;
  for (const PathShare& p : path) {
    for (const std::string_view kind : kinds) sum += p.kind == kind ? p.share : 0;
  }
  return sum;
}

/// Critical path of the last full period of the steady state.
void add_critical_path(const Replay& r, const Attribution& attribution, const Plan& step,
                       const Plan& repeated, const Timeline& steady, Duration period,
                       Result& result) {
  const std::size_t end_item = steady_copies * step.items.size();
  const std::size_t end_work = steady_copies * step.works.size();
  TimePoint end{};
  for (std::size_t i = 0; i < end_item; ++i) end = std::max(end, steady.item_end[i]);
  for (std::size_t w = 0; w < end_work; ++w) end = std::max(end, steady.work_end[w]);
  const auto links = critical_path(repeated, steady, end - period, end_item, end_work);
  result.critical_path = summarize_path(r.trace, attribution, links);
  const double gpu = share_of(result.critical_path, {"kernel", "device_gap", "stream_wait"});
  result.limited_by = gpu > 0.6 ? "gpu" : gpu < 0.4 ? "host" : "balance";
  // Errors of the validation cases (README): 2 % where the GPU decides, 15 % where the host does.
  result.expected_error = 0.02 * gpu + 0.15 * (1 - gpu);
}

void predict(const ReplayOptions& options, const HostModel& host, Replay& r) {
  Result& result = r.result;
  StepPlan step = step_plan(r.trace, r.measured, host, options.profiler);
  result.losses.merge(step.losses);
  apply_mode(r.trace, host, options.mode, step.plan, result.losses);
  const Plan repeated = repeat(step.plan, steady_copies, host);
  const Timeline steady = simulate(repeated);
  const Duration period = steady_period(step.plan, steady, steady_copies);
  r.isolated = repeat(step.plan, 1, host);
  r.isolated_timeline = simulate(r.isolated);
  result.events += steady.events + r.isolated_timeline.events;
  result.step = step_metrics(r.trace, step.plan, steady, steady_copies, period, r.isolated,
                             r.isolated_timeline);
  const double samples = result.trace.batch ? static_cast<double>(*result.trace.batch) : 1.0;
  if (result.step.time_us > 0) result.step.throughput_per_s = samples / result.step.time_us * 1e6;
  const Attribution attribution(r.trace, r.links);
  result.kernels = time_shares(r.trace, step.plan, attribution, GroupBy::kernel);
  result.ops = time_shares(r.trace, step.plan, attribution, GroupBy::op);
  result.layers = time_shares(r.trace, step.plan, attribution, GroupBy::layer);
  for (const DeviceWork& work : step.plan.works) {
    if (work.graph_node) result.graph_captured_us += to_us(work.duration);
  }
  add_critical_path(r, attribution, step.plan, repeated, steady, period, result);
}

}  // namespace

Replay replay(Trace trace, const ReplayOptions& options) {
  Replay r;
  r.trace = std::move(trace);
  const HostModel host = load_host_model(options.configs + "/hosts/" + options.host + ".json");
  r.links = link_trace(r.trace);
  Result& result = r.result;
  result.losses = r.trace.losses;
  result.losses.merge(r.links.losses);
  result.trace = summarize(r.trace, r.links);
  result.scenario.gpu = choose_gpu(r.trace, options, result.losses);
  result.scenario.mode = to_string(options.mode.mode);
  result.scenario.batch = result.trace.batch;
  result.scenario.precision = "as-traced";
  result.scenario.profiler = options.profiler == Profiler::remove ? "remove" : "keep";
  result.scenario.host = host.name;
  const DeviceTiming timing(r.trace, r.links, host);
  r.measured = measured_plan(r.trace, r.links, host, timing);
  result.losses.merge(r.measured.losses);
  r.measured_timeline = simulate(r.measured.plan);
  result.events = r.measured_timeline.events;
  std::vector<MeasuredSpan> spans;
  for (const PlanStep& step : r.measured.steps) {
    spans.push_back({step.name, step.first_item, step.end_item});
  }
  result.fidelity = fidelity(r.trace, r.links, r.measured.plan, spans, r.measured_timeline);
  predict(options, host, r);
  return r;
}

Replay replay(const ReplayOptions& options) {
  return replay(import_trace(options.trace_path, options.import), options);
}

}  // namespace tandem
