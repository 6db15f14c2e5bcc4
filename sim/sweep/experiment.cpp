#include "sim/sweep/experiment.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <unordered_set>

#include "models/whatif/transform.h"
#include "sim/core/fields/field.h"
#include "sim/core/named.h"
#include "sim/predict/options.h"
#include "sim/predict/stated.h"

namespace tandem {

namespace {

constexpr std::string_view goals[] = {"min", "max"};

template <class Texts>
bool has(const Texts& texts, std::string_view text) {
  return std::find(std::begin(texts), std::end(texts), text) != std::end(texts);
}

std::string number_text(double value) { return fmt::format("{}", value); }

std::string scale_text(const Json& json, const Place& place) {
  double value = 0;
  read_json(json, place, Range::positive, value);
  return fmt::format("x{}", value);
}

/// The axes that have names: mode, the what-ifs' options, and the compiler of mode jit.
std::vector<std::string_view> named_axes() {
  std::vector<std::string_view> names{"mode", "host"};
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) {
      if (option.kind != OptionKind::assignments) names.push_back(option.name);
    }
  }
  names.push_back("compiler");
  return names;
}

/// One value of the axis `name`.
std::string value_text(const std::string& name, const Json& json, const Place& place) {
  const TransformOption* option = find_option(name);
  const OptionKind kind = option == nullptr ? OptionKind::name : option->kind;
  if (kind == OptionKind::count && json != asks_nothing) {
    std::int64_t value = 0;
    read_json(json, place, Range::positive, value);
    return std::to_string(value);
  }
  const bool number =
      kind == OptionKind::number || (kind == OptionKind::number_or_none && !json.is_string());
  if (number && json != asks_nothing) {
    double value = 0;
    read_json(json, place, Range::positive, value);
    return number_text(value);
  }
  if (name.starts_with(gpu_prefix) && json.is_number()) {
    double value = 0;
    read_json(json, place, Range::non_negative, value);
    return json.is_number_integer() ? json.dump() : number_text(value);
  }
  std::string text;
  read_json(json, place, Range::positive, text);
  if (name == "mode") return canonical_mode(text);
  const TransformOption* named = option_of_axis(name);
  return named == nullptr ? text : canonical_value(*named, text);
}

void check_axis_name(const std::string& name, const Place& axes) {
  const auto names = named_axes();
  if (has(names, name) || (name.starts_with(gpu_prefix) && name.size() > gpu_prefix.size())) {
    return;
  }
  std::vector<std::string> known(names.begin(), names.end());
  known.emplace_back("gpu.KEY");
  axes.fail(fmt::format("unknown axis \"{}\"", name), expected_name(known, name));
}

/// Errors: InputError for more points than a sweep has.
void check_points(double points, const Place& place) {
  if (points <= static_cast<double>(max_sweep_points)) return;
  place.fail(fmt::format("a grid of {:.3g} points", points),
             fmt::format("at most {} points", max_sweep_points));
}

/// [v, ...], or {"scale": [v, ...]} for a number of the GPU.
Axis read_axis(const std::string& name, const Json& json, const Place& place) {
  Axis axis{name, {}};
  const bool scaled = json.is_object();
  if (scaled && (!name.starts_with(gpu_prefix) || json.size() != 1 || !json.contains("scale"))) {
    place.fail(describe_json(json), name.starts_with(gpu_prefix)
                                        ? "a list of values or {\"scale\": [factors]}"
                                        : "a list of values");
  }
  const Json& values = scaled ? json["scale"] : json;
  if (!values.is_array()) place.fail(describe_json(values), "a list of values");
  if (values.empty()) place.fail("an empty list", "at least one value");
  check_points(static_cast<double>(values.size()), place);
  std::unordered_set<std::string> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const Place at = place / std::to_string(i);
    std::string text = scaled ? scale_text(values[i], at) : value_text(name, values[i], at);
    if (!seen.insert(text).second) at.fail(fmt::format("{} twice", text), "each value once");
    axis.values.push_back(std::move(text));
  }
  return axis;
}

std::vector<Axis> read_axes(const Json& json, const Place& place) {
  require_object(json, place);
  if (json.empty()) place.fail("no axis", "at least one axis, e.g. \"batch\": [32, 64]");
  std::vector<Axis> axes;
  double product = 1;
  for (const auto& [name, values] : json.items()) {
    check_axis_name(name, place);
    axes.push_back(read_axis(name, values, place / name));
    product *= static_cast<double>(axes.back().values.size());
  }
  check_points(product, place);
  return axes;
}

/// {"batch": 64, "gpu": "NAME"}: a scenario.
std::vector<Axis> read_scenario(const Json& json, const Place& place) {
  require_object(json, place);
  std::vector<Axis> axes;
  for (const auto& [name, value] : json.items()) {
    check_axis_name(name, place);
    axes.push_back({name, {value_text(name, value, place / name)}});
  }
  return axes;
}

template <class T>
void read_known(const Json& json, const Place& place, std::span<const Field<T>> fields,
                std::span<const std::string_view> needed, T& out) {
  require_object(json, place);
  for (const auto& [key, value] : json.items()) {
    find_field(fields, key, place).read(out, value, place / key);
  }
  for (const std::string_view name : needed) {
    if (json.contains(name)) continue;
    place.fail(fmt::format("no key \"{}\"", name),
               fmt::format("at least: {}", fmt::join(needed, ", ")));
  }
}

std::span<const Field<ParetoQuestion>> pareto_fields() {
  using P = ParetoQuestion;
  static const std::vector<Field<P>> fields = {
      field("x", "", "Metric on the x axis", &P::x),
      field("y", "", "Metric on the y axis", &P::y),
      choice_field("x_goal", "What is better: min (default) or max", &P::x_goal, goals),
      choice_field("y_goal", "What is better: min or max (default)", &P::y_goal, goals),
  };
  return fields;
}

std::span<const Field<ElasticityQuestion>> elasticity_fields() {
  using Q = ElasticityQuestion;
  static const std::vector<Field<Q>> fields = {
      field("parameters", "", "Numbers of the GPU: gpu.KEY", &Q::parameters),
      field("step", "ratio", "Relative change to both sides", &Q::step),
      field("metric", "", "Metric that changes", &Q::metric),
      {"at", "", "Scenario to look around; default: as traced",
       [](Q& q, const Json& json, const Place& place) { q.at = read_scenario(json, place); },
       [](const Q&) { return Json(); }},
  };
  return fields;
}

void read_pareto(Experiment& e, const Json& json, const Place& place) {
  static constexpr std::string_view needed[] = {"x", "y"};
  read_known<ParetoQuestion>(json, place, pareto_fields(), needed, e.pareto.emplace());
}

void read_elasticity(Experiment& e, const Json& json, const Place& place) {
  static constexpr std::string_view needed[] = {"parameters"};
  ElasticityQuestion& q = e.elasticity.emplace();
  read_known<ElasticityQuestion>(json, place, elasticity_fields(), needed, q);
  if (q.step >= 1) (place / "step").fail(number_text(q.step), "a number above 0 and below 1");
  if (q.parameters.empty()) (place / "parameters").fail("an empty list", "at least one gpu.KEY");
  for (std::size_t i = 0; i < q.parameters.size(); ++i) {
    const std::string& name = q.parameters[i];
    const Place at = place / "parameters" / std::to_string(i);
    if (!name.starts_with(gpu_prefix)) at.fail(fmt::format("\"{}\"", name), "gpu.KEY");
    const auto end = q.parameters.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(q.parameters.begin(), end, name) != end) at.fail(name + " twice", "each once");
    for (const Axis& fixed : q.at) {
      if (fixed.name == name) at.fail(name + ", which \"at\" fixes", "another parameter");
    }
  }
}

void require_metric(const std::string& name, const Place& place,
                    std::span<const std::string_view> known) {
  if (has(known, name)) return;
  const std::vector<std::string> names(known.begin(), known.end());
  place.fail(fmt::format("\"{}\"", name), expected_name(names, name));
}

void check_metrics(const Experiment& e, const Place& file,
                   std::span<const std::string_view> known) {
  std::set<std::string_view> seen;
  for (const std::string& name : e.metrics) {
    require_metric(name, file / "metrics", known);
    if (!seen.insert(name).second) (file / "metrics").fail(name + " twice", "each once");
  }
  if (e.pareto) {
    require_metric(e.pareto->x, file / "pareto" / "x", known);
    require_metric(e.pareto->y, file / "pareto" / "y", known);
  }
  if (e.elasticity) require_metric(e.elasticity->metric, file / "elasticity" / "metric", known);
}

/// Errors: InputError for numbers that no job has and for a price of nothing.
void check_job(const Experiment& e, const Place& file) {
  for (const auto& [key, value] : {std::pair{"samples", e.samples}, std::pair{"price", e.price}}) {
    if (value > most_of_a_job) {
      (file / key).fail(number_text(value), fmt::format("at most {}", most_of_a_job));
    }
  }
  if (e.price > 0 && e.samples <= 0) (file / "price").fail("no samples", "samples beside it");
}

/// Errors: InputError for what no traced run can have.
void check_run(const Experiment& e, const std::string& path) {
  const auto said = [](auto value) { return value > 0 ? std::optional(value) : std::nullopt; };
  check_stated({said(e.steps), e.step, said(e.traced_batch), said(e.peak_memory_gb),
                said(e.measured_step_s)},
               {path, "steps", "step", "traced_batch", "peak_memory_gb", "measured_step_s"});
}

std::string beside(const std::string& path, const std::string& file) {
  if (file.empty() || file == "-") return file;
  return (std::filesystem::path(path).parent_path() / file).lexically_normal().string();
}

/// Paths of hosts lie beside the experiment, as traces do; names stay.
void place_hosts(std::vector<Axis>& axes, const std::string& path) {
  for (Axis& axis : axes) {
    if (axis.name != "host") continue;
    for (std::string& value : axis.values) {
      if (value.ends_with(".json")) value = beside(path, value);
    }
  }
}

}  // namespace

std::span<const Field<Experiment>> experiment_fields() {
  using E = Experiment;
  static const std::vector<Field<E>> fields = {
      {"schema", "", "tandem.experiment/1 (needed)",
       [](E&, const Json& json, const Place& place) {
         static constexpr std::string_view schemas[] = {experiment_schema};
         read_choice(json, place, schemas);
       },
       [](const E&) { return Json(std::string(experiment_schema)); }},
      field("trace", "", "Profiler trace or network, relative to this file (needed)", &E::trace),
      field("base", "", "A second trace of the model at another batch", &E::base),
      field("measured_step_s", "s", "The traced step as timed without the profiler",
            &E::measured_step_s),
      {"axes", "", "What differs between points: {\"batch\": [32, 64], ...} (needed)",
       [](E& e, const Json& json, const Place& place) { e.axes = read_axes(json, place); },
       [](const E&) { return Json(); }},
      field("metrics", "", "Columns of the text table", &E::metrics),
      {"pareto", "", "{\"x\": METRIC, \"y\": METRIC, \"x_goal\": \"min\", \"y_goal\": \"max\"}",
       read_pareto, [](const E&) { return Json(); }},
      {"elasticity", "", "{\"parameters\": [gpu.KEY, ...], \"step\": 0.1, \"at\": {...}}",
       read_elasticity, [](const E&) { return Json(); }},
      field("task", "", "Of a network: train or infer; default: as recorded, of an ONNX file train",
            &E::task),
      field("optimizer", "", "Of an ONNX file that trains: sgd (default), adam or adamw",
            &E::optimizer),
      field("seq", "", "Of a network: length of a sequence, where it has one", &E::seq),
      field("traced_gpu", "", "GPU that the trace was recorded on, where it does not tell",
            &E::traced_gpu),
      field("samples", "", "Samples of a job: the metrics job_hours, job_kwh and job_price",
            &E::samples),
      field("price", "", "Of a GPU hour, for job_price", &E::price),
      field("steps", "", "Iterations that the trace holds, where it does not mark them", &E::steps),
      field("step", "", "Annotation of the trace that begins each step", &E::step),
      field("traced_batch", "", "Items of a traced step, where the trace does not tell",
            &E::traced_batch),
      field("peak_memory_gb", "GB", "Peak memory of the traced run, where the trace does not tell",
            &E::peak_memory_gb),
  };
  return fields;
}

Experiment parse_experiment(const Json& json, const std::string& path,
                            std::span<const std::string_view> metrics) {
  static constexpr std::string_view needed[] = {"schema", "trace", "axes"};
  const Place file{path, ""};
  Experiment e;
  read_known<Experiment>(json, file, experiment_fields(), needed, e);
  e.name = std::filesystem::path(path).stem().string();
  e.trace = beside(path, e.trace);
  e.base = beside(path, e.base);
  place_hosts(e.axes, path);
  if (e.elasticity) place_hosts(e.elasticity->at, path);
  if (json.contains("metrics") && e.metrics.empty()) {
    (file / "metrics").fail("an empty list", "at least one metric, or no key");
  }
  if (e.metrics.empty()) {
    for (const char* name : {"time_us", "throughput_per_s", "gpu_utilization"}) {
      e.metrics.emplace_back(name);
    }
  }
  check_metrics(e, file, metrics);
  check_job(e, file);
  check_run(e, path);
  return e;
}

const TransformOption* option_of_axis(const std::string& axis) {
  return find_option(axis == "compiler" ? "compile" : axis);
}

Experiment read_experiment(const std::string& path, std::span<const std::string_view> metrics) {
  return parse_experiment(read_json_file(path), path, metrics);
}

}  // namespace tandem
