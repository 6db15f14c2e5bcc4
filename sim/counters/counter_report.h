// What Nsight Compute counted, one row per profiled kernel launch, as columns.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/core/column.h"
#include "sim/core/error.h"
#include "sim/core/ids.h"
#include "sim/core/string_table.h"
#include "sim/counters/counter_table.h"

namespace tandem {

/// Blocks of a grid or threads of a block. All zero: unknown. Zero behind the first: only the total
/// is known.
struct Dimensions {
  std::array<std::uint32_t, 3> size{0, 0, 0};
  bool known() const { return size[0] > 0; }
  bool only_total() const { return size[1] == 0; }
  std::uint64_t total() const;
  friend bool operator==(const Dimensions&, const Dimensions&) = default;
};

/// SM sub-partitions of an SM, on every GPU that Nsight Compute supports.
inline constexpr double smsps_per_sm = 4;

/// A counter that the report does not hold.
inline constexpr double absent = std::numeric_limits<double>::quiet_NaN();

struct CounterReport {
  std::string path;
  std::string layout;  // "raw" (one column a metric) or "details" (one row a metric)
  StringTable strings;

  Column<StringId> kernel;
  Column<std::int64_t> id;       // as Nsight Compute numbers launches of a process; -1: none
  Column<std::int64_t> process;  // -1: unknown
  Column<std::int64_t> device;   // -1: unknown
  /// Compute capability, 90 for 9.0; -1: unknown.
  Column<std::int16_t> capability;
  Column<Dimensions> grid;
  Column<Dimensions> block;
  std::array<std::vector<double>, counter_count> values;  // `absent` where there is none
  LossList losses;

  std::size_t size() const { return kernel.size(); }
  double value(Counter counter, std::size_t row) const {
    return values[static_cast<std::size_t>(counter)][row];
  }
};

/// Levels of one kernel that passes of a replay measured one after the other may contradict each
/// other a little; beyond this they are no measurement.
inline constexpr double most_excess = 1.25;

/// Counts as lost data, "impossible_counters", what no kernel can have done in its time.
void count_impossible(std::int64_t counters, LossList& losses);

/// Reads `ncu --csv` of the raw page (wide) or the details page (long), plain or gzip, printed in
/// any unit and with decimal point or comma. Errors: InputError with file and line.
CounterReport read_counter_report(const std::string& path);

}  // namespace tandem
