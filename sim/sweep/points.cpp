#include "sim/sweep/points.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <utility>

#include "models/arch/gpu_config.h"
#include "models/arch/gpu_fields.h"
#include "models/whatif/precision/precision.h"
#include "sim/core/bounds/limits.h"
#include "sim/core/fields/field.h"
#include "sim/core/text/numbers.h"
#include "sim/core/units.h"
#include "sim/predict/configs.h"
#include "sim/predict/network_run.h"
#include "sim/sweep/pareto.h"
#include "sim/sweep/ranks/share.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

/// The GPU of a point before its overrides.
const GpuArch& point_gpu(const SweepBase& base, const std::string& name) {
  const TracedRun& a = base.run;
  if (!name.empty()) return find_gpu(a.configs.gpus, name);
  if (a.gpu) return *a.gpu;
  throw InputError(a.summary.path, "gpu", "a trace of an unknown GPU", "an axis \"gpu\"");
}

double gpu_number(const GpuArch& gpu, const std::string& parameter) {
  const Place place{"sweep", parameter};
  const std::string key = parameter.substr(gpu_prefix.size());
  const Json value = find_field(gpu_fields(), key, place).write(gpu);
  if (!value.is_number()) place.fail(describe_json(value), "a key whose value is a number");
  return value.get<double>();
}

bool is_whole(const GpuArch& gpu, const std::string& parameter) {
  const std::string key = parameter.substr(gpu_prefix.size());
  return find_field(gpu_fields(), key, {"sweep", parameter}).write(gpu).is_number_integer();
}

/// "gpu.KEY=VALUE"; a scale "x0.5" refers to `gpu`.
std::string override_text(const GpuArch& gpu, const Setting& setting) {
  if (!setting.value.starts_with("x")) return setting.name + "=" + setting.value;
  const auto factor = plain_number<double>(std::string_view(setting.value).substr(1));
  if (!factor || !(*factor > 0 && *factor <= limits::largest_number)) {
    throw InputError("sweep", setting.name, "\"" + setting.value + "\"",
                     "a value, or x and a positive factor");
  }
  const double scaled = gpu_number(gpu, setting.name) * *factor;
  if (is_whole(gpu, setting.name)) {
    return fmt::format("{}={}", setting.name, limits::whole(std::round(scaled)));
  }
  return fmt::format("{}={}", setting.name, scaled);
}

void add_file_if_there(ContentHash& hash, const std::string& path, std::string_view name) {
  std::error_code error;
  if (fs::is_regular_file(path, error)) hash.add_file(path, name);
}

/// A trace and the meta file that may lie beside it.
void add_trace(ContentHash& hash, const std::string& path) {
  hash.add_file(path, "trace");
  const std::size_t suffix = path.rfind(".json");
  if (suffix == std::string::npos) return;
  add_file_if_there(hash, path.substr(0, suffix) + ".meta.json", "meta");
}

/// Every file that a prediction may read.
void add_configs(ContentHash& hash, const std::string& configs) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : fs::recursive_directory_iterator(configs, error)) {
    const fs::path name = entry.path().lexically_relative(configs);
    if (!entry.is_regular_file() || name.stem() == "README") continue;
    if (*name.begin() != "experiments") files.push_back(name.string());
  }
  if (error) throw InputError(configs, "", error.message(), "the folder of configs");
  std::sort(files.begin(), files.end());
  for (const std::string& name : files) hash.add_file((fs::path(configs) / name).string(), name);
}

void check_value(const SweepBase& base, const std::string& name, const std::string& value) {
  if (name == "mode") {
    ReplayOptions ignored;
    set_mode(value, "", ignored.mode.mode, ignored.what_ifs);
  }
  if (const TransformOption* option = option_of_axis(name)) {
    check_option(*option, value, base.run.configs.gpus);
  }
  if (name.starts_with(gpu_prefix)) {
    find_field(gpu_fields(), name.substr(gpu_prefix.size()), {"sweep", name});
  }
}

std::vector<std::size_t> front_of(const Sweep& sweep) {
  if (!sweep.experiment.pareto) return {};
  const ParetoQuestion& q = *sweep.experiment.pareto;
  return pareto_front(metric_column(sweep, q.x), metric_column(sweep, q.y), q.x_goal, q.y_goal);
}

}  // namespace

namespace {

/// Every host that a point may be on.
std::vector<std::string> hosts_of(const Experiment& experiment) {
  std::vector<std::string> hosts;
  const auto add = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      if (axis.name != "host") continue;
      for (const std::string& value : axis.values) {
        if (value == asks_nothing) continue;
        if (std::find(hosts.begin(), hosts.end(), value) == hosts.end()) hosts.push_back(value);
      }
    }
  };
  add(experiment.axes);
  if (experiment.elasticity) add(experiment.elasticity->at);
  return hosts;
}

ReplayOptions base_options(const Experiment& experiment, const std::string& configs) {
  ReplayOptions options;
  options.configs = configs;
  options.trace_path = experiment.trace;
  options.base_path = experiment.base;
  options.measured_step_us = experiment.measured_step_s * 1e6;
  if (!experiment.task.empty()) {
    options.network_task = parse_task(experiment.task, experiment.name, "task");
  }
  options.network_optimizer = experiment.optimizer;
  if (experiment.seq > 0) options.network_length = experiment.seq;
  options.traced_gpu = experiment.traced_gpu;
  options.job = {experiment.samples, experiment.price};
  options.steps = {experiment.step, experiment.steps};
  options.traced_batch = experiment.traced_batch;
  options.peak_memory_bytes = experiment.peak_memory_gb * bytes_per_gb;
  return options;
}

/// Errors: InputError for what says something of a network.
void check_no_network(const Experiment& experiment) {
  const std::string seq = experiment.seq > 0 ? std::to_string(experiment.seq) : "";
  for (const auto& [key, text] :
       {std::pair{"task", experiment.task}, std::pair{"optimizer", experiment.optimizer},
        std::pair{"seq", seq}}) {
    if (text.empty()) continue;
    throw InputError(experiment.name, key, "\"" + text + "\" beside a trace, " + experiment.trace,
                     "a network, or no " + std::string(key));
  }
}

}  // namespace

SweepBase load_sweep_base(const Experiment& experiment, const std::string& configs) {
  SweepBase base;
  base.options = base_options(experiment, configs);
  const std::vector<std::string> hosts = hosts_of(experiment);
  if (is_network(experiment.trace)) {
    ReplayOptions options = base.options;
    base.configs.emplace(options.host, load_configs(configs, options.host));
    for (const std::string& host : hosts) base.configs.emplace(host, load_configs(configs, host));
    const NetworkRequest request = take_request(experiment.trace, options);
    base.run = analyse_network(request, options, base.configs.at(options.host));
    return base;
  }
  check_no_network(experiment);
  Trace trace = import_trace(experiment.trace, {});
  std::optional<Trace> second;
  if (!experiment.base.empty()) second = import_trace(experiment.base, {});
  for (const std::string& host : hosts) {
    ReplayOptions options = base.options;
    options.host = host;
    base.hosts.push_back({host, analyse(trace, options), {}});
    if (second) base.hosts.back().second = analyse(*second, options_of_second(options));
  }
  base.run = analyse(std::move(trace), base.options);
  if (second) base.second = analyse(std::move(*second), options_of_second(base.options));
  return base;
}

namespace {

/// An option that only says how must find its what-if in one of the points. Errors: InputError.
void check_asked_somewhere(const std::vector<Axis>& axes) {
  WhatIfs asked;
  std::vector<std::string> modes{"as-traced"};
  bool compiler = false;
  for (const Axis& axis : axes) {
    if (axis.name == "mode") modes = axis.values;
    compiler = compiler || axis.name == "compiler";
    if (option_of_axis(axis.name) == nullptr || axis.name == "compiler") continue;
    for (const std::string& value : axis.values) {
      if (value != asks_nothing) asked.set(axis.name, value);
    }
  }
  if (compiler && std::find(modes.begin(), modes.end(), jit_alias) == modes.end()) {
    throw InputError("sweep", "compiler", "no mode jit",
                     "an axis \"mode\" with jit, or \"compile\"");
  }
  for (std::size_t i = 0; i < modes.size(); ++i) {
    ReplayOptions one;
    one.what_ifs = asked;
    set_mode(modes[i], "", one.mode.mode, one.what_ifs);
    try {
      return check_asked(one.what_ifs, one.mode.mode);
    } catch (const InputError&) {
      if (i + 1 == modes.size()) throw;
    }
  }
}

/// Errors: InputError for a GPU under two of its names.
void check_gpus(const GpuCatalogue& gpus, const Axis& axis) {
  std::map<std::string, std::string> named;
  for (const std::string& value : axis.values) {
    if (value == asks_nothing) continue;
    const auto [it, first] = named.emplace(find_gpu(gpus, value).name, value);
    if (!first) {
      throw InputError("sweep", axis.name, it->second + " and " + value + ", which are one GPU",
                       "each GPU once");
    }
  }
}

}  // namespace

void check_values(const SweepBase& base, const Experiment& experiment, const std::string& path) {
  const auto at = [&](const std::string& key, const auto& check) {
    try {
      check();
    } catch (const InputError& error) {
      throw InputError(path, key, error.found(), error.expected());
    }
  };
  const auto check_all = [&](const std::string& key, const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      at(key + "." + axis.name, [&] {
        for (const std::string& value : axis.values) check_value(base, axis.name, value);
        if (axis.name == "gpu") check_gpus(base.run.configs.gpus, axis);
      });
    }
    at(key, [&] { check_asked_somewhere(axes); });
  };
  check_all("axes", experiment.axes);
  if (!experiment.elasticity) return;
  check_all("elasticity.at", experiment.elasticity->at);
  for (const std::string& parameter : experiment.elasticity->parameters) {
    at("elasticity.parameters", [&] { check_value(base, parameter, ""); });
  }
}

ReplayOptions point_options(const SweepBase& base, const Point& point) {
  ReplayOptions options = base.options;
  const std::string gpu = value_of(point, "gpu");
  for (const Setting& s : point) {
    if (s.name == "mode") {
      set_mode(s.value, value_of(point, "compiler"), options.mode.mode, options.what_ifs);
    } else if (s.name == "host") {
      if (s.value != asks_nothing) options.host = s.value;
    } else if (s.name.starts_with(gpu_prefix)) {
      options.what_ifs.add("set", override_text(point_gpu(base, gpu), s));
    } else if (s.name != "compiler") {
      options.what_ifs.set(s.name, s.value);
    }
  }
  return options;
}

double parameter_value(const SweepBase& base, const Point& point, const std::string& parameter) {
  const ReplayOptions options = point_options(base, point);
  GpuArch gpu = point_gpu(base, options.what_ifs.get("gpu"));
  apply_overrides(gpu, options.what_ifs.all("set"));
  return gpu_number(gpu, parameter);
}

PointResult predict_point(const SweepBase& base, const Point& point) {
  ReplayOptions options = point_options(base, point);
  if (is_network(options.trace_path)) {
    const NetworkRequest request = take_request(options.trace_path, options);
    const Configs& configs = base.configs.at(options.host);
    return measure_point(run_network(request, options, configs).prediction.result);
  }
  const auto on = std::find_if(base.hosts.begin(), base.hosts.end(),
                               [&](const auto& one) { return one.host == options.host; });
  const TracedRun& run = on == base.hosts.end() ? base.run : on->run;
  const std::optional<TracedRun>& second = on == base.hosts.end() ? base.second : on->second;
  if (second && options.what_ifs.has("batch")) {
    return measure_point(predict(run, *second, options).result);
  }
  return measure_point(predict(run, options).result);
}

std::uint64_t hash_inputs(const Experiment& experiment, const std::string& configs,
                          const std::string& version) {
  ContentHash hash;
  hash.add(version);
  // Paths of traces too: errors of points name them. What a point sets is not among the inputs, and
  // which metrics a table shows changes none.
  for (const Field<Experiment>& f : experiment_fields()) {
    if (f.name != "metrics") hash.add(f.name + f.write(experiment).dump());
  }
  add_trace(hash, experiment.trace);
  if (!experiment.base.empty()) add_trace(hash, experiment.base);
  add_configs(hash, configs);
  for (const std::string& host : hosts_of(experiment))
    hash.add_file(host_path(configs, host), host);
  return hash.value();
}

std::uint64_t hash_points(const Experiment& experiment, std::uint64_t inputs) {
  ContentHash hash;
  hash.add(std::to_string(inputs));
  const auto add = [&](const std::vector<Axis>& axes) {
    for (const Axis& axis : axes) {
      hash.add(axis.name);
      for (const std::string& value : axis.values) hash.add(value);
    }
  };
  add(experiment.axes);
  if (!experiment.elasticity) return hash.value();
  add(experiment.elasticity->at);
  add({{"", experiment.elasticity->parameters}});
  hash.add(fmt::format("{}", experiment.elasticity->step));
  return hash.value();
}

void run_shared_sweep(const Experiment& experiment, const SweepBase& base, std::uint64_t inputs,
                      const RunOptions& options) {
  const std::size_t in_grid = grid_size(experiment.axes);
  std::vector<Point> around;
  if (experiment.elasticity) around = elasticity_points(*experiment.elasticity);
  const auto run = [&](std::size_t i) {
    const Point point = i < in_grid ? grid_point(experiment.axes, i) : around.at(i - in_grid);
    Outcome outcome = run_point(point, [&](const Point& p) { return predict_point(base, p); });
    outcome.line = point_line(inputs, point, outcome.result);
    return outcome;
  };
  run_shared_points(*options.ranks, run, share_options(options));
}

Sweep run_sweep(const Experiment& experiment, const SweepBase& base, PointStore* store,
                const RunOptions& options) {
  Sweep sweep;
  sweep.experiment = experiment;
  sweep.losses = base.run.losses;
  if (base.second) sweep.losses.merge(base.second->losses);
  sweep.points = grid_points(experiment.axes);
  std::vector<Point> all = sweep.points;
  if (experiment.elasticity) {
    const std::vector<Point> more = elasticity_points(*experiment.elasticity);
    all.insert(all.end(), more.begin(), more.end());
  }
  sweep.results = run_points(
      all, [&](const Point& p) { return predict_point(base, p); }, store, options);
  if (experiment.elasticity) {
    const std::span<const PointResult> around(sweep.results.begin() + sweep.points.size(),
                                              sweep.results.end());
    sweep.elasticities = elasticities(
        *experiment.elasticity, around,
        [&](const Point& p, const std::string& name) { return parameter_value(base, p, name); });
  }
  sweep.results.resize(sweep.points.size());
  sweep.front = front_of(sweep);
  return sweep;
}

}  // namespace tandem
