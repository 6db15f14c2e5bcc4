#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/cli/many/replays.h"
#include "sim/cli/scenario_options.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

constexpr const char* demo_trace =
    "validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst";

std::vector<po::options_description> replay_groups() {
  po::options_description input("Trace");
  input.add_options()("trace", po::value<std::vector<std::string>>()->value_name(file_value),
                      (std::string(trace_doc) +
                       "; of several ranks of one run: simulated together; else each on its own")
                          .c_str());
  input.add_options()("each", "several traces: each on its own, ranks too");
  add_threads_option(input);
  return scenario_groups(of_traces(std::move(input)));
}

RanksReplay replay_trace(const std::string& trace, ReplayOptions options) {
  options.trace_path = trace;
  RanksReplay one;
  one.replays.push_back(replay(options));
  return one;
}

/// Ranks of one run, whose first trace is read, together.
RanksReplay replay_together(Trace first, const std::vector<std::string>& paths,
                            const ReplayOptions& options) {
  for (const auto& [option, given] :
       {std::pair{"--base", options.base_path}, std::pair{"--counters", options.counters_path}}) {
    if (given.empty()) continue;
    throw InputError("command line", option, "beside traces of several ranks", "one trace");
  }
  std::vector<Trace> traces;
  traces.push_back(std::move(first));
  for (std::size_t i = 1; i < paths.size(); ++i) {
    traces.push_back(import_trace(paths[i], options.import));
  }
  return replay_ranks(std::move(traces), options);
}

std::vector<std::string> named_traces(const po::variables_map& values) {
  if (values.count("trace") == 0) {
    throw InputError("command line", "replay", "no TRACE", "tandem replay TRACE [options]");
  }
  auto traces = values["trace"].as<std::vector<std::string>>();
  if (std::count(traces.begin(), traces.end(), "-") > 1) {
    throw InputError("command line", "-", "twice", "once: it can be read only once");
  }
  return traces;
}

/// What traces are: one or the ranks of one run, with their answer, or of several runs, of which
/// the first may have been read.
struct TracesAnswer {
  std::optional<Answer> answer;
  std::optional<ReadTrace> first = {};
};

TracesAnswer answer_traces(const po::variables_map& values) {
  threads_of(values);  // an error also where one trace has no use for it
  const std::vector<std::string> traces = named_traces(values);
  if (traces.size() == 1) {
    OutputPaths paths = output_paths(values);
    return {answer_of(values, replay_trace(traces.front(), scenario_options(values)),
                      std::move(paths))};
  }
  if (values.count("each") > 0) return {};
  const ReplayOptions options = scenario_options(values);
  ReadTrace first = read_trace(traces.front(), options.import);
  // One that cannot be used is said when its turn comes; the others are of use.
  if (!first.trace || first.trace->distributed.world_size < 2) return {{}, std::move(first)};
  return {answer_of(values, replay_together(std::move(*first.trace), traces, options),
                    output_paths(values))};
}

}  // namespace

CommandLine replay_line() {
  return {
      "replay",
      "TRACE [TRACE ...] [options]",
      "Replays a profiler trace and predicts a scenario: what-ifs combine. Ranks of one run are\n"
      "simulated together, other traces each on its own, on all cores.",
      {{"trace", -1}},
      replay_groups()};
}

std::optional<Answer> answer_replay(const Arguments& arguments) {
  const auto values = parse_arguments(replay_line(), arguments);
  if (!values) return {};
  TracesAnswer asked = answer_traces(*values);
  if (asked.answer) return std::move(asked.answer);
  throw InputError("command line", "replay", "traces of several runs", "one, or ranks of one run");
}

int run_replay(const Arguments& arguments) {
  const auto values = parse_arguments(replay_line(), arguments);
  if (!values) return exit_ok;
  TracesAnswer asked = answer_traces(*values);
  return asked.answer ? report(*asked.answer)
                      : replay_each(named_traces(*values), *values, values->count("each") > 0,
                                    std::move(asked.first));
}

CommandLine demo_line() {
  return {"demo",
          "[options of replay]",
          std::string("Replays ") + demo_trace + " and writes what it finds to out/demo.",
          {},
          scenario_groups(of_traces(po::options_description("Trace")))};
}

int run_demo(const Arguments& arguments) {
  const std::string trace = data_root() + "/" + demo_trace;
  Arguments all = arguments;
  const bool has_out = std::any_of(arguments.begin(), arguments.end(),
                                   [](const std::string& a) { return a.starts_with("--out"); });
  if (!has_out) all.insert(all.end(), {"--out", "out/demo"});
  const auto values = parse_arguments(demo_line(), all);
  if (!values) return exit_ok;
  OutputPaths paths = output_paths(*values);
  const Answer answer =
      answer_of(*values, replay_trace(trace, scenario_options(*values)), std::move(paths));
  const int status = report(answer);
  if (!answer.quiet && !answer.paths.fill_stdout()) {
    fmt::print("\nwhat would make it faster: tandem advise {}\n", trace);
  }
  return status;
}

}  // namespace tandem
