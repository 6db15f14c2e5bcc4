#include <algorithm>
#include <iostream>

#include "sim/cli/scenario_options.h"
#include "sim/predict/ranks/replay_ranks.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

constexpr const char* demo_trace =
    "validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst";

std::vector<po::options_description> replay_groups() {
  po::options_description input("Trace");
  input.add_options()(
      "trace", po::value<std::vector<std::string>>()->value_name(file_value),
      (std::string(trace_doc) + "; of several ranks of one run: simulated together").c_str());
  return scenario_groups(input);
}

/// Ranks of one run; reports are of the first, and of all of them together.
int run_ranks(const std::vector<std::string>& traces, const ReplayOptions& options,
              const po::variables_map& values, const OutputPaths& paths) {
  for (const auto& [option, given] :
       {std::pair{"--base", options.base_path}, std::pair{"--counters", options.counters_path}}) {
    if (given.empty()) continue;
    throw InputError("command line", option, "beside traces of several ranks", "one trace");
  }
  const RanksReplay done = replay_ranks(traces, options);
  std::vector<SimulatedRun> runs;
  for (std::size_t r = 0; r < done.runs.size(); ++r) {
    runs.push_back(
        {done.replays[r].prediction.step.trace, done.runs[r].plan, done.runs[r].timeline, {}, {}});
  }
  return report_replay(done.replays.front(), values, paths, runs);
}

/// Replays as `values` say; the exit status.
int run(const po::variables_map& values) {
  const OutputPaths paths = output_paths(values);
  ReplayOptions options = scenario_options(values);
  const auto traces = values["trace"].as<std::vector<std::string>>();
  if (traces.size() > 1) return run_ranks(traces, options, values, paths);
  options.trace_path = traces.front();
  return report_replay(replay(options), values, paths);
}

}  // namespace

CommandLine replay_line() {
  return {"replay",
          "TRACE [TRACE of another rank ...] [options]",
          "Replays a profiler trace and predicts a scenario: what-ifs combine.",
          {{"trace", -1}},
          replay_groups()};
}

int run_replay(const Arguments& arguments) {
  const auto values = parse_arguments(replay_line(), arguments);
  if (!values) return exit_ok;
  if (values->count("trace") == 0) {
    throw InputError("command line", "replay", "no TRACE", "tandem replay TRACE [options]");
  }
  return run(*values);
}

CommandLine demo_line() {
  return {"demo",
          "[options of replay]",
          std::string("Replays ") + demo_trace + " and writes what it finds to out/demo.",
          {},
          replay_groups()};
}

int run_demo(const Arguments& arguments) {
  Arguments all = arguments;
  all.insert(all.end(), {"--trace", data_root() + "/" + demo_trace});
  const bool has_out = std::any_of(arguments.begin(), arguments.end(),
                                   [](const std::string& a) { return a.starts_with("--out"); });
  if (!has_out) all.insert(all.end(), {"--out", "out/demo"});
  const auto values = parse_arguments(demo_line(), all);
  return values ? run(*values) : exit_ok;
}

}  // namespace tandem
