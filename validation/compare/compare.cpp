#include "validation/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <numeric>
#include <tuple>

#include "sim/core/error.h"
#include "sim/predict/calibrate_host.h"
#include "sim/predict/network_run.h"
#include "validation/compare/captures.h"
#include "validation/compare/measured_energy.h"
#include "validation/compare/operators.h"
#include "validation/compare/predictions.h"

namespace tandem {

namespace {

/// Captures whose unprofiled iteration is this much longer than the GPU is busy are host-bound.
constexpr double host_bound_ratio = 1.12;

AskedPrediction as_traced(const std::string& trace, const Case& c) {
  AskedPrediction asked;
  asked.trace = trace;
  asked.host = c.host;
  return asked;
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
                                         Predictions& predictions) {
  const auto report = counters_of(path);
  if (!report) return {};
  AskedPrediction asked = as_traced(path, c);
  asked.cache = CacheState::cold;
  const Result& model = predictions.of(asked);
  asked.counters = *report;
  const Result& counted = predictions.of(asked);
  return {{capture_name(path), kernel_time_metric(counted, c.quantity),
           kernel_time_metric(model, c.quantity), c.absolute}};
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

StatedBand stated(const Band& band, const Result& result) {
  return {band.low_us, band.high_us, result.band_parts};
}

/// A step time against its measurement.
Comparison compare_time(std::string name, double measured_us, const Result& result) {
  return {std::move(name), measured_us, result.step.time_us, false, stated(result.band, result)};
}

std::vector<Comparison> compare_steps(const std::string& path, const Result& result) {
  std::vector<Comparison> rows;
  for (const StepFidelity& step : result.fidelity) {
    rows.push_back({capture_name(path) + " " + step.name, step.traced_us, step.simulated_us});
  }
  return rows;
}

std::vector<Comparison> compare_unprofiled(const Case& c, const std::string& path,
                                           const Result& result) {
  const double measured = measured_us(path);
  const bool host_bound = measured > host_bound_ratio * result.step.gpu_busy_us;
  if (c.bound == LimitedBy::gpu && host_bound) return {};
  if (c.bound == LimitedBy::host && !host_bound) return {};
  return {compare_time(capture_name(path), measured, result)};
}

/// Every operation of a network by itself.
std::vector<Comparison> compare_operators(const Case& c, const std::string& network,
                                          Predictions& predictions) {
  AskedPrediction asked = as_traced(network, c);
  asked.what_ifs = c.what_ifs;
  asked.cache = c.cache;
  const Replay replay = predictions.replay_of(asked);
  std::vector<Comparison> rows;
  for (const OperatorNumbers& op : operator_numbers(replay, operators_of(network), c.quantity)) {
    rows.push_back({op.name, op.measured, op.predicted});
  }
  return rows;
}

std::vector<Comparison> compare_trace(const Case& c, const std::string& path,
                                      Predictions& predictions) {
  if (c.kind == CaseKind::operators) return compare_operators(c, path, predictions);
  if (c.kind == CaseKind::counters) return compare_counters(c, path, predictions);
  if (c.kind != CaseKind::fidelity && !std::filesystem::is_regular_file(meta_of(path))) return {};
  AskedPrediction asked = as_traced(path, c);
  asked.mode = c.mode;
  asked.graph_scope = c.graph_scope;
  const Result& result = predictions.of(asked);
  if (c.kind == CaseKind::fidelity) return compare_steps(path, result);
  if (c.kind == CaseKind::unprofiled) return compare_unprofiled(c, path, result);
  if (!result.energy) return {};
  return {
      {capture_name(path), meta_number(path, "power_w"), power_in_window(path, *result.energy)}};
}

/// The batch to ask for in the measured capture's place; nothing where the base's is to stay.
std::optional<std::int64_t> other_batch(const Case& c, const PairPaths& pair, const Result& base,
                                        const Result& measured) {
  const auto stated = stated_batch(pair.measured);
  // Compiled code flattens the batch into other dimensions: what its trace shows is no measure.
  if (c.what_ifs.has("compile")) {
    if (is_network(pair.base)) return stated;
    const auto own = stated_batch(pair.base);
    return own && stated && *own != *stated ? stated : std::nullopt;
  }
  if (!base.trace.batch) return {};
  // What a network was recorded with is the program's batch, which a trace may show twice (pairs
  // of pictures).
  return (is_network(pair.base) && stated) || !measured.trace.batch ? stated : measured.trace.batch;
}

/// The base of a pair as it would run in the measured capture's place.
const Result& predict_pair(const Case& c, const PairPaths& pair, const Result& measured,
                           Predictions& predictions) {
  const Result& base = predictions.of(as_traced(pair.base, c));
  AskedPrediction asked = as_traced(pair.base, c);
  asked.second_trace = pair.second_base;
  asked.mode = c.mode;
  asked.graph_scope = c.graph_scope;
  asked.what_ifs = c.what_ifs;
  if (const auto batch = other_batch(c, pair, base, measured)) asked.what_ifs.set("batch", *batch);
  const bool known_gpu = base.gpu_kernel_time.has_value() && measured.gpu_kernel_time.has_value();
  if (known_gpu && measured.scenario.gpu != base.scenario.gpu) {
    asked.what_ifs.set("gpu", measured.scenario.gpu);
  }
  return predictions.of(asked);
}

double compute_us(const Result& result) {
  double sum = 0;
  for (const FamilyShare& f : result.families) {
    const bool moves = f.family == KernelFamily::collective || f.family == KernelFamily::transfer;
    if (!moves) sum += f.time_us;
  }
  return sum;
}

/// The stated band is that of all kernel time, in proportion.
Comparison compare_compute(const std::string& name, const Result& target, const Result& predicted) {
  Comparison out{name, compute_us(target), compute_us(predicted)};
  const double part = out.predicted / predicted.step.gpu_kernel_us;
  const Band& all = predicted.gpu_band;
  out.band = {part * all.low_us, part * all.high_us, predicted.band_parts};
  return out;
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
                          const Result& predicted, const Result& own) {
  const double before = predicted_sample_j(own, meta_number(pair.base, "batch"));
  const double after = predicted_sample_j(predicted, meta_number(pair.measured, "batch"));
  return {name, measured_sample_j(pair.measured) / measured_sample_j(pair.base), after / before,
          c.absolute};
}

/// A level of the predicted step against that of the measured one: of its counters where they were
/// recorded, with cold caches, else of its traced kernels.
Comparison compare_level(const Case& c, const PairPaths& pair, const std::string& name,
                         const Result& predicted, Predictions& predictions) {
  AskedPrediction measured = as_traced(pair.measured, c);
  if (const auto report = counters_of(pair.measured)) {
    measured.counters = *report;
    measured.cache = CacheState::cold;
  }
  return {name, kernel_time_metric(predictions.of(measured), c.quantity),
          kernel_time_metric(predicted, c.quantity), c.absolute};
}

Comparison compare_memory(const PairPaths& pair, const std::string& name, const Result& predicted) {
  if (!predicted.memory) {
    throw InputError(predicted.trace.path, "", "a step without a peak of memory",
                     "a network, or a capture with \"peak_alloc\"");
  }
  const MemorySummary& m = *predicted.memory;
  BandParts parts = predicted.band_parts;
  parts.memory = m.basis;
  return {name, meta_number(pair.measured, "peak_alloc"), m.peak_bytes, false,
          StatedBand{m.low_bytes, m.high_bytes, parts}};
}

/// Step time over that of the base; the stated speed-up is the other way around.
Comparison compare_ratio(const PairPaths& pair, const std::string& name, const Result& predicted,
                         const Result& own) {
  Comparison out{name, measured_us(pair.measured) / measured_us(pair.base),
                 predicted.step.time_us / own.step.time_us};
  if (const auto& s = predicted.speed_up)
    out.band = {1 / s->high, 1 / s->low, predicted.band_parts};
  return out;
}

Comparison compare_pair(const Case& c, const PairPaths& pair, Predictions& predictions) {
  const Result& target = predictions.of(as_traced(pair.measured, c));
  const Result& predicted = predict_pair(c, pair, target, predictions);
  const Result& own = predictions.of(as_traced(pair.base, c));
  std::string name = capture_name(pair.measured) + " from " + capture_name(pair.base);
  if (!pair.second_base.empty()) name += " and " + capture_name(pair.second_base);
  switch (c.kind) {
    case CaseKind::gpu_time:
      return {name, target.step.gpu_kernel_us, predicted.step.gpu_kernel_us, false,
              stated(predicted.gpu_band, predicted)};
    case CaseKind::compute_time: return compare_compute(name, target, predicted);
    case CaseKind::kernel_count:
      return {name, static_cast<double>(target.step.kernels),
              static_cast<double>(predicted.step.kernels)};
    case CaseKind::mode_ratio: return compare_ratio(pair, name, predicted, own);
    case CaseKind::energy_change: return compare_energy(c, pair, name, predicted, own);
    case CaseKind::level: return compare_level(c, pair, name, predicted, predictions);
    case CaseKind::peak_memory: return compare_memory(pair, name, predicted);
    default: return compare_time(name, measured_us(pair.measured), predicted);
  }
}

/// "resnet50-train a100_sxm4_80gb 256 amp channels-last".
std::string rate_name(const FoundRate& found) {
  std::string name = capture_name(found.network);
  for (const auto& [option, value] : found.rate.what_ifs.values) name += " " + value;
  if (found.rate.length) name += " seq " + std::to_string(*found.rate.length);
  return name;
}

Comparison compare_rate(const Case& c, const FoundRate& found, Predictions& predictions) {
  AskedPrediction asked = as_traced(found.network, c);
  asked.what_ifs = found.rate.what_ifs;
  asked.length = found.rate.length;
  asked.mode = c.mode;
  asked.graph_scope = c.graph_scope;
  const Result& result = predictions.of(asked);
  if (c.kind == CaseKind::gpu_time) {
    return {rate_name(found), found.rate.gpu_ms * 1e3, result.step.gpu_kernel_us, false,
            stated(result.gpu_band, result)};
  }
  const double samples = result.step.throughput_per_s * result.step.time_us;
  return {
      rate_name(found), found.rate.per_s, result.step.throughput_per_s, false,
      StatedBand{samples / result.band.high_us, samples / result.band.low_us, result.band_parts}};
}

/// Every host-bound capture with the host that the other ones calibrate.
std::vector<Comparison> compare_calibrated(const std::vector<std::string>& paths,
                                           const Predictions& predictions) {
  std::vector<TimedTrace> traces;
  for (const std::string& path : paths) traces.push_back({path, measured_us(path)});
  ReplayOptions o;
  o.configs = predictions.configs();
  std::vector<Comparison> rows;
  for (const CalibrationRow& row : calibrate_host(traces, o).rows) {
    if (row.left_out_us <= 0) continue;
    rows.push_back({capture_name(row.path), row.measured_us, row.left_out_us});
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

/// One comparison to make: from which trace, the captures it is scored on, and how.
struct Job {
  CaseResult* result = nullptr;
  std::string base;
  std::vector<std::string> scored;
  std::function<std::vector<Comparison>()> rows;
};

/// What a case is made of. `result` keeps the case and outlives the jobs.
void add_jobs(CaseResult& result, const CompareOptions& options, Predictions& predictions,
              std::vector<Job>& jobs) {
  const Case& c = result.what;
  FoundCaptures found = find_captures(c, options.data_folders);
  result.missing = std::move(found.missing);
  if (c.kind == CaseKind::calibrated_host) {
    if (found.traces.empty()) return;
    const std::vector<std::string> paths = found.traces;
    jobs.push_back(
        {&result, {}, paths, [=, &predictions] { return compare_calibrated(paths, predictions); }});
    return;
  }
  for (const std::string& path : found.traces) {
    jobs.push_back({&result, path, {path}, [=, &c, &predictions] {
                      return compare_trace(c, path, predictions);
                    }});
  }
  for (const FoundRate& rate : found.rates) {
    jobs.push_back({&result, rate.network, {}, [=, &c, &predictions] {
                      return std::vector<Comparison>{compare_rate(c, rate, predictions)};
                    }});
  }
  for (const PairPaths& pair : found.pairs) {
    jobs.push_back({&result, pair.base, {pair.measured}, [=, &c, &predictions] {
                      return std::vector<Comparison>{compare_pair(c, pair, predictions)};
                    }});
  }
}

/// Numbers of `jobs` in the order to run them: those from one trace together, and beside them those
/// from traces of the same program, which are what they are scored on, so that each is read once.
std::vector<std::size_t> by_program(const std::vector<Job>& jobs) {
  std::vector<std::string> programs;
  for (const Job& job : jobs) programs.push_back(capture_name(job.base));
  const auto key = [&](std::size_t i) { return std::tie(programs[i], jobs[i].base); };
  std::vector<std::size_t> order(jobs.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  return order;
}

/// The worst that any scored capture was used for; nothing where no manifest tells.
void note_use(CaseResult& result, const std::vector<std::string>& scored) {
  for (const std::string& path : scored) {
    const auto manifest = manifest_of(path);
    if (!manifest) continue;
    const DataUse use = use_of(*manifest, capture_name(path), result.what.rests_on);
    result.data = std::max(result.data.value_or(DataUse::holdout), use);
  }
}

}  // namespace

std::size_t CaseResult::inside() const {
  return static_cast<std::size_t>(
      std::count_if(rows.begin(), rows.end(), [](const Comparison& r) { return r.inside(); }));
}

std::size_t CaseResult::with_band() const {
  return static_cast<std::size_t>(std::count_if(
      rows.begin(), rows.end(), [](const Comparison& r) { return r.band.has_value(); }));
}

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
  std::vector<CaseResult> results(cases.size());
  Predictions predictions(options.configs);
  std::vector<Job> jobs;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    results[i].what = cases[i];
    add_jobs(results[i], options, predictions, jobs);
  }
  std::vector<std::vector<Comparison>> rows(jobs.size());
  const std::vector<std::size_t> order = by_program(jobs);
  in_parallel(jobs.size(), options.progress,
              [&](std::size_t i) { rows[order[i]] = jobs[order[i]].rows(); });
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    CaseResult& result = *jobs[i].result;
    result.rows.insert(result.rows.end(), rows[i].begin(), rows[i].end());
    if (!rows[i].empty()) note_use(result, jobs[i].scored);
  }
  for (CaseResult& result : results) summarize(result);
  return results;
}

}  // namespace tandem
