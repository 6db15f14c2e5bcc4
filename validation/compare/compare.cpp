#include "validation/compare/compare.h"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>

#include "sim/core/field.h"
#include "sim/predict/calibrate_host.h"
#include "sim/predict/predict.h"
#include "sim/trace/source/stored_name.h"
#include "validation/compare/measured_energy.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

/// Captures whose unprofiled iteration is this much longer than the GPU is busy are host-bound.
constexpr double host_bound_ratio = 1.12;

std::string name_of(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  const std::size_t at = name.find(".json");
  return at == std::string::npos ? name : name.substr(0, at);
}

/// What was measured beside the trace, without the profiler.
std::string meta_of(const std::string& trace_path) {
  return std::string(trace_stem(trace_path).value_or(trace_path)) + ".meta.json";
}

/// Paths below the data folders that a case names; a capture found twice counts once.
std::vector<std::string> expand(const Case& c, const CompareOptions& options,
                                std::vector<std::string>& missing) {
  std::map<std::string, std::string> found;  // name -> path
  for (const std::string& pattern : c.traces) {
    const bool all = pattern.ends_with("/*");
    bool any = false;
    for (const std::string& folder : options.data_folders) {
      const fs::path place =
          fs::path(folder) / (all ? pattern.substr(0, pattern.size() - 2) : pattern);
      std::error_code error;
      if (!all && fs::is_regular_file(place, error)) {
        any = true;
        found.emplace(name_of(pattern), place.string());
      }
      if (!all || !fs::is_directory(place, error)) continue;
      for (const auto& entry : fs::directory_iterator(place)) {
        const std::string file = entry.path().filename().string();
        if (!trace_stem(file)) continue;
        const bool out =
            std::any_of(c.excluded.begin(), c.excluded.end(),
                        [&](const std::string& prefix) { return file.starts_with(prefix); });
        if (out) continue;
        any = true;
        found.emplace(name_of(file), entry.path().string());
      }
    }
    if (!any) missing.push_back(pattern);
  }
  std::vector<std::string> paths;
  paths.reserve(found.size());
  for (const auto& [name, path] : found) paths.push_back(path);
  return paths;
}

std::optional<std::string> find_capture(const std::string& name, const CompareOptions& options) {
  for (const std::string& folder : options.data_folders) {
    if (auto path = find_stored((fs::path(folder) / (name + ".json")).string())) return path;
  }
  return {};
}

/// A number of the capture's meta file, which holds what was measured without the profiler.
double meta_number(const std::string& trace_path, const std::string& key) {
  const std::string path = meta_of(trace_path);
  const Json meta = read_json_file(path);
  if (!meta.contains(key) || !meta[key].is_number() || meta[key].get<double>() <= 0) {
    throw InputError(path, key, "no positive number", "a measured value");
  }
  return meta[key].get<double>();
}

/// Unprofiled iteration time in microseconds.
double measured_us(const std::string& trace_path) {
  return meta_number(trace_path, "iter_s") * 1e6;
}

/// The files of a CasePair.
struct PairPaths {
  std::string base;
  std::string second_base;  // empty: none
  std::string measured;
};

/// Nothing, and the names noted, if a capture is not here.
std::optional<PairPaths> find_pair(const CasePair& pair, const CompareOptions& options,
                                   std::vector<std::string>& missing) {
  PairPaths paths;
  bool all = true;
  for (const auto& [name, path] :
       {std::pair{&pair.base, &paths.base}, std::pair{&pair.second_base, &paths.second_base},
        std::pair{&pair.measured, &paths.measured}}) {
    if (name->empty()) continue;
    const auto found = find_capture(*name, options);
    if (found) *path = *found;
    if (!found) missing.push_back(*name);
    all = all && found.has_value();
  }
  if (!all) return {};
  return paths;
}

Replay run(const std::string& path, const Case& c, const CompareOptions& options, Mode mode) {
  ReplayOptions replay_options;
  replay_options.trace_path = path;
  replay_options.configs = options.configs;
  replay_options.host = c.host;
  replay_options.mode = {mode, c.graph_scope};
  return replay(replay_options);
}

/// Nsight Compute's report of the same workload, or nothing.
std::optional<std::string> counters_of(const std::string& trace_path) {
  const fs::path path(trace_path);
  const fs::path folder = path.parent_path().parent_path() / "counters";
  return find_stored((folder / (name_of(trace_path) + ".csv")).string());
}

/// The metric called `names`, or the sum of several with '+' between.
double kernel_time_metric(const Result& result, std::string_view names) {
  double sum = 0;
  for (const GpuMetricInfo& info : gpu_metric_infos()) {
    const std::string list = "+" + std::string(names) + "+";
    if (list.find("+" + std::string(info.name) + "+") == std::string::npos) continue;
    sum += (*result.gpu_kernel_time).*info.member;
  }
  return sum;
}

/// The model with cold caches against the counters of the same kernels.
std::vector<Comparison> compare_counters(const Case& c, const std::string& path,
                                         const CompareOptions& options) {
  const auto report = counters_of(path);
  if (!report) return {};
  ReplayOptions replay_options;
  replay_options.trace_path = path;
  replay_options.configs = options.configs;
  replay_options.cache = "cold";
  const Replay model = replay(replay_options);
  replay_options.counters_path = *report;
  const Replay counted = replay(replay_options);
  return {{name_of(path), kernel_time_metric(counted.result, c.quantity),
           kernel_time_metric(model.result, c.quantity), c.absolute}};
}

/// Predicted power while an iteration takes as long as it did in the power window: reading the
/// meter slows the host, and an idle GPU draws less.
double power_in_window(const std::string& trace_path, const EnergySummary& energy) {
  const auto measured = measured_energy(meta_of(trace_path));
  if (!measured) return energy.average_power_w;
  const double step_us = energy.energy_j / energy.average_power_w * 1e6;
  const double static_w = energy.static_j / step_us * 1e6;
  return static_w + (energy.energy_j - energy.static_j) / measured->window_us * 1e6;
}

std::vector<Comparison> compare_trace(const Case& c, const std::string& path,
                                      const CompareOptions& options) {
  if ((c.kind == CaseKind::unprofiled || c.kind == CaseKind::power) &&
      !fs::is_regular_file(meta_of(path))) {
    return {};
  }
  if (c.kind == CaseKind::counters) return compare_counters(c, path, options);
  const Replay r = run(path, c, options, c.mode);
  std::vector<Comparison> rows;
  if (c.kind == CaseKind::fidelity) {
    for (const StepFidelity& step : r.result.fidelity) {
      rows.push_back({name_of(path) + " " + step.name, step.traced_us, step.simulated_us});
    }
    return rows;
  }
  if (c.kind == CaseKind::power) {
    if (!r.result.energy) return {};
    return {{name_of(path), meta_number(path, "power_w"), power_in_window(path, *r.result.energy)}};
  }
  const double measured = measured_us(path);
  const bool host_bound = measured > host_bound_ratio * r.result.step.gpu_busy_us;
  if (c.bound == LimitedBy::gpu && host_bound) return {};
  if (c.bound == LimitedBy::host && !host_bound) return {};
  return {{name_of(path), measured, r.result.step.time_us}};
}

/// The base of a pair as it would run in the measured capture's place.
Result predict_pair(const Case& c, const PairPaths& pair, const Result& measured,
                    const CompareOptions& options) {
  ReplayOptions o;
  o.trace_path = pair.base;
  o.base_path = pair.second_base;
  o.configs = options.configs;
  o.host = c.host;
  o.mode = {c.mode, c.graph_scope};
  o.what_ifs = c.what_ifs;
  // Where the capture says; compiled code flattens the batch into other dimensions.
  const bool other_batch = measured.trace.batch && !c.what_ifs.has("compile");
  if (other_batch) o.what_ifs.set("batch", *measured.trace.batch);
  const TracedRun base = analyse(import_trace(pair.base), o);
  if (!base.summary.batch) o.what_ifs.set("batch", asks_nothing);
  if (base.gpu && measured.scenario.gpu != base.gpu->name) {
    o.what_ifs.set("gpu", measured.scenario.gpu);
  }
  return pair.second_base.empty() ? predict(base, o).result : replay(o).result;
}

double compute_us(const Result& result) {
  double sum = 0;
  for (const FamilyShare& family : result.families) {
    if (family.name != "collective" && family.name != "transfer") sum += family.time_us;
  }
  return sum;
}

/// Power x window time of a capture, a sample.
double measured_sample_j(const std::string& trace_path) {
  const std::string path = meta_of(trace_path);
  const auto measured = measured_energy(path);
  if (!measured) throw InputError(path, "power_w", "no measured energy", "power and its window");
  return measured->energy_j() / meta_number(trace_path, "batch");
}

double predicted_sample_j(const Result& result, double batch) {
  if (!result.energy) {
    throw InputError(result.trace.path, "", "a GPU without energy constants",
                     "a GPU whose config has \"energy\"");
  }
  return result.energy->energy_j / batch;
}

/// Energy of a sample in the measured capture over that in the base.
Comparison compare_energy(const Case& c, const PairPaths& pair, const std::string& name,
                          const Result& predicted, const CompareOptions& options) {
  const Result own = run(pair.base, c, options, Mode::as_traced).result;
  const double before = predicted_sample_j(own, meta_number(pair.base, "batch"));
  const double after = predicted_sample_j(predicted, meta_number(pair.measured, "batch"));
  return {name, measured_sample_j(pair.measured) / measured_sample_j(pair.base), after / before,
          c.absolute};
}

Comparison compare_pair(const Case& c, const PairPaths& pair, const CompareOptions& options) {
  const Result target = run(pair.measured, c, options, Mode::as_traced).result;
  const Result predicted = predict_pair(c, pair, target, options);
  std::string name = name_of(pair.measured) + " from " + name_of(pair.base);
  if (!pair.second_base.empty()) name += " and " + name_of(pair.second_base);
  switch (c.kind) {
    case CaseKind::gpu_time: return {name, target.step.gpu_kernel_us, predicted.step.gpu_kernel_us};
    case CaseKind::compute_time: return {name, compute_us(target), compute_us(predicted)};
    case CaseKind::kernel_count:
      return {name, static_cast<double>(target.step.kernels),
              static_cast<double>(predicted.step.kernels)};
    case CaseKind::mode_ratio: {
      const double own = run(pair.base, c, options, Mode::as_traced).result.step.time_us;
      return {name, measured_us(pair.measured) / measured_us(pair.base),
              predicted.step.time_us / own};
    }
    case CaseKind::energy_change: return compare_energy(c, pair, name, predicted, options);
    default: return {name, measured_us(pair.measured), predicted.step.time_us};
  }
}

/// Every host-bound capture with the host that the other ones calibrate.
std::vector<Comparison> compare_calibrated(const std::vector<std::string>& paths,
                                           const CompareOptions& options) {
  std::vector<TimedTrace> traces;
  for (const std::string& path : paths) traces.push_back({path, measured_us(path)});
  ReplayOptions o;
  o.configs = options.configs;
  std::vector<Comparison> rows;
  for (const CalibrationRow& row : calibrate_host(traces, o).rows) {
    if (row.left_out_us <= 0) continue;
    rows.push_back({name_of(row.path), row.measured_us, row.left_out_us});
  }
  return rows;
}

void summarize(CaseResult& result) {
  double sum = 0;
  for (const Comparison& row : result.rows) {
    const double error = std::abs(row.error());
    sum += error;
    if (error < result.worst_error) continue;
    result.worst_error = error;
    result.worst_name = row.name;
  }
  if (!result.rows.empty()) result.mean_error = sum / static_cast<double>(result.rows.size());
}

/// One figure against its limit (0: none) or the band that a deviation sets in its place.
Verdict judge(double figure, double limit, const std::optional<GapBand>& band) {
  if (!band) return limit > 0 && figure > limit ? Verdict::missed : Verdict::ok;
  if (figure < band->lower) return Verdict::gap_closed;
  return figure > band->upper ? Verdict::gap_grew : Verdict::accepted;
}

CaseResult run_case(const Case& c, const CompareOptions& options) {
  CaseResult result;
  result.what = c;
  std::vector<std::function<std::vector<Comparison>()>> jobs;
  const std::vector<std::string> paths = expand(c, options, result.missing);
  if (c.kind == CaseKind::calibrated_host && !paths.empty()) {
    jobs.emplace_back([&options, &paths] { return compare_calibrated(paths, options); });
  }
  for (const std::string& path : paths) {
    if (c.kind == CaseKind::calibrated_host) break;
    jobs.emplace_back([&c, &options, path] { return compare_trace(c, path, options); });
  }
  for (const CasePair& pair : c.pairs) {
    const auto paths = find_pair(pair, options, result.missing);
    if (!paths) continue;
    jobs.emplace_back([&c, &options, paths = *paths] {
      return std::vector<Comparison>{compare_pair(c, paths, options)};
    });
  }
  std::vector<std::vector<Comparison>> rows(jobs.size());
  tbb::parallel_for(std::size_t{0}, jobs.size(), [&](std::size_t i) { rows[i] = jobs[i](); });
  for (const auto& list : rows) result.rows.insert(result.rows.end(), list.begin(), list.end());
  summarize(result);
  return result;
}

}  // namespace

Verdict CaseResult::verdict() const {
  if (rows.empty()) return Verdict::no_data;
  if (static_cast<std::int64_t>(rows.size()) < what.least_rows) return Verdict::too_few;
  const Deviation none;
  const Deviation& accepted = what.deviation ? *what.deviation : none;
  const Verdict mean = judge(mean_error, what.mean_limit, accepted.mean);
  const Verdict worst = judge(worst_error, what.worst_limit, accepted.worst);
  for (const Verdict v : {Verdict::missed, Verdict::gap_grew, Verdict::gap_closed}) {
    if (mean == v || worst == v) return v;
  }
  return what.deviation ? Verdict::accepted : Verdict::ok;
}

bool CaseResult::passed() const {
  const Verdict v = verdict();
  return v != Verdict::missed && v != Verdict::gap_closed && v != Verdict::gap_grew;
}

std::vector<CaseResult> run_cases(const std::vector<Case>& cases, const CompareOptions& options) {
  std::vector<CaseResult> results;
  results.reserve(cases.size());
  for (const Case& c : cases) results.push_back(run_case(c, options));
  return results;
}

}  // namespace tandem
