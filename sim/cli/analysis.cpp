#include <algorithm>
#include <utility>

#include "models/arch/gpu_config.h"
#include "sim/cli/kernel_counters.h"
#include "sim/cli/measured_counters.h"
#include "sim/cli/replay.h"
#include "sim/engine/engine.h"
#include "sim/metrics/step_metrics.h"

namespace tandem {

namespace {

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
std::optional<GpuArch> choose_gpu(const Trace& trace, const ReplayOptions& options,
                                  LossList& losses) {
  const GpuCatalogue catalogue = load_catalogue(options.configs + "/gpus");
  const DeviceProperties device =
      trace.devices.empty() ? DeviceProperties{} : trace.devices.front();
  const DeviceMatch match = match_device(catalogue, device);
  const std::string traced = match.gpu == nullptr ? "" : match.gpu->name;
  if (options.gpu.empty() && options.overrides.empty()) {
    if (match.gpu != nullptr) return *match.gpu;
    losses.add("unknown_device", Severity::warning,
               "no GPU config matches the traced device \"" + device.name +
                   "\"; nothing that needs one was computed (--gpu names one)");
    return {};
  }
  GpuArch gpu = find_gpu(catalogue, options.gpu.empty() ? traced : options.gpu);
  apply_overrides(gpu, options.overrides);
  const bool other = !traced.empty() && gpu.name != traced;
  if (other || !options.overrides.empty()) {
    throw InputError("command line", options.overrides.empty() ? "--gpu" : "--set",
                     "\"" + gpu.name + "\" for a trace of \"" + device.name + "\"",
                     "the traced GPU (" + (traced.empty() ? "unknown" : traced) +
                         "): re-timing kernels for another GPU is not part of this version");
  }
  return gpu;
}

}  // namespace

Analysis analyse(Trace trace, const ReplayOptions& options) {
  Analysis a;
  a.trace = std::move(trace);
  a.host = load_host_model(options.configs + "/hosts/" + options.host + ".json");
  a.links = link_trace(a.trace);
  a.losses = a.trace.losses;
  a.losses.merge(a.links.losses);
  a.summary = summarize(a.trace, a.links);
  a.gpu = choose_gpu(a.trace, options, a.losses);
  const DeviceTiming timing(a.trace, a.links, a.host);
  a.measured = measured_plan(a.trace, a.links, a.host, timing);
  a.losses.merge(a.measured.losses);
  a.measured_timeline = simulate(a.measured.plan);
  a.attribution.emplace(a.trace, a.links);
  std::vector<MeasuredSpan> spans;
  for (const PlanStep& step : a.measured.steps) {
    spans.push_back({step.name, step.first_item, step.end_item});
  }
  a.fidelity = fidelity(a.trace, a.links, a.measured.plan, spans, a.measured_timeline);
  if (a.gpu) {
    a.counters =
        kernel_counters(a.trace, a.links, *a.gpu, options.configs, options.cache, a.losses);
  }
  if (!options.counters_path.empty()) add_measured_counters(a, options.counters_path);
  return a;
}

}  // namespace tandem
