#include <fmt/ostream.h>

#include <algorithm>
#include <iostream>

#include "sim/cli/scenario_options.h"

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

/// Of several traces, the ranks of one run together.
RanksReplay replay_traces(const std::vector<std::string>& traces, ReplayOptions options) {
  if (traces.size() == 1) {
    options.trace_path = traces.front();
    RanksReplay one;
    one.replays.push_back(replay(options));
    return one;
  }
  for (const auto& [option, given] :
       {std::pair{"--base", options.base_path}, std::pair{"--counters", options.counters_path}}) {
    if (given.empty()) continue;
    throw InputError("command line", option, "beside traces of several ranks", "one trace");
  }
  return replay_ranks(traces, options);
}

Answer answer(const po::variables_map& values) {
  if (values.count("trace") == 0) {
    throw InputError("command line", "replay", "no TRACE", "tandem replay TRACE [options]");
  }
  OutputPaths paths = output_paths(values);
  return answer_of(
      values,
      replay_traces(values["trace"].as<std::vector<std::string>>(), scenario_options(values)),
      std::move(paths));
}

po::options_description replay_options() {
  return options_of_replay("tandem replay TRACE [TRACE of another rank ...]");
}

po::variables_map parse_replay(const Arguments& arguments) {
  return parse_arguments("replay", arguments, replay_options(), {{"trace", -1}});
}

}  // namespace

Answer answer_replay(const Arguments& arguments) { return answer(parse_replay(arguments)); }

std::string help_of_replay() { return fmt::format("{}", fmt::streamed(replay_options())); }

int run_replay(const Arguments& arguments) {
  const po::variables_map values = parse_replay(arguments);
  if (values.count("help") > 0) {
    std::cout << help_of_replay();
    return exit_ok;
  }
  return report(answer(values));
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
  return report(answer(values));
}

}  // namespace tandem
