#include "sim/counters/match.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "models/arch/gpu_config.h"
#include "models/step/attribution.h"
#include "sim/cli/arguments.h"
#include "sim/cli/files.h"
#include "sim/cli/schema/documents.h"
#include "sim/predict/stages/measured_counters.h"
#include "sim/report/match_report.h"
#include "sim/trace/import.h"
#include "sim/trace/step_search.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

/// Errors: InputError if nothing matches.
StepMatch match(const Trace& trace, const Links& links, const CounterReport& report,
                const std::string& step) {
  StepMatch found = step.empty() ? match_best_step(trace, links, report)
                                 : match_step(trace, links, report, find_step(trace, links, step));
  if (found.iterations == 0) {
    throw InputError(report.path, "", "no kernel of " + found.step + " of " + trace.path,
                     "a report of the same workload");
  }
  return found;
}

/// Nothing is held against a device that no config describes.
void hold_against_traced(const Trace& trace, CounterReport& counters) {
  if (trace.devices.empty()) return;
  const GpuCatalogue gpus = load_catalogue(data_root() + "/configs/gpus");
  const DeviceMatch device = match_device(gpus, trace.devices.front());
  if (device.gpu != nullptr) hold_against(counted_gpu(*device.gpu), counters);
}

bool is_annotation(const Trace& trace, const std::string& name) {
  return std::any_of(trace.annotations.name.begin(), trace.annotations.name.end(),
                     [&](StringId id) { return text_of(trace, id) == name; });
}

/// The trace with its steps. A `step` that is none of them but an annotation marks the steps, of
/// which any may then fit.
Links linked(const Trace& trace, std::int64_t count, std::string& step) {
  Links links = link_trace(trace);
  choose_steps(trace, {"", count}, links);
  const bool known = std::any_of(links.steps.begin(), links.steps.end(),
                                 [&](const StepWindow& s) { return s.name == step; });
  if (known || !is_annotation(trace, step)) return links;
  choose_steps(trace, {step, 0}, links);
  step.clear();
  return links;
}

}  // namespace

CommandLine match_line() {
  po::options_description trace("Measurement"), output("Output");
  trace.add_options()("trace", po::value<std::string>()->value_name(file_value), trace_doc)(
      "counters", po::value<std::string>()->value_name(file_value),
      "Nsight Compute report (ncu --csv, any page)")(
      "step", text_value("NAME"),
      "step of the trace, e.g. ProfilerStep#3 or \"iteration 2\", or an annotation that begins "
      "each step; default: the one that fits best")(
      "steps", po::value<std::int64_t>()->value_name("N"),
      "iterations that the trace holds; default: its marks, else what repeats itself");
  output.add_options()("out", text_value(file_value),
                       "write the per-kernel table (CSV) here; -: stdout")(
      "json", text_value(file_value), "write the result here; -: stdout")("quiet", "no summary");
  add_loss_option(output);
  return {"match",
          "TRACE NCU.csv[.gz|.zst] [options]",
          "One table of a trace and a counter report, a row a kernel.",
          {{"trace"}, {"counters"}},
          {trace, output}};
}

int run_match(const Arguments& arguments) {
  const auto parsed = parse_arguments(match_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  if (values.count("trace") == 0 || values.count("counters") == 0) {
    throw InputError("command line", "match", "no TRACE or no NCU.csv",
                     "tandem match TRACE NCU.csv [options]");
  }
  CounterReport counters = read_counter_report(values["counters"].as<std::string>());
  const Trace trace = import_trace(values["trace"].as<std::string>());
  hold_against_traced(trace, counters);
  std::string step = values["step"].as<std::string>();
  const Links links =
      linked(trace, values.count("steps") > 0 ? values["steps"].as<std::int64_t>() : 0, step);
  const StepMatch found = match(trace, links, counters, step);
  const Attribution names = attribute(trace, links);
  const MatchReport report =
      make_match_report(trace, links, {names.op, names.layer}, counters, found);
  const std::string table = values["out"].as<std::string>();
  const std::string json = values["json"].as<std::string>();
  write_document(json, match_json(report));
  write_file(table, [&](std::ostream& out) { write_match_csv(out, report); });
  if (table != "-" && !fills_stdout(values) && values.count("quiet") == 0) {
    fmt::print("{}", printable(match_summary_text(report)));
  }
  const MatchSummary& s = report.summary;
  if (foreign_share(counters, found) > mostly_foreign) {
    fmt::print(stderr, "tandem: {} of {} kernels of the report match; is it of this workload?\n",
               s.rows_matched, s.rows);
  }
  return loss_status(report.losses.any(Severity::data_loss), accepts_loss(values), trace.path);
}

}  // namespace tandem
