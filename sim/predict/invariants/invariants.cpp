#include "sim/predict/invariants/invariants.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tandem {

namespace {

// Numbers that are computed on two ways differ by their rounding.
constexpr double tolerance = 1e-6;

constexpr double largest = std::numeric_limits<double>::max();
constexpr NumberRange any{-largest, largest};
constexpr NumberRange not_negative{0, largest};
constexpr NumberRange part_of_one{0, 1};

struct RangeRow {
  std::string_view name;
  NumberRange range;
};

constexpr RangeRow of_units[] = {{"ratio", part_of_one}, {"share", part_of_one}, {"any", any}};

/// Numbers of which their unit says too much.
constexpr RangeRow of_names[] = {
    // Ratios that are no shares.
    {"expected_error", not_negative},
    {"generated_error", not_negative},
    {"uncertainty", not_negative},
    {"memory_uncertainty", not_negative},
    {"batch_factor", not_negative},
    {"factor", not_negative},
    {"memory_ratio", not_negative},
    {"slowdown", not_negative},
    {"step", not_negative},
    {"elasticity", any},
    // Of speed-ups, and of whatever has bands.
    {"value", not_negative},
    {"low", not_negative},
    {"high", not_negative},
    // What is saved, and what has changed.
    {"layout_us", any},
    {"change", any},
    {"change_us", any},
    {"device_change_us", any},
    {"change_by_count_us", any},
    {"attributed_us", any},
    {"remainder_us", any},
};

constexpr NumberOrder orders[] = {
    {"smsp_issue_cycles", "smsp_active_cycles"},
    {"smsp_active_cycles", "smsp_elapsed_cycles"},
    {"tc_active_cycles", "smsp_elapsed_cycles"},
    {"smsp_issue_utilization", "smsp_active_utilization"},
    {"gpu_busy_us", "time_us"},
    {"gpu_busy_us", "gpu_kernel_us"},
    {"exposed_us", "time_us"},
    {"waiting_us", "collective_us"},
    {"skew_mean_us", "skew_worst_us"},
    {"queue_mean_depth", "queue_max_depth"},
    {"scheduling_queue_mean_depth", "scheduling_queue_max_depth"},
    {"input_critical_us", "input_wait_us"},
    {"low", "high"},
    {"low_us", "high_us"},
    {"low_bytes", "high_bytes"},
    {"band_low_us", "band_high_us"},
    {"gpu_kernel_low_us", "gpu_kernel_high_us"},
    {"from", "to"},
    {"matched", "count"},
    {"matched", "kernels"},
    {"matched_time_us", "time_us"},
    {"rank", "world_size"},
    {"static_j", "energy_j"},
};

constexpr NumberSum sums[] = {
    {"step_parts[].time_us", "step.time_us", false},
    {"critical_path[].time_us", "step.time_us", false},
    {"critical_path[].share", "", false},
    {"families[].share", "", false},
    {"kernels[].share", "", false},
    {"ops[].share", "", false},
    {"layers[].share", "", false},
    {"step.energy.static_j+step.energy.dram_j+step.energy.l2_j+step.energy.l1_j+"
     "step.energy.shared_j+step.energy.compute_j+step.energy.tensor_j+"
     "step.energy.instructions_j+step.energy.other_j",
     "step.energy_j"},
    {"attributed_us+remainder_us", "change_us"},
    {"kinds.rows[].change_us", "kinds.change_us"},
    {"parts[].change_us", "attributed_us"},
};

}  // namespace

NumberRange range_of(std::string_view name, std::string_view unit) {
  const auto with = [](std::span<const RangeRow> rows, std::string_view text) {
    return std::find_if(rows.begin(), rows.end(),
                        [&](const RangeRow& r) { return r.name == text; });
  };
  const std::span<const RangeRow> units(of_units), names(of_names);
  if (const auto row = with(units, unit); row != units.end() && unit == "any") return row->range;
  if (const auto row = with(names, name); row != names.end()) return row->range;
  if (const auto row = with(units, unit); row != units.end()) return row->range;
  return not_negative;
}

std::string out_of(const NumberRange& range, double value) {
  if (!std::isfinite(value)) return fmt::format("is {}, not a finite number", value);
  if (value >= range.least - tolerance && value <= range.most + (range.most > 1 ? 0 : tolerance)) {
    return "";
  }
  return range.most > 1 ? fmt::format("is {}, not {} or more", value, range.least)
                        : fmt::format("is {}, not {} to {}", value, range.least, range.most);
}

std::span<const NumberOrder> number_orders() { return orders; }

bool in_order(double small, double large) {
  return small <= large + tolerance * (1 + std::abs(large));
}

std::span<const NumberSum> number_sums() { return sums; }

}  // namespace tandem
