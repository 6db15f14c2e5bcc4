#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>
#include <memory>

#include "sim/cli/arguments.h"
#include "sim/cli/files.h"
#include "sim/cli/many/progress.h"
#include "sim/cli/sweep/asked.h"
#include "sim/core/fields/field.h"
#include "sim/sweep/page.h"
#include "sim/sweep/pictures.h"
#include "sim/sweep/points.h"
#include "sim/sweep/ranks/share.h"

namespace tandem {

namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

void print_keys() {
  fmt::print("experiment\n");
  for (const Field<Experiment>& f : experiment_fields()) fmt::print("  {:<24} {}\n", f.name, f.doc);
  fmt::print("axes\n  {:<24} {}\n", "mode", mode_texts(", "));
  fmt::print("  {:<24} name of configs/hosts, or a path\n", "host");
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) {
      const bool keys = option.kind == OptionKind::assignments;
      fmt::print("  {:<24} {}\n", keys ? "gpu.KEY" : option.name, option.doc);
    }
  }
  fmt::print("metrics\n");
  for (const SweepMetric& m : sweep_metrics()) {
    fmt::print("  {:<24} {:<7} {}\n", m.name, m.unit, m.description);
  }
}

/// What is read, also by the experiment.
std::vector<NamedFile> inputs_of(const po::variables_map& values, const Experiment& experiment) {
  std::vector<NamedFile> files = read_files(values);
  files.push_back({"trace", experiment.trace});
  files.push_back({"base", experiment.base});
  for (const Axis& axis : experiment.axes) {
    if (axis.name != "host") continue;
    for (const std::string& host : axis.values) files.push_back({"host", host});
  }
  return files;
}

std::vector<NamedFile> outputs_of(const po::variables_map& values, const std::string& folder) {
  const std::string report = values["report"].as<std::string>();
  return {{"--out", folder + "/sweep.json"},
          {"--out", folder + "/sweep.csv"},
          {"--out", folder + "/points.jsonl"},
          {"--report", report.empty() ? folder + "/report.html" : report},
          {"--json", values["json"].as<std::string>()}};
}

/// Errors: InputError for a folder that cannot be made and for a file of it that is an input.
std::string output_folder(const po::variables_map& values, const Experiment& experiment) {
  std::string folder = values["out"].as<std::string>();
  if (folder.empty()) folder = "out/" + folder_name(experiment.name, "sweep");
  check_written(inputs_of(values, experiment), outputs_of(values, folder));
  make_folder(folder);
  return folder;
}

/// Results of another build of the program are not reused.
std::string program_version() {
  ContentHash program;
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (!error) program.add_file(path.string(), "program");
  return fmt::format("{}+{:x}", TANDEM_VERSION, program.value());
}

void write_json(const Sweep& sweep, const std::string& path) {
  write_file(path, [&](std::ostream& out) { write_sweep_json(out, sweep); });
}

void write_sweep(const Sweep& sweep, const std::string& folder, const std::string& report) {
  write_json(sweep, folder + "/sweep.json");  // checks what it writes, so it comes first
  write_file(folder + "/sweep.csv", [&](std::ostream& out) { write_sweep_csv(out, sweep); });
  for (const Picture& p : sweep_pictures(sweep)) {
    write_file(folder + "/" + p.name + ".svg", [&](std::ostream& out) { out << p.svg; });
  }
  write_file(report.empty() ? folder + "/report.html" : report,
             [&](std::ostream& out) { out << html::page_html(sweep_page(sweep)); });
}

/// The experiment of a file, or the one that the options state. Errors: InputError, also for a
/// trace or a network without an axis.
Experiment experiment_of(const po::variables_map& values) {
  if (asks_axes(values)) return asked_experiment(values, data_root() + "/workloads/nets");
  const std::string path = values["experiment"].as<std::string>();
  if (!may_be_experiment(path)) {
    throw InputError(
        "command line", path, "no axis, and no experiment",
        "options that are axes beside a trace or a network, e.g. --batch 16,32,64; or an "
        "experiment, JSON with \"schema\": \"tandem.experiment/1\"");
  }
  return read_experiment(path, sweep_metric_names());
}

/// What is swept, read and checked.
struct AskedSweep {
  Experiment experiment;
  SweepBase base;
  std::uint64_t inputs = 0;  // hash; 0 of what came through a pipe
};

/// Errors: InputError, also for a pipe beside `ranks`: mpirun gives it to one of them.
AskedSweep asked_of(const po::variables_map& values, const Ranks* ranks) {
  if (values.count("experiment") == 0) {
    throw InputError("command line", "sweep", "no EXPERIMENT.json, TRACE or NETWORK",
                     "tandem sweep " + sweep_line().usage);
  }
  const Experiment experiment = experiment_of(values);
  const bool piped = experiment.trace == "-";
  if (piped && ranks != nullptr) {
    throw InputError("command line", "sweep", "- beside mpirun", "a file that every rank can read");
  }
  const std::string configs = data_root() + "/configs";
  AskedSweep asked{experiment, load_sweep_base(experiment, configs)};
  check_values(asked.base, experiment,
               asks_axes(values) ? "command line" : values["experiment"].as<std::string>());
  if (!piped) asked.inputs = hash_inputs(experiment, configs, program_version());
  return asked;
}

RunOptions run_options(const po::variables_map& values, const AskedSweep& asked, Ranks* ranks) {
  RunOptions options;
  options.threads = threads_of(values);
  options.progress = progress_line("points");
  options.ranks = ranks;
  options.inputs = hash_points(asked.experiment, asked.inputs);
  options.note = [](const std::string& text) {
    fmt::print(stderr, "tandem: {}\n", printable(text));
  };
  return options;
}

/// What came through a pipe cannot be looked at again to see whether it is the same: nothing of it
/// is kept. Errors: InputError.
Sweep sweep_of(const po::variables_map& values, const AskedSweep& asked, const std::string& folder,
               Ranks* ranks) {
  const RunOptions options = run_options(values, asked, ranks);
  if (asked.experiment.trace == "-") {
    return run_sweep(asked.experiment, asked.base, nullptr, options);
  }
  PointStore store(folder + "/points.jsonl", asked.inputs, values.count("fresh") > 0);
  return run_sweep(asked.experiment, asked.base, &store, options);
}

/// Alone, or on rank 0.
int sweep(const po::variables_map& values, Ranks* ranks) {
  const AskedSweep asked = asked_of(values, ranks);
  const std::string folder = output_folder(values, asked.experiment);
  const Sweep sweep = sweep_of(values, asked, folder, ranks);
  write_sweep(sweep, folder, values["report"].as<std::string>());
  write_json(sweep, values["json"].as<std::string>());
  if (values.count("quiet") == 0 && !fills_stdout(values)) {
    fmt::print("{}\nfiles      {}/sweep.csv, sweep.json, report.html, *.svg\n", sweep_text(sweep),
               folder);
  }
  const int lost = loss_status(sweep.losses.any(Severity::data_loss), accepts_loss(values),
                               asked.experiment.trace);
  return failed_points(sweep) + failed_elasticities(sweep) == 0 ? lost : exit_check_failed;
}

/// Another rank prints and writes nothing. What it cannot read, rank 0 may be able to; so that is
/// its to tell, and no reason for mpirun to end all.
int take_part(const Arguments& arguments, Ranks& ranks) {
  const auto text_only = [](const std::string& a) {
    return a == "--help" || a == "-h" || a == "--keys";
  };
  if (std::any_of(arguments.begin(), arguments.end(), text_only)) return exit_ok;
  try {
    const auto values = parse_arguments(sweep_line(), arguments);
    const AskedSweep asked = asked_of(*values, &ranks);
    run_shared_sweep(asked.experiment, asked.base, asked.inputs,
                     run_options(*values, asked, &ranks));
  } catch (const std::exception& error) {
    refuse(ranks, error.what());
  }
  return exit_ok;
}

/// Lets the other ranks go, also when an error ends this one.
struct RanksOfSweep {
  std::unique_ptr<Ranks> ranks = join_ranks();
  ~RanksOfSweep() {
    if (ranks && ranks->rank() == 0) stop_ranks(*ranks);
  }
};

}  // namespace

CommandLine sweep_line() {
  po::options_description input("What to sweep"), run("Run"), output("Output");
  input.add_options()("experiment", po::value<std::string>()->value_name(file_value),
                      "an experiment (configs/experiments), or with axes a trace or a network")(
      "keys", "explain the keys of an experiment and the metrics");
  add_sweep_inputs(input);
  add_threads_option(run);
  run.add_options()("fresh", "run every point again");
  output.add_options()("out", text_value(folder_value),
                       "folder for sweep.csv, sweep.json, report.html, pictures and points.jsonl "
                       "(finished points, not run again); default: out/NAME")(
      "report", text_value(file_value),
      "write a page (HTML, needs no network) with charts and tables here; default: report.html in "
      "--out")("json", text_value(file_value),
               "write sweep.json here too; -: stdout, and no table")("quiet", "no table");
  add_loss_option(output);
  return {"sweep",
          "EXPERIMENT.json | TRACE|NETWORK --AXIS VALUE,VALUE... [options]",
          "Predicts every combination of the axes' values in parallel. Exit status 1 if a point,\n"
          "or an elasticity, failed.",
          {{"experiment"}},
          {input, axis_options(), run, output}};
}

int run_sweep_command(const Arguments& arguments) {
  const RanksOfSweep all;
  if (all.ranks && all.ranks->rank() > 0) return take_part(arguments, *all.ranks);
  const auto parsed = parse_arguments(sweep_line(), arguments);
  if (!parsed) return exit_ok;
  const po::variables_map& values = *parsed;
  if (values.count("keys") > 0) {
    print_keys();
    return exit_ok;
  }
  return sweep(values, all.ranks.get());
}

}  // namespace tandem
