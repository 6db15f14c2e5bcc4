// tandem check: whether a measured trace can be trusted, and for what.
#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "sim/check/checks.h"
#include "sim/cli/arguments.h"
#include "sim/cli/files.h"
#include "sim/counters/match.h"
#include "sim/report/check_report.h"
#include "sim/trace/import.h"

namespace tandem {

namespace {

namespace po = boost::program_options;
using Json = nlohmann::ordered_json;

po::options_description options_of_check() {
  po::options_description options("tandem check TRACE [NCU.csv[.gz|.zst]]");
  options.add_options()("help", "show this text")("trace", po::value<std::string>(),
                                                  "profiler trace (.json, .json.gz or .json.zst)")(
      "counters", po::value<std::string>()->default_value(""),
      "Nsight Compute report (ncu --csv, any page) that is said to be of the same workload")(
      "traced-gpu", po::value<std::string>()->default_value(""),
      "the traced GPU, where the trace does not tell it")(
      "steps", po::value<std::int64_t>()->default_value(0),
      "iterations that the trace holds; default: its marks, else what repeats itself")(
      "step", po::value<std::string>()->default_value(""), "an annotation that begins each step")(
      "json", po::value<std::string>()->default_value(""), "write the result here; -: stdout")(
      "quiet", "no text");
  return options;
}

ReplayOptions replay_options(const po::variables_map& values) {
  ReplayOptions o;
  o.trace_path = values["trace"].as<std::string>();
  o.traced_gpu = values["traced-gpu"].as<std::string>();
  o.steps = {values["step"].as<std::string>(), values["steps"].as<std::int64_t>()};
  o.configs = data_root() + "/configs";
  return o;
}

}  // namespace

int run_check(const Arguments& arguments) {
  const po::options_description options = options_of_check();
  const po::variables_map values =
      parse_arguments("check", arguments, options, {{"trace"}, {"counters"}});
  if (values.count("help") > 0) {
    std::cout << options;
    return exit_ok;
  }
  if (values.count("trace") == 0) {
    throw InputError("command line", "check", "no TRACE", "tandem check TRACE [NCU.csv] [options]");
  }
  const ReplayOptions asked = replay_options(values);
  const CheckLimits limits = load_check_limits(asked.configs + "/checks.json");
  const std::string counters = values["counters"].as<std::string>();
  std::optional<MatchedCounters> matched;
  if (!counters.empty()) matched.emplace(MatchedCounters{read_counter_report(counters), {}});
  const TracedRun run = analyse(import_trace(asked.trace_path), asked);
  if (matched) matched->match = match_best_step(run.trace, run.links, matched->report);
  const CheckReport report = check(run, limits, matched ? &*matched : nullptr);
  const std::string json = values["json"].as<std::string>();
  write_file(json, [&](std::ostream& out) {
    // A kernel name or a path need not be UTF-8; JSON must be.
    out << check_json(run.summary, report).dump(2, ' ', false, Json::error_handler_t::replace)
        << '\n';
  });
  if (json != "-" && values.count("quiet") == 0) fmt::print("{}", check_text(run.summary, report));
  return report.any(Concern::wrong) ? exit_check_failed : exit_ok;
}

}  // namespace tandem
