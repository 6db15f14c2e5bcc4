#include <algorithm>
#include <optional>

#include "sim/cli/scenario_options.h"

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

Answer answer_traces(const po::variables_map& values) {
  if (values.count("trace") == 0) {
    throw InputError("command line", "replay", "no TRACE", "tandem replay TRACE [options]");
  }
  OutputPaths paths = output_paths(values);
  return answer_of(
      values,
      replay_traces(values["trace"].as<std::vector<std::string>>(), scenario_options(values)),
      std::move(paths));
}

}  // namespace

CommandLine replay_line() {
  return {"replay",
          "TRACE [TRACE of another rank ...] [options]",
          "Replays a profiler trace and predicts a scenario: what-ifs combine.",
          {{"trace", -1}},
          replay_groups()};
}

std::optional<Answer> answer_replay(const Arguments& arguments) {
  const auto values = parse_arguments(replay_line(), arguments);
  if (!values) return {};
  return answer_traces(*values);
}

int run_replay(const Arguments& arguments) {
  const std::optional<Answer> found = answer_replay(arguments);
  return found ? report(*found) : exit_ok;
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
  return values ? report(answer_traces(*values)) : exit_ok;
}

}  // namespace tandem
