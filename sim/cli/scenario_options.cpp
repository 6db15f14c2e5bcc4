#include "sim/cli/scenario_options.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <set>

#include "models/whatif/compile/compile.h"
#include "sim/core/named.h"
#include "sim/core/units.h"
#include "sim/report/report.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

/// Files smaller than this are read faster than a progress line helps.
constexpr std::int64_t progress_from_bytes = 100'000'000;

/// What an option of a what-if takes, as help shows it.
std::string value_name(const TransformOption& option) {
  switch (option.kind) {
    case OptionKind::count: return "N";
    case OptionKind::number: return "X";
    case OptionKind::number_or_none: return "X|none";
    case OptionKind::gpu: return gpu_value;
    case OptionKind::assignments: return "gpu.KEY=VALUE";
    case OptionKind::flag: return {};
    case OptionKind::name: break;
  }
  std::string names;
  for (const std::string_view name : option.names) {
    names.append(names.empty() ? "" : "|").append(name);
  }
  return names;
}

void add_option(const TransformOption& option, po::options_description& options) {
  const std::string name(option.name), doc(option.doc);
  const std::string shown = value_name(option);
  if (option.kind == OptionKind::assignments) {
    options.add_options()(name.c_str(), texts_value(shown), doc.c_str());
  } else if (option.kind == OptionKind::flag) {
    options.add_options()(name.c_str(), doc.c_str());
  } else {
    options.add_options()(name.c_str(), po::value<std::string>()->value_name(shown), doc.c_str());
  }
}

/// The value of an option that the command may not have.
template <class T>
std::optional<T> given(const po::variables_map& values, const std::string& name) {
  if (values.count(name) == 0) return {};
  return values[name].as<T>();
}

}  // namespace

Profiler parse_profiler(const std::string& text) {
  return parse_named(profilers, text, "command line", "--profiler");
}

void add_trace_options(po::options_description& options) {
  options.add_options()("traced-gpu", text_value(gpu_value),
                        "the GPU that the trace was recorded on, where the trace does not tell")(
      "steps", po::value<std::int64_t>()->value_name("N"),
      "iterations that the trace holds; default: its marks, else what repeats itself")(
      "step", text_value("NAME"), "annotation of the trace that begins each step")(
      "traced-batch", po::value<std::int64_t>()->value_name("N"),
      "items of a traced step; default: leading dimension of the first layer's input")(
      "peak-memory", po::value<double>()->value_name("GB"),
      "peak memory of the traced run; default: its [memory] events, else estimated");
}

StatedRun stated_run(const po::variables_map& values) {
  const StatedRun stated{
      given<std::int64_t>(values, "steps"), given<std::string>(values, "step").value_or(""),
      given<std::int64_t>(values, "traced-batch"), given<double>(values, "peak-memory"),
      given<double>(values, "measured-step")};
  check_stated(stated, as_options);
  return stated;
}

void read_trace_options(const po::variables_map& values, ReplayOptions& options) {
  const StatedRun stated = stated_run(values);
  options.traced_gpu = values["traced-gpu"].as<std::string>();
  options.steps = {stated.step, stated.steps.value_or(0)};
  options.traced_batch = stated.traced_batch.value_or(0);
  options.peak_memory_bytes = stated.peak_memory_gb.value_or(0) * bytes_per_gb;
}

void add_host_options(po::options_description& options) {
  options.add_options()("host", text_value(host_value, "default"),
                        "host config: a name of configs/hosts, or a path")(
      "measured-step", po::value<double>()->value_name("SECONDS"),
      "the traced step without the profiler, as you timed it: calibrates the host");
}

void read_host_options(const po::variables_map& values, ReplayOptions& options) {
  options.host = values["host"].as<std::string>();
  options.measured_step_us = stated_run(values).measured_step_s.value_or(0) * 1e6;
}

void show_import(ReplayOptions& options) {
  if (isatty(STDERR_FILENO) != 1) return;
  options.import.progress = [](std::int64_t done, std::int64_t total) {
    if (total < progress_from_bytes) return;
    fmt::print(stderr, "\rreading {} of {} MB{}", done / 1'000'000, total / 1'000'000,
               done >= total ? "\n" : "");
  };
}

void add_job_options(po::options_description& options) {
  options.add_options()("samples", po::value<double>()->value_name("N"),
                        "samples of a job: its hours and the kWh of the GPU's board")(
      "price", po::value<double>()->value_name("P"), "of a GPU hour: what --samples cost");
}

namespace {

/// The number, or 0 where it is not given.
double job_number(const po::variables_map& values, const std::string& name, double least) {
  if (values.count(name) == 0) return 0;
  const auto number = values[name].as<double>();
  if (number >= least && number <= most_of_a_job) return number;
  throw InputError("command line", "--" + name, fmt::format("{}", number),
                   fmt::format("{} to {}", least, most_of_a_job));
}

}  // namespace

JobRequest job_of(const po::variables_map& values) {
  constexpr double least_price = 1e-6;
  const JobRequest job{job_number(values, "samples", 1), job_number(values, "price", least_price)};
  if (job.price_per_gpu_hour > 0 && job.samples <= 0) {
    throw InputError("command line", "--price", "no --samples", "--samples N beside it");
  }
  return job;
}

namespace {

po::options_description what_if_options() {
  po::options_description options("What-ifs");
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) add_option(option, options);
  }
  options.add_options()("mode", text_value(mode_texts("|"), "as-traced"),
                        "how the host issues the step; jit: as-traced with --compile")(
      "compiler", po::value<std::string>()->value_name(names_of(compilers(), "|")),
      "of mode jit, as --compile; default: inductor")(
      "graph-scope", text_value(names_of(graph_scopes(), "|"), "step"),
      "what a CUDA graph captures");
  return options;
}

po::options_description measurement_options() {
  po::options_description options("Host, profiler and counters");
  add_host_options(options);
  options.add_options()("profiler", text_value(names_of(profilers, "|"), "remove"),
                        "remove: predict the run without the profiler; keep: leave its cost in")(
      "cache", text_value(names_of(cache_states, "|"), "warm"),
      "caches before a kernel: warm: as in the step; cold: flushed, as Nsight Compute does")(
      "counters", text_value(file_value),
      "Nsight Compute CSV of the same workload: measured counters where it has them");
  return options;
}

po::options_description output_options() {
  po::options_description options("Output");
  options.add_options()("out", text_value(folder_value),
                        "folder for result.json, timeline.json, kernels.csv and report.html")(
      "json", text_value(file_value), "write the result here; -: stdout")(
      "kernels", text_value(file_value), "write the per-kernel CSV here")(
      "timeline", text_value(file_value), "write the Perfetto timeline here")(
      "report", text_value(file_value),
      "write a page (HTML, needs no network) with charts and tables here")(
      "sqlite", text_value(file_value), "write a SQLite database here")("quiet", "no summary");
  add_loss_option(options);
  return options;
}

}  // namespace

po::options_description of_traces(po::options_description input) {
  input.add_options()(
      "base", text_value(file_value),
      "a second trace of the same model at another batch; both predict --batch together");
  add_trace_options(input);
  return input;
}

std::vector<po::options_description> scenario_groups(const po::options_description& input) {
  po::options_description job("Job");
  add_job_options(job);
  return {input, what_if_options(), measurement_options(), job, output_options()};
}

namespace {

WhatIfs what_ifs_of(const po::variables_map& values) {
  WhatIfs asked;
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) {
      const std::string name(option.name);
      if (values.count(name) == 0) continue;
      if (option.kind == OptionKind::flag) {
        asked.set(name, asks_for_flag);
        continue;
      }
      if (option.kind != OptionKind::assignments) {
        asked.set(name, values[name].as<std::string>());
        continue;
      }
      std::set<std::string> keys;
      for (const std::string& one : values[name].as<std::vector<std::string>>()) {
        const std::string key = one.substr(0, one.find('='));
        if (!keys.insert(key).second) {
          throw InputError("command line", "--" + name, key + " twice", "each number once");
        }
        asked.add(name, one);
      }
    }
  }
  return asked;
}

void set_mode(const po::variables_map& values, ReplayOptions& options) {
  const std::string mode = canonical_mode(values["mode"].as<std::string>());
  const bool given = values.count("compiler") > 0;
  if (given && mode != jit_alias) {
    throw InputError("command line", "--compiler", "mode " + mode,
                     "--mode jit beside it, or --compile NAME");
  }
  const std::string asked = options.what_ifs.get("compile");
  const std::string compiler = given ? values["compiler"].as<std::string>() : asked;
  if (!asked.empty() && asked != compiler) {
    throw InputError("command line", "--compiler", "\"" + compiler + "\" beside --compile " + asked,
                     "one compiler");
  }
  set_mode(mode, compiler, options.mode.mode, options.what_ifs);
}

/// Errors: InputError for options of which one says nothing beside the other.
void check_together(const po::variables_map& values, const ReplayOptions& options) {
  if (!values["graph-scope"].defaulted() && options.mode.mode != Mode::cuda_graph) {
    throw InputError("command line", "--graph-scope",
                     "mode " + std::string(mode_text(options.mode.mode, options.what_ifs)),
                     "--mode cuda-graph beside it");
  }
  if (options.measured_step_us > 0 && options.profiler == Profiler::keep) {
    throw InputError("command line", "--measured-step", "--profiler keep beside it",
                     "one of the two: a step that was timed had no profiler");
  }
}

}  // namespace

ReplayOptions scenario_options(const po::variables_map& values) {
  ReplayOptions options;
  options.configs = data_root() + "/configs";
  options.what_ifs = what_ifs_of(values);
  read_trace_options(values, options);
  options.job = job_of(values);
  read_host_options(values, options);
  set_mode(values, options);
  check_asked(options.what_ifs, options.mode.mode);
  options.mode.graph_scope = parse_graph_scope(values["graph-scope"].as<std::string>());
  options.profiler = parse_profiler(values["profiler"].as<std::string>());
  check_together(values, options);
  options.base_path = values["base"].as<std::string>();
  options.cache =
      parse_named(cache_states, values["cache"].as<std::string>(), "command line", "--cache");
  options.counters_path = values["counters"].as<std::string>();
  show_import(options);
  return options;
}

OutputPaths files_in(const std::string& folder) {
  return {folder + "/result.json", folder + "/kernels.csv", folder + "/timeline.json",
          folder + "/report.html"};
}

std::vector<NamedFile> written_files(const OutputPaths& paths, const std::string& by) {
  std::vector<NamedFile> files;
  for (const std::string* path :
       {&paths.json, &paths.kernels, &paths.timeline, &paths.report, &paths.sqlite}) {
    files.push_back({by, *path});
  }
  return files;
}

OutputPaths output_paths(const po::variables_map& values) {
  OutputPaths paths{values["json"].as<std::string>(), values["kernels"].as<std::string>(),
                    values["timeline"].as<std::string>(), values["report"].as<std::string>(),
                    values["sqlite"].as<std::string>()};
  const std::string folder = values["out"].as<std::string>();
  if (folder.empty()) return paths;
  const OutputPaths there = files_in(folder);
  if (paths.json.empty()) paths.json = there.json;
  if (paths.kernels.empty()) paths.kernels = there.kernels;
  if (paths.timeline.empty()) paths.timeline = there.timeline;
  if (paths.report.empty()) paths.report = there.report;
  check_written(read_files(values), written_files(paths, "--out"));
  make_folder(folder);
  return paths;
}

namespace {

void print_paths(const OutputPaths& paths) {
  if (!paths.json.empty()) fmt::print("result     {}\n", paths.json);
  if (!paths.timeline.empty()) {
    fmt::print("timeline   {}  (open in https://ui.perfetto.dev)\n", paths.timeline);
  }
  if (!paths.kernels.empty()) fmt::print("kernels    {}\n", paths.kernels);
  if (!paths.report.empty()) fmt::print("report     {}  (open in a browser)\n", paths.report);
  if (!paths.sqlite.empty()) fmt::print("sqlite     {}\n", paths.sqlite);
}

}  // namespace

Answer answer_of(const po::variables_map& values, RanksReplay found, OutputPaths paths) {
  return {std::move(found), std::move(paths), accepts_loss(values), values.count("quiet") > 0};
}

int report(const Answer& answer) {
  write_outputs(answer.found, answer.paths);
  const Result& result = answer.found.replays.front().prediction.result;
  if (!answer.paths.fill_stdout() && !answer.quiet) {
    fmt::print("{}", summary_text(result));
    std::cout << '\n';
    print_paths(answer.paths);
  }
  return loss_status(result.losses.any(Severity::data_loss), answer.accepts_loss, "the trace");
}

}  // namespace tandem
