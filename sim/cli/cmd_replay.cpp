#include <algorithm>
#include <iostream>

#include "sim/cli/scenario_options.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

po::options_description options_of_replay(const std::string& usage) {
  po::options_description options(usage);
  options.add_options()("trace", po::value<std::string>(),
                        "profiler trace (.json, .json.gz or .json.zst)");
  add_scenario_options(options);
  return options;
}

/// Replays as `values` say; the exit status.
int run(const po::variables_map& values) {
  const OutputPaths paths = output_paths(values);
  ReplayOptions options = scenario_options(values);
  options.trace_path = values["trace"].as<std::string>();
  return report_replay(replay(options), values, paths);
}

}  // namespace

int run_replay(const Arguments& arguments) {
  const po::options_description options = options_of_replay("tandem replay TRACE");
  const po::variables_map values = parse_arguments("replay", arguments, options, {{"trace"}});
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
