// tandem diff: where the steps of two traces, or of two results, or of one of each, differ.
#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "sim/cli/files.h"
#include "sim/cli/scenario_options.h"
#include "sim/cli/schema/documents.h"
#include "sim/core/bounds/document_size.h"
#include "sim/core/fields/field.h"
#include "sim/diff/diff_report.h"
#include "sim/diff/page.h"
#include "sim/report/report.h"
#include "sim/trace/source/byte_source.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

/// A side and, of a trace, what it was replayed to.
struct Loaded {
  DiffSide side;
  std::optional<Replay> replay;
};

/// Errors: InputError for more than a document holds.
std::string whole_content(ByteSource& source, const std::string& path) {
  std::string text;
  std::array<char, 1 << 16> chunk;
  while (const std::size_t n = source.read(chunk)) {
    text.append(chunk.data(), n);
    if (text.size() <= limits::document_bytes) continue;
    throw InputError(path, "", fmt::format("more than {} MiB", limits::document_bytes >> 20),
                     "a result of less");
  }
  return text;
}

Loaded load(const std::string& path, const ReplayOptions& options) {
  ByteSource source(path);
  if (is_result(source.prefix())) {
    return {read_side(parse_json(whole_content(source, path), path), path), {}};
  }
  ReplayOptions own = options;
  own.trace_path = path;
  Loaded loaded{{}, replay(own)};
  loaded.side = read_side(result_json(loaded.replay->prediction.result), path);
  return loaded;
}

void write_timelines(const std::string& path, const Loaded& a, const Loaded& b) {
  if (path.empty()) return;
  for (const Loaded* one : {&a, &b}) {
    if (one->replay) continue;
    throw InputError("command line", "--timeline", one->side.path + ", a result",
                     "two traces; a result does not say when each kernel ran");
  }
  const Prediction& of_a = a.replay->prediction;
  const Prediction& of_b = b.replay->prediction;
  const std::vector<PathLink> path_a = scenario_path(of_a);
  const std::vector<PathLink> path_b = scenario_path(of_b);
  const SimulatedRun run_a = scenario_run(of_a, path_a);
  const SimulatedRun run_b = scenario_run(of_b, path_b);
  const std::array<NamedRun, 2> runs{{{"A, one step", run_a}, {"B, one step", run_b}}};
  write_file(path, [&](std::ostream& out) { write_side_by_side(out, runs); });
}

/// Errors: InputError for options that say how a trace is read, where there is none.
void check_no_trace_options(const po::variables_map& values) {
  for (const char* name :
       {"host", "profiler", "traced-gpu", "steps", "step", "traced-batch", "peak-memory"}) {
    if (values.count(name) == 0 || values[name].defaulted()) continue;
    throw InputError("command line", std::string("--") + name, "two results",
                     "a trace on one side, or no such option: results are as they were predicted");
  }
}

/// The sides that the options name.
std::pair<Loaded, Loaded> load_both(const po::variables_map& values) {
  if (values.count("a") == 0 || values.count("b") == 0) {
    throw InputError("command line", "diff", "fewer than two files", "tandem diff A B [options]");
  }
  ReplayOptions asked;
  asked.configs = data_root() + "/configs";
  read_trace_options(values, asked);
  asked.host = values["host"].as<std::string>();
  asked.profiler = parse_profiler(values["profiler"].as<std::string>());
  Loaded a = load(values["a"].as<std::string>(), asked);
  Loaded b = load(values["b"].as<std::string>(), asked);
  if (!a.replay && !b.replay) check_no_trace_options(values);
  return {std::move(a), std::move(b)};
}

bool lost_data(const Loaded& loaded) {
  return loaded.replay && loaded.replay->prediction.result.losses.any(Severity::data_loss);
}

}  // namespace

CommandLine diff_line() {
  po::options_description sides("Sides"), output("Output");
  sides.add_options()("a", po::value<std::string>()->value_name(file_value),
                      "what came before: a profiler trace, or a result that --json wrote")(
      "b", po::value<std::string>()->value_name(file_value), "what came after")(
      "host", text_value(host_value, "default"), "host of traces")(
      "profiler", text_value("remove|keep", "remove"),
      "remove: compare the runs without the profiler; keep: as they were traced");
  add_trace_options(sides);
  output.add_options()("json", text_value(file_value), "write the comparison here; -: stdout")(
      "report", text_value(file_value),
      "write a page (HTML, needs no network) with charts and tables here")(
      "timeline", text_value(file_value),
      "write one step of each, side by side, for Perfetto here; of two traces")("quiet", "no text");
  add_loss_option(output);
  return {"diff",
          "A B [options]",
          "Where the steps of two traces, or of two results, or of one of each, differ.",
          {{"a"}, {"b"}},
          {sides, output}};
}

std::optional<Json> answer_diff(const Arguments& arguments) {
  const auto values = parse_arguments(diff_line(), arguments);
  if (!values) return {};
  const auto [a, b] = load_both(*values);
  return diff_json(diff(a.side, b.side));
}

int run_diff(const Arguments& arguments) {
  const auto parsed = parse_arguments(diff_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  const auto [a, b] = load_both(values);
  const Diff difference = diff(a.side, b.side);
  write_document(values["json"].as<std::string>(), diff_json(difference));
  write_timelines(values["timeline"].as<std::string>(), a, b);
  write_file(values["report"].as<std::string>(),
             [&](std::ostream& out) { out << html::page_html(diff_page(difference)); });
  if (!fills_stdout(values) && values.count("quiet") == 0) fmt::print("{}", diff_text(difference));
  return loss_status(lost_data(a) || lost_data(b), accepts_loss(values),
                     (lost_data(a) ? a : b).side.path);
}

}  // namespace tandem
