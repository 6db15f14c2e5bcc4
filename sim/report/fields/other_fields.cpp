#include <fmt/format.h>

#include "sim/check/finding.h"
#include "sim/counters/counter_table.h"
#include "sim/report/fields/fields.h"

namespace tandem {

namespace {

using P = Presence;

constexpr FieldRow check_rows[] = {
    {"schema", "text", "name and version of this format"},
    {"tandem_version", "text", "of the program that wrote it"},
    {"trace.path", "text", "file that was read"},
    {"trace.format", "text", "kineto or xprof"},
    {"trace.framework", "text", "that ran the step"},
    {"trace.gpu", "text", "device as the trace names it"},
    {"trace.steps", "count", "iterations that the trace holds"},
    {"trace.kernels", "count", "device activities of the whole trace"},
    {"findings[].code", "text", "check that found something (tandem describe check)"},
    {"findings[].severity", "text", "how bad it is"},
    {"findings[].value", "any", "what was seen, in the unit beside it"},
    {"findings[].expected", "any", "limit of what is expected"},
    {"findings[].unit", "text", "of both"},
    {"findings[].place", "text", "where in the trace"},
    {"findings[].what", "text", "what it is"},
    {"findings[].uses[]", "text", "what the trace is less good for by it"},
    {"findings[].means", "text", "what it means"},
    {"findings[].advice", "text", "what to do"},
    {"checks", "count", "checks that were made"},
};

constexpr FieldRow match_rows[] = {
    {"schema", "text", "name and version of this format"},
    {"tandem_version", "text", "of the program that wrote it"},
    {"trace", "text", "file of the trace"},
    {"counters.path", "text", "file of the report"},
    {"counters.page", "text", "of Nsight Compute that it holds"},
    {"step", "text", "step of the trace that was joined"},
    {"iterations", "count", "of the step in the report"},
    {"kernels.count", "count", "kernels of the step"},
    {"kernels.matched", "count", "of these, in the report"},
    {"kernels.exact", "count", "by name and launch geometry"},
    {"kernels.similar", "count", "by name and place"},
    {"kernels.substituted", "count", "with another kernel in their place"},
    {"kernels.match_rate", "ratio", "matched over count", P::may_be_null},
    {"kernels.time_us", "us", "sum of their durations in the trace"},
    {"kernels.matched_time_us", "us", "of those that match"},
    {"kernels.match_rate_time", "ratio", "the same over all", P::may_be_null},
    {"report_rows.count", "count", "kernels of the report"},
    {"report_rows.matched", "count", "of these, in the step"},
    {"report_rows.match_rate", "ratio", "matched over count", P::may_be_null},
    {"report_rows.time_us", "us", "sum of their durations in the report"},
    {"report_rows.matched_time_us", "us", "of those that match"},
    {"report_rows.match_rate_time", "ratio", "the same over all", P::may_be_null},
    {"step_us", "us", "duration of the traced step"},
    {"profiled_clock_ghz", "GHz", "of the SMs under Nsight Compute", P::may_be_null},
    {"implied_clock_ghz", "GHz", "cycles of the report over durations of the trace",
     P::may_be_null},
    {"layers[].name", "text", "kind of layer"},
    {"layers[].kernels", "count", "kernels of the step"},
    {"layers[].matched", "count", "of these, in the report"},
    {"layers[].time_us", "us", "sum of their durations"},
    {"layers[].matched_time_us", "us", "of those that match"},
    {"unmatched_kernels[].index", "count", "position in the step"},
    {"unmatched_kernels[].name", "text", "kernel of the trace"},
    {"unmatched_kernels[].op", "text", "operation that launched it"},
    {"unmatched_kernels[].time_us", "us", "its duration"},
    {"unmatched_kernels[].in_its_place", "text", "kernel of the report", P::may_be_absent},
    {"unmatched_rows[].id", "count", "of the report"},
    {"unmatched_rows[].name", "text", "kernel of the report"},
    {"unmatched_rows[].time_us", "us", "its duration there", P::may_be_null},
    {"data_loss[].code", "text", "kind of thing that was not read or repaired"},
    {"data_loss[].severity", "text", "info, warning or data_loss"},
    {"data_loss[].count", "count", "how often"},
    {"data_loss[].description", "text", "what happened and what was done about it"},
};

constexpr FieldRow utilization_rows[] = {
    {"smsp_active_utilization", "ratio", "SMSP cycles with a warp resident over all"},
    {"smsp_issue_utilization", "ratio", "SMSP cycles that issue an instruction over all"},
    {"tc_active_utilization", "ratio", "cycles of active tensor pipes over all"},
    {"tc_issue_utilization", "ratio", "tensor instructions issued over all SMSP cycles"},
};

constexpr FieldRow advice_rows[] = {
    {"schema", "text", "name and version of this format"},
    {"tandem_version", "text", "of the program that wrote it"},
    {"trace.path", "text", "file that was read"},
    {"trace.framework", "text", "that ran the step"},
    {"trace.gpu", "text", "device as the trace names it"},
    {"trace.batch", "count", "items of a pass of a step; null: not recognised", P::may_be_null},
    {"best", "text", "row that helps most with the same work; null: none", P::may_be_null},
    {"best_other_batch_or_gpu", "text", "row that helps most of all; null: none", P::may_be_null},
    {"nothing_helps", "bool", "no row is faster beyond its band"},
    {"rows[].name", "text", "what was tried"},
    {"rows[].how", "text", "what to change in the program"},
    {"rows[].options", "text", "of replay or run that predict it"},
    {"rows[].is_base", "bool", "the step as it is"},
    {"rows[].combined", "bool", "several of the others together"},
    {"rows[].same_work", "bool", "the batch and the GPU are those of the base"},
    {"rows[].speed_up.value", "ratio", "over the base, by throughput"},
    {"rows[].speed_up.low", "ratio", "nine of ten measured ones lie above"},
    {"rows[].speed_up.high", "ratio", "and below this"},
    {"rows[].why", "text", "the reason"},
    {"rows[].notes[]", "text", "what to know of it"},
    {"rows[].gpu", "text", "config of the GPU"},
    {"rows[].batch", "count", "items of a pass of a step; null: not known", P::may_be_null},
    {"rows[].passes", "count", "forward and backward, with a batch each, to a step"},
    {"rows[].time_us", "us", "of a step"},
    {"rows[].band.low_us", "us", "nine of ten measurements lie above"},
    {"rows[].band.high_us", "us", "and below this"},
    {"rows[].throughput_per_s", "1/s", "samples, or steps where the batch is not known"},
    {"rows[].gpu_kernel_us", "us", "sum of the kernels' durations"},
    {"rows[].limited_by", "text", "gpu, host or balance"},
    {"rows[].memory_peak_bytes", "B", "peak of the caching allocator", P::may_be_null},
    {"rows[].fits", "bool", "in the memory of the GPU", P::may_be_null},
    {"rows[].energy_per_sample_j", "J", "at the board of the GPU", P::may_be_null},
    {"rows[].job", "object", "what --samples take", P::may_be_absent},
    {"rows[].job.samples", "count", "that were asked for"},
    {"rows[].job.gpus", "count", "that the step runs on"},
    {"rows[].job.hours", "h", "that they take"},
    {"rows[].job.board_kwh", "kWh", "of the GPUs' boards alone", P::may_be_null},
    {"rows[].job.price_per_gpu_hour", "currency", "that was asked for", P::may_be_null},
    {"rows[].job.price", "currency", "of the job", P::may_be_null},
    {"refused[].name", "text", "what could not be tried"},
    {"refused[].reason", "text", "why"},
};

}  // namespace

std::vector<PublishedField> advice_fields() {
  std::vector<PublishedField> out;
  add_rows(advice_rows, out);
  return out;
}

std::vector<PublishedField> check_fields() {
  std::vector<PublishedField> out;
  add_rows(check_rows, out);
  for (const Named<Use>& use : uses) {
    const std::string verdict = fmt::format("verdicts.{}", use.name);
    out.push_back({verdict + ".verdict", "text", "good, doubtful or wrong for this use"});
    out.push_back({verdict + ".because[]", "text", "codes of the findings that say so"});
  }
  return out;
}

std::vector<PublishedField> match_fields() {
  std::vector<PublishedField> out;
  add_rows(match_rows, out);
  for (const char* part : {"kernel_time", "whole_step", "layers[]"}) {
    for (const FieldRow& row : utilization_rows) {
      out.push_back({fmt::format("{}.{}", part, row.path), row.unit, row.doc, P::may_be_null});
    }
  }
  for (const CounterInfo& info : counter_infos()) {
    if (info.launch) continue;
    out.push_back({fmt::format("sums.{}", info.name), "count",
                   "over the matched kernels of the step", P::may_be_null});
  }
  return out;
}

}  // namespace tandem
