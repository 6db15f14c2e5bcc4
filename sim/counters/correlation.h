// How well two kernel launches agree: the correlation matrix of a trace and a counter report.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string_view>
#include <vector>

#include "sim/counters/counter_report.h"
#include "sim/counters/kernel_name.h"
#include "sim/trace/trace.h"

namespace tandem {

/// What a trace and a report both say about a launch.
struct Launch {
  std::uint32_t name = 0;  // into Launches::names
  Dimensions grid;
  Dimensions block;
  double registers = absent;
  double shared_bytes = absent;  // static + dynamic
};

/// Launches of one side in order. Launches that differ in nothing but time share a class.
struct Launches {
  std::vector<KernelName> names;
  std::vector<Launch> classes;
  std::vector<std::uint32_t> class_of;  // per launch
  std::vector<float> duration_us;       // per launch; NaN: unknown
  std::size_t size() const { return class_of.size(); }
};
Launches launches_of(const Trace& trace, std::span<const std::uint32_t> activities);
Launches launches_of(const CounterReport& report, std::span<const std::uint32_t> rows);

/// How far two launches agree.
enum class MatchQuality : std::uint8_t {
  none,
  substitute,  // another kernel in the same place
  similar,     // same base name, but template arguments, grid, block, registers or memory differ
  exact,       // everything agrees that both sides know
};
std::string_view to_string(MatchQuality quality);

/// Score of a pair: base name 3, template arguments up to 1.5, grid 1, block 0.5, registers 0.5,
/// duration up to 0.5, less 3.5, so that the same kernel has a positive score and other ones a
/// negative one. What one side does not know counts half.
class Correlation {
 public:
  Correlation(const Launches& report, const Launches& trace);
  float operator()(std::size_t row, std::size_t kernel) const {
    const float a = report_.duration_us[row];
    const float b = trace_.duration_us[kernel];
    const float ratio = a < b ? a / b : b / a;  // exp(-|ln(a / b)|)
    const float base = cell(report_.class_of[row], trace_.class_of[kernel]).score;
    return base + duration_weight * (ratio >= 0 ? ratio : 0.5F);
  }
  MatchQuality quality(std::size_t row, std::size_t kernel) const {
    return cell(report_.class_of[row], trace_.class_of[kernel]).quality;
  }

 private:
  static constexpr float duration_weight = 0.5F;
  struct Cell {
    float score = 0;
    MatchQuality quality = MatchQuality::substitute;
  };
  const Cell& cell(std::uint32_t row_class, std::uint32_t kernel_class) const {
    return cells_[row_class * trace_.classes.size() + kernel_class];
  }

  const Launches& report_;
  const Launches& trace_;
  std::vector<Cell> cells_;
};

}  // namespace tandem
