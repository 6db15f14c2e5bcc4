// tandem check: whether a measured trace can be trusted, and for what.
#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>

#include "sim/check/checks.h"
#include "sim/cli/arguments.h"
#include "sim/cli/scenario_options.h"
#include "sim/cli/schema/documents.h"
#include "sim/counters/match.h"
#include "sim/predict/stages/measured_counters.h"
#include "sim/report/check_report.h"
#include "sim/trace/import.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

ReplayOptions replay_options(const po::variables_map& values) {
  ReplayOptions o;
  o.trace_path = values["trace"].as<std::string>();
  read_trace_options(values, o);
  o.configs = data_root() + "/configs";
  return o;
}

}  // namespace

CommandLine check_line() {
  po::options_description trace("Measurement"), output("Output");
  trace.add_options()("trace", po::value<std::string>()->value_name(file_value), trace_doc)(
      "counters", text_value(file_value),
      "Nsight Compute report (ncu --csv, any page) that is said to be of the same workload")(
      "traced-gpu", text_value(gpu_value), "the traced GPU, where the trace does not tell it")(
      "steps", po::value<std::int64_t>()->value_name("N"),
      "iterations that the trace holds; default: its marks, else what repeats itself")(
      "step", text_value("NAME"), "an annotation that begins each step");
  output.add_options()("json", text_value(file_value), "write the result here; -: stdout")(
      "quiet", "no text");
  return {"check",
          "TRACE [NCU.csv[.gz|.zst]] [options]",
          "What a measured trace is good for. Exit status 1 if something in it is wrong.",
          {{"trace"}, {"counters"}},
          {trace, output}};
}

int run_check(const Arguments& arguments) {
  const auto parsed = parse_arguments(check_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  if (values.count("trace") == 0) {
    throw InputError("command line", "check", "no TRACE", "tandem check TRACE [NCU.csv] [options]");
  }
  const ReplayOptions asked = replay_options(values);
  const CheckLimits limits = load_check_limits(asked.configs + "/checks.json");
  const std::string counters = values["counters"].as<std::string>();
  std::optional<MatchedCounters> matched;
  if (!counters.empty()) matched.emplace(MatchedCounters{read_counter_report(counters), {}});
  const TracedRun run = analyse(import_trace(asked.trace_path), asked);
  if (matched) {
    if (run.gpu) hold_against(counted_gpu(*run.gpu), matched->report);
    matched->match = match_best_step(run.trace, run.links, matched->report);
  }
  const CheckReport report = check(run, limits, matched ? &*matched : nullptr);
  write_document(values["json"].as<std::string>(), check_json(run.summary, report));
  if (!fills_stdout(values) && values.count("quiet") == 0) {
    fmt::print("{}", check_text(run.summary, report));
  }
  return report.any(Concern::wrong) ? exit_check_failed : exit_ok;
}

}  // namespace tandem
