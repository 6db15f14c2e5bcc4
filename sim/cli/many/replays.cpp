#include "sim/cli/many/replays.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <utility>

#include "sim/cli/files.h"
#include "sim/cli/many/shown.h"
#include "sim/cli/scenario_options.h"
#include "sim/cli/schema/documents.h"
#include "sim/core/error.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

/// Errors: InputError for files that the traces would write over each other.
void check_outputs(const po::variables_map& values, std::size_t traces) {
  for (const char* option : {"kernels", "timeline", "report", "sqlite", "base", "counters"}) {
    if (values[option].as<std::string>().empty()) continue;
    throw InputError("command line", std::string("--") + option, "several traces",
                     std::string("one, or --out with a folder for each") +
                         (traces == 2 ? "; tandem diff A B compares two" : ""));
  }
}

/// Who names two runs may want to know how they differ.
void print_diff_hint(const std::vector<std::string>& traces, const po::variables_map& values) {
  if (values.count("quiet") > 0 || fills_stdout(values)) return;
  fmt::print("\ntwo runs, each by itself; where their steps differ: tandem diff {} {}\n",
             printable(traces[0]), printable(traces[1]));
}

OutputPaths paths_in(const std::string& folder) {
  make_folder(folder);
  return files_in(folder);
}

/// Errors: InputError for a file of a folder that is an input.
void check_folders(const po::variables_map& values, const std::string& out,
                   const std::vector<std::string>& folders) {
  for (const std::string& folder : folders) {
    check_written(read_files(values), written_files(files_in(out + "/" + folder), "--out"));
  }
}

/// The rank that the trace is of is the only one that is there.
void check_alone(const Trace& trace) {
  const DistributedInfo& d = trace.distributed;
  if (d.world_size < 2) return;
  throw InputError(trace.path, "distributedInfo",
                   fmt::format("rank {} of {}", d.rank, d.world_size),
                   "no ranks, as in the first trace; --each replays ranks alone");
}

Shown replay_one(const std::string& path, std::optional<ReadTrace> read, const std::string& folder,
                 const po::variables_map& values, bool ranks_too) {
  Shown shown;
  shown.path = path;
  try {
    ReplayOptions options = scenario_options(values);
    options.import.progress = {};
    options.trace_path = path;
    if (!read) read = read_trace(path, options.import);
    shown.error = std::move(read->error);
    if (!read->trace) return shown;
    if (!ranks_too) check_alone(*read->trace);
    const Replay done = replay(std::move(*read->trace), options);
    const Result& result = done.prediction.result;
    shown.json = result_json(result);
    if (!folder.empty()) write_outputs(done, *shown.json, paths_in(folder));
    shown.text = summary_text(result);
    if (!folder.empty()) shown.text += fmt::format("files      {}\n", folder);
    shown.lost = result.losses.any(Severity::data_loss);
  } catch (const InputError& error) {
    shown.error = error.what();
  }
  return shown;
}

}  // namespace

std::vector<std::string> folder_names(const std::vector<std::string>& paths) {
  std::vector<std::string> names;
  std::set<std::string> taken;
  for (const std::string& path : paths) {
    std::string name = std::filesystem::path(path).filename().string();
    for (const std::string_view ending : {".gz", ".zst", ".json", ".sqlite", ".pb"}) {
      if (name.ends_with(ending)) name.erase(name.size() - ending.size());
    }
    name = folder_name(name, "trace");
    std::string own = name;
    for (int n = 2; !taken.insert(own).second; ++n) own = fmt::format("{}-{}", name, n);
    names.push_back(own);
  }
  return names;
}

ReadTrace read_trace(const std::string& path, const ImportOptions& options) {
  try {
    return {import_trace(path, options), ""};
  } catch (const InputError& error) {
    return {{}, error.what()};
  }
}

int replay_each(const std::vector<std::string>& traces, const po::variables_map& values,
                bool ranks_too, std::optional<ReadTrace> first) {
  check_outputs(values, traces.size());
  const std::string out = values["out"].as<std::string>(), json = values["json"].as<std::string>();
  const std::vector<std::string> folders = folder_names(traces);
  if (!out.empty()) check_folders(values, out, folders);
  const auto work = [&](std::size_t i) {
    std::optional<ReadTrace> read = i == 0 ? std::exchange(first, {}) : std::nullopt;
    return replay_one(traces[i], std::move(read), out.empty() ? "" : out + "/" + folders[i], values,
                      ranks_too);
  };
  std::vector<CheckedDocument> all;
  const int status = show_in_order(traces.size(), values, work, all);
  write_document(json, CheckedDocument(all));
  if (!ranks_too && traces.size() == 2 && all.size() == 2) print_diff_hint(traces, values);
  return status;
}

}  // namespace tandem
