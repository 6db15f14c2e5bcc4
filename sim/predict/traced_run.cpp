#include "sim/predict/traced_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/step/batch/batch_size.h"
#include "models/step/op_nesting.h"
#include "models/step/unknown_ops.h"
#include "models/step/unrecorded/indices.h"
#include "models/step/unrecorded/options.h"
#include "models/step/unrecorded/parts.h"
#include "models/step/unrecorded/types.h"
#include "sim/core/units.h"
#include "sim/engine/engine.h"
#include "sim/metrics/intervals.h"
#include "sim/metrics/step_metrics.h"
#include "sim/predict/calibrate_host.h"
#include "sim/predict/ranks/moving.h"
#include "sim/predict/stages/kernel_counters.h"
#include "sim/predict/stages/measured_counters.h"
#include "sim/predict/stages/memory.h"
#include "sim/predict/stages/simulated_step.h"

namespace tandem {

TracedRun::TracedRun() = default;
TracedRun::TracedRun(const TracedRun&) = default;
TracedRun::TracedRun(TracedRun&&) noexcept = default;
TracedRun& TracedRun::operator=(const TracedRun&) = default;
TracedRun& TracedRun::operator=(TracedRun&&) noexcept = default;
TracedRun::~TracedRun() = default;

namespace {

/// When the device begins with what the steps launch; of a trace without launches, with anything.
TimePoint first_launched(const Trace& trace, const Links& links, TimePoint from) {
  TimePoint first = TimePoint::max();
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const std::uint32_t call = links.call_of_activity[a];
    if (call == no_row || trace.calls.begin[call] < from) continue;
    first = std::min(first, trace.activities.begin[a]);
  }
  return first == TimePoint::max() ? from : first;
}

/// How long the steps wait for the device.
Duration waiting(const Trace& trace, TimePoint from, TimePoint to) {
  const RuntimeCalls& calls = trace.calls;
  Duration sum{};
  for (std::size_t i = 0; i < calls.size(); ++i) {
    if (calls.begin[i] < from || calls.begin[i] >= to) continue;
    if (waits_for_device(calls.api[i])) sum += calls.duration[i];
  }
  return sum;
}

/// Time of traced steps in a row: as long as the host needs for them or, where that runs ahead, the
/// device. What was launched before the trace began is no part of it: the device begins later by
/// that, for which the host waits where it waits at all.
Duration traced_time(const Trace& trace, const Links& links, std::span<const StepWindow> steps) {
  const TimePoint from = steps.front().begin;
  const TimePoint to = steps.back().end;
  const TimePoint begun = first_launched(trace, links, from);
  Duration host{};
  for (const StepWindow& step : steps) host += step.end - step.begin;
  TimePoint first = TimePoint::max();
  TimePoint last = TimePoint::min();
  std::vector<Interval> before;
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const std::uint32_t call = links.call_of_activity[a];
    const TimePoint begin = trace.activities.begin[a];
    const TimePoint end = begin + trace.activities.duration[a];
    if (call == no_row && begin < begun) before.push_back({begin, end});
    const TimePoint issued = call == no_row ? begin : trace.calls.begin[call];
    if (issued < from || issued >= to || begin < begun) continue;
    first = std::min(first, begin);
    last = std::max(last, end);
  }
  host -= std::min(waiting(trace, from, to), union_length(before, from, begun));
  const Duration device = last > first ? last - first : Duration::zero();
  return std::max(host, device);
}

/// Mean time of those traced steps that the prediction follows; ascending, at least one.
double traced_step_us(const Trace& trace, const Links& links,
                      const std::vector<std::size_t>& followed) {
  const std::span<const StepWindow> steps(links.steps);
  Duration sum{};
  for (std::size_t i = 0; i < followed.size();) {
    std::size_t end = i + 1;
    while (end < followed.size() && followed[end] == followed[end - 1] + 1) ++end;
    sum += traced_time(trace, links, steps.subspan(followed[i], end - i));
    i = end;
  }
  return to_us(sum) / static_cast<double>(followed.size());
}

TraceSummary summarize(const Trace& trace, const Links& links, const BatchSize& batch) {
  TraceSummary s;
  s.path = trace.path;
  s.format = trace.format;
  s.framework = trace.framework;
  s.gpu = trace.devices.empty() ? "unknown" : trace.devices.front().name;
  s.batch = batch.items;
  s.passes = batch.passes;
  s.steps = static_cast<std::int64_t>(links.steps.size());
  s.steps_by = links.steps_by;
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

/// Whether most kernel time has grid and block: without them nothing is known of what a kernel
/// occupies, fetches or costs.
bool states_grids(const Trace& trace) {
  const Activities& acts = trace.activities;
  Duration without{};
  Duration all{};
  for (std::size_t i = 0; i < acts.size(); ++i) {
    if (acts.kind[i] != ActivityKind::kernel) continue;
    all += acts.duration[i];
    if (!acts.geometry[i].valid()) without += acts.duration[i];
  }
  return 2 * without <= all;
}

/// The config of the traced device, or the one that the user says it is. Errors: InputError if the
/// trace says that it is another.
std::optional<GpuArch> traced_gpu(const Trace& trace, const GpuCatalogue& catalogue,
                                  const ReplayOptions& options, LossList& losses) {
  const DeviceProperties device =
      trace.devices.empty() ? DeviceProperties{} : trace.devices.front();
  const DeviceMatch match = match_device(catalogue, device);
  if (!options.traced_gpu.empty()) {
    const GpuArch& said = find_gpu(catalogue, options.traced_gpu);
    if (!match.by_name || match.gpu->name == said.name) return said;
    throw InputError(trace.path, "--traced-gpu", "a trace of " + match.gpu->name,
                     "no --traced-gpu, or " + match.gpu->name);
  }
  if (match.gpu != nullptr) {
    losses.add("device_by_properties", Severity::warning,
               (device.name.empty() ? std::string("the trace does not name its device: ")
                                    : "no GPU config is called \"" + device.name +
                                          "\", as the trace calls its device: ") +
                   match.gpu->name +
                   " stands for it, for its compute capability, SMs and memory "
                   "are the same (clocks, power and links need not be; --traced-gpu names one)",
               match.by_name ? 0 : 1);
    return *match.gpu;
  }
  if (trace.activities.size() == 0) return {};
  losses.add("unknown_device", Severity::warning,
             "no GPU config matches the traced device \"" + device.name + "\"" +
                 (match.differs.empty() ? "" : ": " + match.differs) +
                 "; nothing that needs one was computed (--traced-gpu names one)");
  return {};
}

HostBasis host_basis(const TracedRun& a, Profiler profiler) {
  if (profiler == Profiler::keep) return HostBasis::kept;
  if (a.measured.executor) return HostBasis::executor;
  if (a.generated_error > 0) return HostBasis::network;
  return a.step_is_measured ? HostBasis::measured_step : HostBasis::trace;
}

/// Of `step`, which `loop` repeats. Without a host the gaps between kernels may be all its own.
BandParts base_band(const TracedRun& a, Profiler profiler, const Step& step, const Plan& loop) {
  BandParts out;
  out.basis = host_basis(a, profiler);
  const Factors& factors = a.configs.bands.of(out.basis);
  const HostModel& host = a.configs.host;
  // With the shares of SMs as they are: durations of this plan do not hold them yet.
  out.host = {loop_us(with_host(loop, factors.low), host),
              loop_us(with_host(loop, factors.high), host)};
  if (a.measured.device_only) out.host.fast_us = gpu_us(step);
  out.launched = a.measured.graph_launches ? Launched::in_graphs : Launched::by_calls;
  return out;
}

}  // namespace

Configs load_configs(const ReplayOptions& options) {
  return load_configs(options.configs, options.host, options.what_ifs.get("gpu"));
}

TracedRun analyse(Trace trace, const ReplayOptions& options) {
  return analyse(std::move(trace), options, load_configs(options));
}

namespace {

/// What-ifs of the batch rewrite the dimensions that it divides: one that somebody states and the
/// shapes contradict changes others than those of the items.
void check_stated_batch(std::int64_t items, TracedRun& a) {
  a.trace.stated_batch.reset();
  const auto told = batch_size(a.trace, a.links).items;
  a.losses.add("traced_batch_contradicts", Severity::warning,
               fmt::format("the batch that was stated, {}, is not the {} that the first layer of "
                           "the trace takes: another batch changes dimensions that are no items",
                           items, told.value_or(0)),
               told && *told != items ? 1 : 0);
  a.trace.stated_batch = items;
}

}  // namespace

TracedRun measure(Trace trace, const ReplayOptions& options, Configs configs) {
  TracedRun a;
  a.trace = std::move(trace);
  a.configs = std::move(configs);
  if (options.traced_batch > 0) a.trace.stated_batch = options.traced_batch;
  a.links = link_on_one_clock(a.trace, a.clock_offsets);
  choose_steps(a.trace, options.steps, a.links);
  a.losses = a.trace.losses;
  a.losses.merge(a.links.losses);
  infer_distributed_parts(a.trace, a.links);
  a.losses.merge(infer_unrecorded_options(a.trace, a.links));
  infer_unrecorded_types(a.trace, a.links);
  infer_unrecorded_indices(a.trace, a.links);
  a.losses.add("steps_of_other_batches", Severity::warning,
               "steps of another batch than most steps have, which were left out (--step NAME "
               "chooses one)",
               keep_steps_of_one_batch(a.trace, a.links));
  if (options.traced_batch > 0) check_stated_batch(options.traced_batch, a);
  const BatchSize batch = batch_size(a.trace, a.links);
  a.losses.add(
      "batch_behind_graph", Severity::warning,
      "the step launches a CUDA graph before its first recorded layer, which need not take "
      "the batch of the step: how many items a step takes is not known (--traced-batch N "
      "says it)",
      batch.behind_graph ? 1 : 0);
  a.summary = summarize(a.trace, a.links, batch);
  a.gpu = traced_gpu(a.trace, a.configs.gpus, options, a.losses);
  a.states_grids = states_grids(a.trace);
  a.losses.add("no_launch_geometry", Severity::warning,
               "most kernel time is in kernels without grid and block: no utilization, traffic or "
               "energy was computed",
               a.states_grids ? 0 : 1);
  if (a.gpu) {
    const TraceLaunches launches(a.trace, a.links, nest_ops(a.trace, a.links).of_call);
    a.counters = kernel_counters(a.trace, launches, *a.gpu, a.configs.costs, a.configs.time,
                                 options.cache, a.losses);
    a.losses.add("impossible_launches", Severity::warning,
                 "kernels a block of which the traced GPU cannot hold, by registers, threads or "
                 "shared memory: they are taken to occupy nothing",
                 static_cast<std::int64_t>(impossible_launches(a.trace, *a.gpu).size()));
  }
  a.pool = TracedPool(a.trace, places(a.counters));
  const HostModel& host = a.configs.host;
  const DeviceTiming timing(a.trace, a.links, host);
  a.measured = measured_plan(a.trace, a.links, host, timing, a.pool);
  a.losses.merge(a.measured.losses);
  a.measured_timeline = simulate(a.measured.plan);
  a.attribution = attribute(a.trace, a.links);
  std::vector<MeasuredSpan> spans;
  for (const PlanStep& step : a.measured.steps) {
    spans.push_back({step.name, step.first_item, step.end_item});
  }
  a.fidelity = fidelity(a.trace, a.links, a.measured.plan, spans, a.measured_timeline);
  if (!options.counters_path.empty()) {
    a.model_counters = a.counters;
    add_measured_counters(a, options.counters_path);
  }
  return a;
}

void find_base(Profiler profiler, const Step& step, TracedRun& a) {
  const Plan loop = traced_loop(a, step);
  a.summary.unprofiled_step_us = loop_us(loop, a.configs.host);
  a.base_band = base_band(a, profiler, step, loop);
}

namespace {

/// Errors: InputError for a peak that somebody says it was and that does not even hold the step's
/// parameters.
void check_said_peak(const TracedRun& a) {
  const double parameters = a.memory ? a.memory->kept.parameters : 0;
  if (a.said_peak_bytes <= 0 || a.said_peak_bytes >= parameters) return;
  throw InputError(a.summary.path, "--peak-memory",
                   fmt::format("{} GB", a.said_peak_bytes / bytes_per_gb),
                   fmt::format("at least {:.3f} GB, which the parameters of the step take",
                               parameters / bytes_per_gb));
}

}  // namespace

void find_step(const MeasuredPlan& plan, const ReplayOptions& options, TracedRun& a) {
  if (options.measured_step_us != 0) {
    a.configs.host = host_of_step(a, plan, options.measured_step_us, a.losses);
    a.step_is_measured = true;
  }
  StepPlan step = step_plan(a.trace, plan, a.configs.host, options.profiler);
  a.losses.merge(step.losses);
  a.summary.steps_followed = static_cast<std::int64_t>(step.followed.size());
  a.summary.followed_step = step.name;
  a.summary.traced_step_us = traced_step_us(a.trace, a.links, step.followed);
  a.traced_step = cut_step(a.trace, a.links, std::move(step));
  a.losses.merge(unknown_operations(a.traced_step));
  find_base(options.profiler, a.traced_step, a);
  a.said_peak_bytes = options.peak_memory_bytes;
  // Who made the step knows its memory (sim/predict/network_run.cpp).
  if (a.gpu && !a.is_generated()) a.memory = traced_peak(a, nullptr);
  check_said_peak(a);
  a.losses.add("memory_in_graphs", Severity::warning,
               "most device work was launched by CUDA graphs, of whose tensors the trace does not "
               "tell: no peak of memory (--peak-memory GB says it)",
               !a.memory && hides_tensors(a) ? 1 : 0);
}

TracedRun analyse(Trace trace, const ReplayOptions& options, Configs configs,
                  double generated_error) {
  TracedRun a = measure(std::move(trace), options, std::move(configs));
  a.generated_error = generated_error;
  MeasuredPlan unwaited = a.measured;
  if (options.profiler == Profiler::remove) {
    remove_waits(a.trace, a.gpu ? &*a.gpu : nullptr, a.configs.collectives, unwaited, a.losses);
  }
  find_step(unwaited, options, a);
  return a;
}

}  // namespace tandem
