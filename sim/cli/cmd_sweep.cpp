#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iostream>

#include "sim/cli/arguments.h"
#include "sim/cli/files.h"
#include "sim/core/field.h"
#include "sim/sweep/page.h"
#include "sim/sweep/pictures.h"
#include "sim/sweep/points.h"

namespace tandem {

namespace {

namespace po = boost::program_options;
namespace fs = std::filesystem;

constexpr int max_threads = 4096;

po::options_description options_of_sweep() {
  po::options_description options("tandem sweep EXPERIMENT.json");
  options.add_options()("help", "show this text")("experiment", po::value<std::string>(),
                                                  "what to sweep: see configs/experiments")(
      "out", po::value<std::string>()->default_value(""),
      "folder for sweep.csv, sweep.json, report.html, pictures and points.jsonl (finished points, "
      "not run "
      "again); default: out/NAME")("threads", po::value<int>()->default_value(0),
                                   "0: as many as the machine has")(
      "fresh", "run every point again")("keys",
                                        "explain the keys of an experiment and the metrics")(
      "report", po::value<std::string>()->default_value(""),
      "write a page (HTML, needs no network) with charts and tables here; default: report.html in "
      "--out")("quiet", "no table");
  return options;
}

void print_keys() {
  fmt::print("experiment\n");
  for (const Field<Experiment>& f : experiment_fields()) fmt::print("  {:<24} {}\n", f.name, f.doc);
  fmt::print("axes\n  {:<24} {}\n", "mode", mode_texts(", "));
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

std::string output_folder(const po::variables_map& values, const Experiment& experiment) {
  std::string folder = values["out"].as<std::string>();
  if (folder.empty()) folder = "out/" + experiment.name;
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw InputError(folder, "", error.message(), "a folder that can be created");
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

/// "120 of 1000 points, 12 s left" on a terminal.
std::function<void(std::size_t, std::size_t)> progress_line() {
  if (isatty(STDERR_FILENO) != 1) return {};
  return [begin = std::chrono::steady_clock::now()](std::size_t done, std::size_t all) {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begin;
    const double left = spent.count() / static_cast<double>(done) * static_cast<double>(all - done);
    fmt::print(stderr, "\r{} of {} points, {:.0f} s left   {}", done, all, left,
               done == all ? "\n" : "");
  };
}

void write_sweep(const Sweep& sweep, const std::string& folder, const std::string& report) {
  write_file(folder + "/sweep.csv", [&](std::ostream& out) { write_sweep_csv(out, sweep); });
  write_file(folder + "/sweep.json", [&](std::ostream& out) {
    out << sweep_json(sweep).dump(2, ' ', false, Json::error_handler_t::replace) << '\n';
  });
  for (const Picture& p : sweep_pictures(sweep)) {
    write_file(folder + "/" + p.name + ".svg", [&](std::ostream& out) { out << p.svg; });
  }
  write_file(report.empty() ? folder + "/report.html" : report,
             [&](std::ostream& out) { out << html::page_html(sweep_page(sweep)); });
}

Sweep sweep_of(const po::variables_map& values, const Experiment& experiment,
               const std::string& folder) {
  RunOptions options;
  options.threads = values["threads"].as<int>();
  if (options.threads < 0 || options.threads > max_threads) {
    throw InputError("command line", "--threads", std::to_string(options.threads),
                     fmt::format("0 to {}", max_threads));
  }
  options.progress = progress_line();
  const std::string configs = data_root() + "/configs";
  const std::string points = folder + "/points.jsonl";
  if (values.count("fresh") > 0) fs::remove(points);
  const SweepBase base = load_sweep_base(experiment, configs);
  check_values(base, experiment, values["experiment"].as<std::string>());
  PointStore store(points, hash_inputs(experiment, configs, program_version()));
  return run_sweep(experiment, base, &store, options);
}

}  // namespace

int run_sweep_command(const Arguments& arguments) {
  const po::options_description options = options_of_sweep();
  const po::variables_map values = parse_arguments("sweep", arguments, options, {{"experiment"}});
  if (values.count("help") > 0) {
    std::cout << options << "exit status: 1 if a point failed\n";
    return exit_ok;
  }
  if (values.count("keys") > 0) {
    print_keys();
    return exit_ok;
  }
  if (values.count("experiment") == 0) {
    throw InputError("command line", "sweep", "no EXPERIMENT.json",
                     "tandem sweep EXPERIMENT.json [options]");
  }
  const Experiment experiment =
      read_experiment(values["experiment"].as<std::string>(), sweep_metric_names());
  const std::string folder = output_folder(values, experiment);
  const Sweep sweep = sweep_of(values, experiment, folder);
  write_sweep(sweep, folder, values["report"].as<std::string>());
  if (values.count("quiet") == 0) {
    fmt::print("{}\nfiles      {}/sweep.csv, sweep.json, report.html, *.svg\n", sweep_text(sweep),
               folder);
  }
  return failed_points(sweep) == 0 ? exit_ok : exit_check_failed;
}

}  // namespace tandem
