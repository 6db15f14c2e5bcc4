#include "sim/cli/sweep/asked.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>

#include "models/whatif/transform.h"
#include "sim/cli/scenario_options.h"
#include "sim/core/fields/field.h"
#include "sim/core/text/numbers.h"
#include "sim/predict/network_run.h"
#include "sim/predict/options.h"
#include "sim/sweep/metrics.h"

namespace tandem {

namespace {

namespace po = boost::program_options;

constexpr const char* command_line = "command line";

/// A number where the text is one: experiment files tell numbers from texts.
Json value_of(std::string_view text) {
  if (const auto whole = plain_number<std::int64_t>(text)) return *whole;
  if (const auto number = plain_number<double>(text); number && std::isfinite(*number)) {
    return *number;
  }
  return std::string(text);
}

/// "a,b" as a list. Errors: InputError for nothing between two commas.
Json values_of(const std::string& option, std::string_view text) {
  Json list = Json::array();
  for (const std::string& one : comma_list(text)) {
    if (one.empty()) {
      throw InputError(command_line, "--" + option, "an empty value",
                       "values with commas between them");
    }
    list.push_back(value_of(one));
  }
  return list;
}

struct AxisOption {
  std::string name;
  std::string shown;
  std::string doc;
};

std::vector<AxisOption> axis_rows() {
  std::vector<AxisOption> rows{{"mode", mode_texts("|"), "how the host issues the step"},
                               {"host", host_value, "hosts: names of configs/hosts, or paths"}};
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) {
      if (option.kind == OptionKind::assignments) continue;
      std::string names;
      for (const std::string_view name : option.names) {
        names.append(names.empty() ? "" : "|").append(name);
      }
      const char* number = option.kind == OptionKind::gpu ? gpu_value : "N";
      rows.push_back(
          {std::string(option.name), names.empty() ? number : names, std::string(option.doc)});
    }
  }
  return rows;
}

/// gpu.KEY=V,V as an axis.
void add_number(const std::string& text, Json& axes) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || !text.starts_with("gpu.")) {
    throw InputError(command_line, "--set", "\"" + text + "\"", "gpu.KEY=VALUE,VALUE...");
  }
  const std::string name = text.substr(0, equals);
  if (axes.contains(name)) {
    throw InputError(command_line, "--set", name + " twice", "all its values at once");
  }
  axes[name] = values_of("set", text.substr(equals + 1));
}

/// The file of the trace or network, and its task.
void set_source(const po::variables_map& values, const std::string& networks, Json& json) {
  const std::string source = values["experiment"].as<std::string>();
  const std::string task = values["task"].as<std::string>();
  std::error_code error;
  const bool file = source == "-" || std::filesystem::exists(source, error) ||
                    std::filesystem::path(source).has_extension();
  json["trace"] = file ? source : network_path(source, task, networks);
  if (file && !task.empty()) json["task"] = task;
}

}  // namespace

po::options_description axis_options() {
  po::options_description options("Axes: one value, or several with commas between them");
  for (const AxisOption& row : axis_rows()) {
    options.add_options()(row.name.c_str(), po::value<std::string>()->value_name(row.shown),
                          row.doc.c_str());
  }
  options.add_options()("set", texts_value("gpu.KEY=VALUE,..."),
                        "numbers of the GPU, e.g. gpu.sm_count=66,132");
  return options;
}

void add_sweep_inputs(po::options_description& options) {
  options.add_options()("task", text_value("train|infer"),
                        "of a network; default: train, or what a file was recorded with")(
      "optimizer", text_value("sgd|adam|adamw"), "of an ONNX model that trains; default: sgd")(
      "base", text_value(file_value), "a second trace of the model at another batch")(
      "seq", po::value<std::int64_t>()->value_name("N"),
      "length of a sequence, where the network has one")(
      "traced-gpu", text_value(gpu_value),
      "the GPU that the trace was recorded on, where the trace does not tell")(
      "steps", po::value<std::int64_t>()->value_name("N"), "iterations that the trace holds")(
      "step", text_value("NAME"), "annotation of the trace that begins each step")(
      "traced-batch", po::value<std::int64_t>()->value_name("N"), "items of a traced step")(
      "peak-memory", po::value<double>()->value_name("GB"), "peak memory of the traced run")(
      "measured-step", po::value<double>()->value_name("SECONDS"),
      "the traced step without the profiler, as you timed it")(
      "samples", po::value<double>()->value_name("N"),
      "samples of a job: the metrics job_hours, job_kwh")(
      "price", po::value<double>()->value_name("P"), "of a GPU hour: the metric job_price")(
      "metrics", text_value("NAME,NAME..."), "columns of the table; --keys lists them")(
      "pareto", text_value("X,Y"), "metrics of the Pareto front: least X, most Y");
}

bool asks_axes(const po::variables_map& values) {
  if (!values["set"].as<std::vector<std::string>>().empty()) return true;
  for (const AxisOption& row : axis_rows()) {
    if (values.count(row.name) > 0) return true;
  }
  return false;
}

bool may_be_experiment(const std::string& path) {
  std::error_code error;
  // What can be read once only is not looked at: whoever reads it says what it is.
  if (!std::filesystem::is_regular_file(path, error)) {
    return path == "-" || path.ends_with(".json") || std::filesystem::exists(path, error);
  }
  std::ifstream file(path, std::ios::binary);
  constexpr std::size_t looked_at = std::size_t{1} << 20;
  std::string begin(looked_at, ' ');
  file.read(begin.data(), static_cast<std::streamsize>(looked_at));
  return begin.find("tandem.experiment/") != std::string::npos;
}

namespace {

/// What experiment files say beside axes. Errors: InputError for what no traced run can have.
void set_inputs(const po::variables_map& values, Json& json) {
  stated_run(values);  // says of an option what a key could not: a number that is none
  const auto key_of = [](std::string option) {
    std::replace(option.begin(), option.end(), '-', '_');
    return option;
  };
  for (const char* option : {"optimizer", "base", "step", "traced-gpu"}) {
    const std::string text = values[option].as<std::string>();
    if (!text.empty()) json[key_of(option)] = text;
  }
  for (const char* option : {"steps", "traced-batch", "seq"}) {
    if (values.count(option) > 0) json[key_of(option)] = values[option].as<std::int64_t>();
  }
  for (const char* option : {"samples", "price"}) {
    if (values.count(option) > 0) json[option] = values[option].as<double>();
  }
  if (values.count("peak-memory") > 0) json["peak_memory_gb"] = values["peak-memory"].as<double>();
  if (values.count("measured-step") > 0) {
    json["measured_step_s"] = values["measured-step"].as<double>();
  }
}

/// What is asked of the points.
void set_questions(const po::variables_map& values, Json& json) {
  const std::string metrics = values["metrics"].as<std::string>();
  if (!metrics.empty()) json["metrics"] = values_of("metrics", metrics);
  const std::string pareto = values["pareto"].as<std::string>();
  if (pareto.empty()) return;
  const Json two = values_of("pareto", pareto);
  if (two.size() != 2) {
    throw InputError(command_line, "--pareto", "\"" + pareto + "\"", "two metrics");
  }
  json["pareto"] = {{"x", two[0]}, {"y", two[1]}};
}

}  // namespace

Experiment asked_experiment(const po::variables_map& values, const std::string& networks) {
  Json json = {{"schema", std::string(experiment_schema)}, {"axes", Json::object()}};
  set_source(values, networks, json);
  for (const AxisOption& row : axis_rows()) {
    if (values.count(row.name) == 0) continue;
    json["axes"][row.name] = values_of(row.name, values[row.name].as<std::string>());
  }
  for (const std::string& one : values["set"].as<std::vector<std::string>>()) {
    add_number(one, json["axes"]);
  }
  set_inputs(values, json);
  set_questions(values, json);
  Experiment experiment = parse_experiment(json, command_line, sweep_metric_names());
  const std::string name = std::filesystem::path(experiment.trace).filename().string();
  experiment.name = experiment.trace == "-" ? "sweep" : name.substr(0, name.find(".json"));
  return experiment;
}

}  // namespace tandem
