#include "sim/predict/invariants/result_check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>

namespace tandem {

namespace {

// Numbers that are computed on two ways differ by their rounding.
constexpr double tolerance = 1e-6;

/// What a number may be: by its unit.
struct Range {
  double least = 0;
  double most = std::numeric_limits<double>::max();
};
Range range_of(std::string_view unit) { return unit == "ratio" ? Range{0, 1} : Range{}; }

[[noreturn]] void fail(const std::string& field, double value, std::string_view expected) {
  throw std::logic_error(fmt::format("result: {} is {}, not {}", field, value, expected));
}

void check(const std::string& field, double value, Range range = {}) {
  if (!std::isfinite(value)) fail(field, value, "a finite number");
  const double slack = tolerance * std::max(1.0, range.most < 2 ? range.most : 0);
  if (value < range.least - slack || value > range.most + (range.most < 2 ? slack : 0)) {
    fail(field, value, fmt::format("{} to {}", range.least, range.most));
  }
}

/// `small` is not above `large`, rounding aside.
void check_order(const std::string& field, double small, std::string_view of, double large) {
  if (small <= large * (1 + tolerance) + tolerance) return;
  fail(field, small, fmt::format("at most {}, {}", of, large));
}

/// An order of two members: `small` <= `large`.
template <class T>
struct Order {
  std::string_view small, large;
  double T::*small_member;
  double T::*large_member;
};
constexpr Order<GpuMetrics> levels[] = {
    {"smsp_issue_cycles", "smsp_active_cycles", &GpuMetrics::smsp_issue_cycles,
     &GpuMetrics::smsp_active_cycles},
    {"smsp_active_cycles", "smsp_elapsed_cycles", &GpuMetrics::smsp_active_cycles,
     &GpuMetrics::smsp_elapsed_cycles},
    {"tc_active_cycles", "smsp_elapsed_cycles", &GpuMetrics::tc_active_cycles,
     &GpuMetrics::smsp_elapsed_cycles},
    {"smsp_issue_utilization", "smsp_active_utilization", &GpuMetrics::smsp_issue_utilization,
     &GpuMetrics::smsp_active_utilization},
};
constexpr Order<StepMetrics> times[] = {
    {"gpu_busy_us", "time_us", &StepMetrics::gpu_busy_us, &StepMetrics::time_us},
    {"gpu_busy_us", "gpu_kernel_us", &StepMetrics::gpu_busy_us, &StepMetrics::gpu_kernel_us},
    {"queue_mean_depth", "queue_max_depth", &StepMetrics::queue_mean_depth,
     &StepMetrics::queue_max_depth},
};
/// Parts of the energy, which their sum is not below.
constexpr Order<EnergySummary> energies[] = {
    {"static_j", "energy_j", &EnergySummary::static_j, &EnergySummary::energy_j},
};

template <class T, std::size_t N>
void check_orders(const std::string& part, const T& object, const Order<T> (&orders)[N]) {
  for (const Order<T>& o : orders) {
    check_order(part + "." + std::string(o.small), object.*o.small_member, o.large,
                object.*o.large_member);
  }
}

void check_gpu_part(const std::string& part, const GpuMetrics& metrics) {
  for (const GpuMetricInfo& info : gpu_metric_infos()) {
    check(part + "." + std::string(info.name), metrics.*info.member, range_of(info.unit));
  }
  check_orders(part, metrics, levels);
}

void check_step(const StepMetrics& step) {
  for (const MetricInfo& info : step_metric_infos()) {
    check("step." + std::string(info.name), info.value(step), range_of(info.unit));
  }
  check_orders("step", step, times);
}

void check_energy(const EnergySummary& energy) {
  for (const EnergyInfo& info : energy_infos()) {
    check("energy." + std::string(info.name), energy.*info.member, range_of(info.unit));
  }
  check_orders("energy", energy, energies);
}

void check_band(const std::string& part, const Band& band) {
  check(part + ".low_us", band.low_us);
  check(part + ".high_us", band.high_us);
  check_order(part + ".low_us", band.low_us, "high_us", band.high_us);
}

void check_shares(const std::string& part, const std::vector<TimeShare>& shares) {
  for (const TimeShare& share : shares) {
    const std::string field = part + "[" + share.name + "]";
    check(field + ".time_us", share.time_us);
    check(field + ".share", share.share, {0, 1});
    check(field + ".energy_j", share.energy_j);
  }
}

void check_families(const std::vector<FamilyShare>& families) {
  for (const FamilyShare& share : families) {
    const std::string field = "families[" + std::string(to_string(share.family)) + "]";
    check(field + ".time_us", share.time_us);
    check(field + ".share", share.share, {0, 1});
    check(field + ".energy_j", share.energy_j);
    check_gpu_part(field, share.metrics);
  }
}

void check_moved(const std::string& part, const MovedSummary& moved) {
  check(part + ".time_us", moved.time_us);
  check(part + ".exposed_us", moved.exposed_us);
  check(part + ".bytes", moved.bytes);
  check_order(part + ".exposed_us", moved.exposed_us, "time_us", moved.time_us);
}

}  // namespace

void check_result(const Result& result) {
  check_step(result.step);
  check_band("band", result.band);
  check_band("gpu_band", result.gpu_band);
  check("expected_error", result.expected_error);
  check("input_wait_us", result.input_wait_us);
  check("graph_captured_us", result.graph_captured_us);
  for (const StepFidelity& step : result.fidelity) {
    check("fidelity[" + step.name + "].traced_us", step.traced_us);
    check("fidelity[" + step.name + "].simulated_us", step.simulated_us);
  }
  check_shares("kernels", result.kernels);
  check_shares("ops", result.ops);
  check_shares("layers", result.layers);
  for (const PathShare& share : result.critical_path) {
    check("critical_path[" + share.kind + " " + share.name + "]", share.share, {0, 1});
  }
  if (result.gpu_step) check_gpu_part("step", *result.gpu_step);
  if (result.gpu_kernel_time) check_gpu_part("kernel_time", *result.gpu_kernel_time);
  check_families(result.families);
  if (result.energy) check_energy(*result.energy);
  if (result.memory) check("memory.peak_bytes", result.memory->peak_bytes);
  if (result.collectives) check_moved("collectives", *result.collectives);
  if (result.input_copies) check_moved("input_copies", *result.input_copies);
  for (const TransformReport& report : result.what_ifs) {
    check(std::string(report.name) + ".expected_error", report.expected_error);
  }
}

}  // namespace tandem
