#include <algorithm>
#include <iostream>

#include "sim/cli/scenario_options.h"
#include "sim/predict/ranks/replay_ranks.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

po::options_description options_of_replay(const std::string& usage) {
  po::options_description options(usage);
  options.add_options()("trace", po::value<std::vector<std::string>>(),
                        "profiler trace (.json, .json.gz or .json.zst); of several ranks of one "
                        "run: simulated together");
  add_scenario_options(options);
  return options;
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

int run_replay(const Arguments& arguments) {
  const po::options_description options =
      options_of_replay("tandem replay TRACE [TRACE of another rank ...]");
  const po::variables_map values = parse_arguments("replay", arguments, options, {{"trace", -1}});
  if (values.count("help") > 0) {
    std::cout << options;
    return exit_ok;
  }
  if (values.count("trace") == 0) {
    throw InputError("command line", "replay", "no TRACE", "tandem replay TRACE [options]");
  }
  return run(values);
}

int run_demo(const Arguments& arguments) {
  const std::string trace =
      data_root() +
      "/validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst";
  const po::options_description options = options_of_replay("tandem demo [options of replay]");
  Arguments all = arguments;
  all.insert(all.end(), {"--trace", trace});
  const bool has_out = std::any_of(arguments.begin(), arguments.end(),
                                   [](const std::string& a) { return a.starts_with("--out"); });
  if (!has_out) all.insert(all.end(), {"--out", "out/demo"});
  const po::variables_map values = parse_arguments("demo", all, options);
  if (values.count("help") > 0) {
    std::cout << "Replays " << trace << " and writes what it finds to out/demo.\n\n" << options;
    return exit_ok;
  }
  return run(values);
}

}  // namespace tandem
