#include "sim/predict/invariants/result_check.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/predict/invariants/invariants.h"

namespace tandem {

namespace {

[[noreturn]] void fail(const std::string& field, std::string_view what) {
  throw std::logic_error(fmt::format("result: {} {}", field, what));
}

void check(const std::string& field, double value, const NumberRange& range = {}) {
  if (const std::string wrong = out_of(range, value); !wrong.empty()) fail(field, wrong);
}

/// `small` is not above `large`, rounding aside.
void check_order(const std::string& field, double small, std::string_view of, double large) {
  if (in_order(small, large)) return;
  fail(field, fmt::format("is {}, not at most {}, {}", small, of, large));
}

/// Rows of a table of metrics that number_orders() names together.
template <class Infos>
std::vector<std::pair<std::size_t, std::size_t>> ordered_pairs(const Infos& infos) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const NumberOrder& order : number_orders()) {
    for (std::size_t small = 0; small < infos.size(); ++small) {
      if (infos[small].name != order.small) continue;
      for (std::size_t large = 0; large < infos.size(); ++large) {
        if (infos[large].name == order.large) pairs.emplace_back(small, large);
      }
    }
  }
  return pairs;
}

/// The table of metrics `infos` of one object; `value(info)` is that of a row.
template <class Infos, class Value>
void check_metrics(const std::string& part, const Infos& infos, const Value& value) {
  static const std::vector<std::pair<std::size_t, std::size_t>> pairs = ordered_pairs(infos);
  const auto field = [&](std::size_t i) { return part + "." + std::string(infos[i].name); };
  for (std::size_t i = 0; i < infos.size(); ++i) {
    check(field(i), value(infos[i]), range_of(infos[i].name, infos[i].unit));
  }
  for (const auto& [small, large] : pairs) {
    check_order(field(small), value(infos[small]), infos[large].name, value(infos[large]));
  }
}

void check_gpu_part(const std::string& part, const GpuMetrics& metrics) {
  check_metrics(part, gpu_metric_infos(),
                [&](const GpuMetricInfo& info) { return metrics.*info.member; });
}

void check_step(const StepMetrics& step) {
  check_metrics("step", step_metric_infos(),
                [&](const MetricInfo& info) { return info.value(step); });
}

void check_energy(const EnergySummary& energy) {
  check_metrics("energy", energy_infos(),
                [&](const EnergyInfo& info) { return energy.*info.member; });
  check("energy.energy_j", energy.energy_j);
  check_order("energy.static_j", energy.static_j, "energy_j", energy.energy_j);
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
    check(fmt::format("critical_path[{} {}]", to_string(share.kind), share.name), share.share,
          {0, 1});
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
