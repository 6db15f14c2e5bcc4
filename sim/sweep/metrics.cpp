#include "sim/sweep/metrics.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "sim/core/named.h"

namespace tandem {

namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

void add_step_metrics(std::vector<SweepMetric>& out) {
  for (const MetricInfo& info : step_metric_infos()) {
    out.push_back({info.name, info.unit, info.description,
                   [value = info.value](const Result& r) { return value(r.step); }});
  }
}

void add_gpu_metrics(std::vector<SweepMetric>& out) {
  for (const GpuMetricInfo& info : gpu_metric_infos()) {
    out.push_back({info.name, info.unit, info.description, [member = info.member](const Result& r) {
                     return r.gpu_step ? (*r.gpu_step).*member : unknown;
                   }});
  }
}

void add_runtime_metrics(std::vector<SweepMetric>& out) {
  for (const RuntimeMetricInfo& info : runtime_metric_infos()) {
    out.push_back({info.name, info.unit, info.description, [member = info.member](const Result& r) {
                     return r.runtime ? (*r.runtime).*member : unknown;
                   }});
  }
}

void add_memory(std::vector<SweepMetric>& out) {
  const auto one = [&](std::string_view name, std::string_view unit, std::string_view text,
                       double (*value)(const MemorySummary&)) {
    out.push_back({name, unit, text,
                   [value](const Result& r) { return r.memory ? value(*r.memory) : unknown; }});
  };
  one("memory_peak_bytes", "B", "peak of the caching allocator",
      [](const MemorySummary& m) { return m.peak_bytes; });
  one("memory_uncertainty", "ratio", "half of the 90 % interval of the peak, relative",
      [](const MemorySummary& m) { return m.uncertainty(); });
  one("fits", "bool", "the peak fits into the GPU's memory",
      [](const MemorySummary& m) { return m.fits ? 1.0 : 0.0; });
}

void add_energy(std::vector<SweepMetric>& out) {
  const auto one = [&](std::string_view name, std::string_view unit, std::string_view text,
                       double (*value)(const EnergySummary&)) {
    out.push_back({name, unit, text,
                   [value](const Result& r) { return r.energy ? value(*r.energy) : unknown; }});
  };
  one("energy_j", "J", "energy of one step at the board",
      [](const EnergySummary& e) { return e.energy_j; });
  one("energy_error_j", "J", "standard deviation of energy_j",
      [](const EnergySummary& e) { return e.error_j; });
  one("average_power_w", "W", "average power of the board",
      [](const EnergySummary& e) { return e.average_power_w; });
  out.push_back({"energy_per_sample_j", "J", "energy_j / items of a step (batch x passes)",
                 [](const Result& r) {
                   if (!r.energy || !r.scenario.batch) return unknown;
                   return r.energy->energy_j / static_cast<double>(*r.scenario.items());
                 }});
}

/// What the samples of a job take, where they are asked for.
void add_job(std::vector<SweepMetric>& out) {
  const auto one = [&](std::string_view name, std::string_view unit, std::string_view text,
                       double (*value)(const JobCost&)) {
    out.push_back(
        {name, unit, text, [value](const Result& r) { return r.job ? value(*r.job) : unknown; }});
  };
  one("job_hours", "h", "that the samples of the job take",
      [](const JobCost& j) { return j.hours; });
  one("job_kwh", "kWh", "of the GPUs' boards alone, over the job",
      [](const JobCost& j) { return j.kwh.value_or(unknown); });
  one("job_price", "currency", "of all GPU hours of the job",
      [](const JobCost& j) { return j.price.value_or(unknown); });
}

void add_confidence(std::vector<SweepMetric>& out) {
  out.push_back({"expected_error", "ratio", "relative error of time_us to be expected",
                 [](const Result& r) { return r.expected_error; }});
  out.push_back({"band_low_us", "us",
                 "lower end of the interval where nine of ten measurements of time_us lie",
                 [](const Result& r) { return r.band.low_us; }});
  out.push_back(
      {"band_high_us", "us", "its upper end", [](const Result& r) { return r.band.high_us; }});
  // A value of a what-if's report; `otherwise` for points without it.
  const auto of = [&](std::string_view what_if, std::string_view value, double otherwise,
                      std::string_view name, std::string_view unit, std::string_view text) {
    out.push_back({name, unit, text, [=](const Result& r) {
                     return report_number(find_report(r.what_ifs, what_if), value, otherwise);
                   }});
  };
  of("batch", "factor", 1, "batch_factor", "ratio", "batch / nearest traced batch");
  of("batch", "extrapolated", 0, "extrapolated", "bool", "the batch lies outside the traced ones");
  of("batch", "switch_share", 0, "switch_share", "ratio",
     "GPU time for which the library likely chooses other algorithms");
  of("batch", "affine_share", 0, "affine_share", "ratio",
     "GPU time in kernels whose batch law has no model");
  of("compile", "unknown_share", 0, "unknown_share", "ratio",
     "GPU time that the compiler model knows no shapes of");
}

std::vector<SweepMetric> all_metrics() {
  std::vector<SweepMetric> out;
  add_step_metrics(out);
  add_runtime_metrics(out);
  add_gpu_metrics(out);
  add_memory(out);
  add_energy(out);
  add_job(out);
  add_confidence(out);
  return out;
}

}  // namespace

std::span<const SweepMetric> sweep_metrics() {
  static const std::vector<SweepMetric> metrics = all_metrics();
  return metrics;
}

ReadableUnit readable_unit(std::string_view unit) {
  if (unit == "us") return {"ms", 1e-3};
  if (unit == "B") return {"GB", 1e-9};
  if (unit == "ratio") return {"%", 100};
  return {unit, 1};
}

std::vector<std::string_view> sweep_metric_names() {
  std::vector<std::string_view> names;
  for (const SweepMetric& m : sweep_metrics()) names.push_back(m.name);
  return names;
}

std::size_t sweep_metric_index(std::string_view name) {
  const auto metrics = sweep_metrics();
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    if (metrics[i].name == name) return i;
  }
  const auto names = sweep_metric_names();
  throw InputError("sweep", "metric", fmt::format("\"{}\"", name),
                   expected_name(std::vector<std::string>(names.begin(), names.end()), name));
}

PointResult measure_point(const Result& result) {
  PointResult out;
  out.values.reserve(sweep_metrics().size());
  for (const SweepMetric& m : sweep_metrics()) {
    const double value = m.value(result);
    out.values.push_back(std::isfinite(value) ? value : unknown);
  }
  return out;
}

}  // namespace tandem
