#include <fmt/format.h>

#include "models/whatif/reported.h"
#include "sim/metrics/gpu_metrics.h"
#include "sim/metrics/kernel_levels.h"
#include "sim/metrics/runtime_metrics.h"
#include "sim/metrics/step_metrics.h"
#include "sim/predict/result.h"
#include "sim/report/fields/fields.h"

namespace tandem {

namespace {

using P = Presence;

constexpr FieldRow head_rows[] = {
    {"schema", "text", "name and version of this format"},
    {"tandem_version", "text", "of the program that wrote it"},
    {"trace.path", "text", "file that was read: of the trace, or of the network"},
    {"trace.format", "text", "kineto, xprof, or network where there is no trace"},
    {"trace.framework", "text", "that ran the step"},
    {"trace.gpu", "text", "device as the trace names it"},
    {"trace.batch", "count", "items of a pass of a traced step; null: not recognised",
     P::may_be_null},
    {"trace.passes", "count", "forward and backward, with a batch each, to a step"},
    {"trace.steps", "count", "iterations that the trace holds"},
    {"trace.steps_by", "text", "how they were found: marks, options, or what repeats itself"},
    {"trace.traced_step_us", "us",
     "mean of the traced steps that the prediction follows, the profiler's cost included"},
    {"trace.unprofiled_step_us", "us",
     "the same step predicted without what-ifs: without the profiler, or with it where it is kept"},
    {"trace.kernels", "count", "device activities of the whole trace: kernels, copies, memsets"},
    {"trace.launches", "count", "launch calls of the whole trace"},
    {"trace.host_ops", "count", "operations of the framework in the whole trace"},
    {"trace.streams", "count", "streams with work"},
    {"trace.rank", "count", "of a run of several processes, else 0"},
    {"trace.world_size", "count", "processes of the run"},
    {"scenario.gpu", "text", "config of the GPU that the step is predicted on"},
    {"scenario.mode", "text", "how the host issues the step"},
    {"scenario.graph_scope", "text", "what the CUDA graphs that mode cuda-graph makes capture",
     P::may_be_absent},
    {"scenario.batch", "count", "items of a pass of the predicted step; null: not known",
     P::may_be_null},
    {"scenario.passes", "count", "forward and backward, with a batch each, to a step"},
    {"scenario.precision", "text", "arithmetic of the predicted step"},
    {"scenario.profiler", "text", "remove: its cost is taken out; keep: it is left in"},
    {"scenario.host", "text", "host config"},
    {"fidelity.steps[].name", "text", "a traced step"},
    {"fidelity.steps[].traced_us", "us", "as measured"},
    {"fidelity.steps[].simulated_us", "us", "re-simulated as measured, profiler included"},
};

constexpr FieldRow step_rows[] = {
    {"step.memory_peak_bytes", "B", "as memory.peak_bytes", P::may_be_null},
    {"step.fits", "bool", "as memory.fits", P::may_be_null},
    {"step.energy_j", "J", "energy of the step at the board of the GPU", P::may_be_null},
    {"step.average_power_w", "W", "energy_j over time_us", P::may_be_null},
    {"step.energy_per_sample_j", "J", "energy_j over the items of the step", P::may_be_null},
    {"step.energy", "object", "what energy_j is spent on; null: no constants for this GPU",
     P::may_be_null},
    {"memory", "object", "peak of the caching allocator; null: not known", P::may_be_null},
    {"memory.peak_bytes", "B", "most memory that the step's tensors hold at once"},
    {"memory.fits", "bool", "in the memory of the scenario's GPU"},
    {"memory.largest_batch", "count", "that fits"},
    {"memory.uncertainty", "ratio", "half of the 90 % interval of the peak, over the peak"},
    {"memory.low_bytes", "B", "nine of ten measurements of the peak lie above"},
    {"memory.high_bytes", "B", "and below this"},
    {"memory.parameters_bytes", "B", "of the peak: parameters, what is gathered of others"},
    {"memory.states_bytes", "B", "of the peak: states of the optimizer"},
    {"memory.buckets_bytes", "B", "of the peak: buckets in which ranks sum gradients"},
    {"memory.workspaces_bytes", "B", "of the peak: workspaces of libraries"},
    {"memory.tensors_bytes", "B",
     "of the peak: tensors of the step, among them what is kept for the backward pass and "
     "gradients"},
    {"kernel_time.time_us", "us", "sum of the kernels' durations, over which the ratios here are"},
    {"runtime", "object", "of runtimes that queue operations", P::may_be_absent},
    {"job", "object", "what --samples take", P::may_be_absent},
    {"job.samples", "count", "that were asked for"},
    {"job.gpus", "count", "that the step runs on"},
    {"job.hours", "h", "that they take"},
    {"job.board_kwh", "kWh", "of the GPUs' boards alone; null: not known", P::may_be_null},
    {"job.price_per_gpu_hour", "currency", "that was asked for", P::may_be_null},
    {"job.price", "currency", "of the job", P::may_be_null},
};

constexpr FieldRow list_rows[] = {
    {"families[].name", "text", "kind of work"},
    {"families[].modelled", "bool", "whether its counters are predicted"},
    {"families[].count", "count", "activities of the step"},
    {"families[].time_us", "us", "sum of their durations"},
    {"families[].share", "ratio", "of the device time of the step"},
    {"families[].energy_j", "J", "their dynamic energy"},
    {"distributions.smsp_issue_utilization[].from", "ratio", "lower end of a bin"},
    {"distributions.smsp_issue_utilization[].to", "ratio", "upper end"},
    {"distributions.smsp_issue_utilization[].kernels", "count", "kernels in it"},
    {"distributions.smsp_issue_utilization[].time_us", "us", "sum of their durations"},
    {"distributions.tc_issue_utilization[].from", "ratio", "lower end of a bin"},
    {"distributions.tc_issue_utilization[].to", "ratio", "upper end"},
    {"distributions.tc_issue_utilization[].kernels", "count", "kernels in it"},
    {"distributions.tc_issue_utilization[].time_us", "us", "sum of their durations"},
    {"collectives", "object", "between ranks; null: none in the step", P::may_be_null},
    {"collectives.count", "count", "collectives of the step"},
    {"collectives.bytes", "B", "moved by them"},
    {"collectives.time_us", "us", "sum of their durations, without waits for other ranks"},
    {"collectives.exposed_us", "us", "of that, while nothing computes"},
    {"input_wait_us", "us", "of a step for its input"},
    {"input_critical_us", "us", "of that, what makes the step longer"},
    {"input_copies", "object", "from the host; null: none in the step", P::may_be_null},
    {"input_copies.count", "count", "copies of the step"},
    {"input_copies.bytes", "B", "copied"},
    {"input_copies.time_us", "us", "sum of their durations"},
    {"input_copies.exposed_us", "us", "of that, while nothing computes"},
    {"ranks", "object", "of several traces, simulated together; else null", P::may_be_null},
    {"ranks.time_us", "us", "of a step of all ranks"},
    {"ranks.skew_mean_us", "us", "between the first and the last rank that comes to a collective"},
    {"ranks.skew_worst_us", "us", "the largest of these"},
    {"ranks.ranks[].rank", "count", "number of a process"},
    {"ranks.ranks[].time_us", "us", "of its step"},
    {"ranks.ranks[].collective_us", "us", "in collectives, waiting included"},
    {"ranks.ranks[].waiting_us", "us", "of that, for the last rank to come"},
    {"ranks.ranks[].exposed_us", "us", "in collectives while nothing computes"},
    {"limited_by", "text", "gpu, host or balance: what most of the critical path is"},
    {"expected_error", "ratio", "half the width of the band over step.time_us"},
    {"band.low_us", "us", "nine of ten measurements of step.time_us lie above"},
    {"band.high_us", "us", "and below this"},
    {"band.gpu_kernel_low_us", "us", "the same of step.gpu_kernel_us"},
    {"band.gpu_kernel_high_us", "us", "and its upper end"},
    {"band.unverified[]", "text", "parts of the band that no measurement has confirmed"},
    {"speed_up", "object", "over the traced step; null where nothing was changed", P::may_be_null},
    {"speed_up.base_us", "us", "of the traced step in the traced mode"},
    {"speed_up.value", "ratio", "base_us over step.time_us"},
    {"speed_up.low", "ratio", "nine of ten measured speed-ups lie above"},
    {"speed_up.high", "ratio", "and below this"},
    {"graph_captured_us", "us", "device time of all CUDA graphs"},
    {"graphs[].nodes", "count", "nodes of a CUDA graph that the step launches"},
    {"graphs[].device_us", "us", "sum of their durations"},
    {"graphs[].followed_by[]", "text", "operations between it and the next, each once"},
    {"kernels[].name", "text", "name of the kernel, or of a copy"},
    {"kernels[].family", "text", "kind of work; null: no kernel", P::may_be_null},
    {"kernels[].bound", "text",
     "compute, memory, latency or launch: what most of the time is bound by", P::may_be_null},
    {"kernels[].bound_law", "text", "law of the time model that says so, or use: utilization",
     P::may_be_null},
    {"kernels[].op", "text", "operation that launched most of it", P::may_be_null},
    {"kernels[].layer", "text", "kind of layer that most of it belongs to", P::may_be_null},
    {"ops[].name", "text", "operation of the framework that launched the work"},
    {"layers[].name", "text", "kind of layer that the work belongs to"},
    {"modules[].name", "text", "module of the model, where the trace has Python's stack"},
    {"step_parts[].kind", "text", path_kind_doc},
    {"step_parts[].op", "text", "operation; empty: none is known"},
    {"step_parts[].layer", "text", "kind of layer, of what the device does"},
    {"step_parts[].name", "text", "kernel or call; empty for host time and gaps"},
    {"step_parts[].count", "count", "pieces of the critical path"},
    {"step_parts[].time_us", "us", "their sum; all parts together are the step"},
    {"critical_path[].kind", "text", path_kind_doc},
    {"critical_path[].name", "text", "what of that kind"},
    {"critical_path[].count", "count", "pieces of the path"},
    {"critical_path[].time_us", "us", "their sum"},
    {"critical_path[].share", "ratio", "of the path"},
    {"what_ifs[].name", "text", "a what-if that changed the step"},
    {"what_ifs[].from", "text", "what it was"},
    {"what_ifs[].to", "text", "what it became"},
    {"what_ifs[].expected_error", "ratio", "of the GPU time that it changed"},
    {"what_ifs[].values[].name", "text", "a number of its report, as under the what-if's own key"},
    {"what_ifs[].values[].unit", "text", "of the value"},
    {"what_ifs[].values[].value", "any", "number, text or truth value"},
    {"what_ifs[].values[].description", "text", "what it is"},
    {"data_loss[].code", "text", "kind of thing that was not read, not modelled or repaired"},
    {"data_loss[].severity", "text", "info, warning or data_loss"},
    {"data_loss[].count", "count", "how often"},
    {"data_loss[].description", "text", "what happened and what was done about it"},
};

/// The objects of the what-ifs, as their reports are made.
void add_what_ifs(std::vector<PublishedField>& out) {
  for (const ReportedObject& object : reported_objects()) {
    const auto add = [&](std::string_view at, const ReportField& field) {
      out.push_back({fmt::format("{}.{}{}", object.json, at, field.name), std::string(field.unit),
                     std::string(field.doc)});
    };
    out.push_back({std::string(object.json), "object", std::string(object.doc),
                   object.null_unless_asked ? P::may_be_null : P::may_be_absent});
    for (const ReportField& field : object.values) add("", field);
    for (const ReportField& field : object.list.columns) {
      add(fmt::format("{}[].", object.list.name), field);
    }
    add("", {"expected_error", "ratio", "of the GPU time that the what-if changed"});
  }
}

/// What ranked lists of kernels, operations and layers say alike.
void add_share_rows(const char* list, std::vector<PublishedField>& out) {
  const auto add = [&](const char* name, const char* unit, const char* doc) {
    out.push_back({fmt::format("{}.{}", list, name), unit, doc});
  };
  add("count", "count", "activities of the step");
  add("time_us", "us", "sum of their durations");
  add("share", "ratio", "of the device time of the step");
  add("energy_j", "J", "their dynamic energy");
}

template <class Infos>
void add_infos(std::string_view prefix, const Infos& infos, Presence presence,
               std::vector<PublishedField>& out) {
  for (const auto& info : infos) {
    out.push_back({fmt::format("{}.{}", prefix, info.name), std::string(info.unit),
                   std::string(info.description), presence});
  }
}

}  // namespace

std::vector<PublishedField> result_fields() {
  std::vector<PublishedField> out;
  add_rows(head_rows, out);
  add_infos("step", step_metric_infos(), P::always, out);
  add_infos("step", gpu_metric_infos(), P::may_be_null, out);
  add_rows(step_rows, out);
  add_infos("step.energy", energy_infos(), P::always, out);
  add_infos("kernel_time", gpu_metric_infos(), P::may_be_null, out);
  add_infos("runtime", runtime_metric_infos(), P::always, out);
  add_rows(list_rows, out);
  add_infos("families[]", gpu_metric_infos(), P::may_be_null, out);
  for (const char* list : {"kernels[]", "ops[]", "layers[]", "modules[]"}) {
    add_share_rows(list, out);
    out.push_back({fmt::format("{}.reason", list), "text",
                   "why its kernels are not faster: type, alignment, layout, occupancy or launch; "
                   "null: nothing stands out",
                   P::may_be_null});
    add_infos(list, kernel_level_infos(), P::may_be_null, out);
  }
  add_what_ifs(out);
  return out;
}

}  // namespace tandem
