// The texts of a report before it is known how its numbers are written. Between the two halves of
// the reader only.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/counters/counter_report.h"

namespace tandem {

/// The value of a metric of a kernel.
struct RawCell {
  std::uint32_t row = 0;
  std::uint32_t metric = 0;  // into metric_names()
  std::uint32_t line = 0;
  StringId unit;  // into CounterReport::strings
  StringId value;
};

/// Fills every column of `report` but `values` and the dimensions that only metrics tell; returns
/// the rest. Errors: InputError.
std::vector<RawCell> scan_report(CounterReport& report);

/// Fills the rest. Errors: InputError for a text that is no number, or one that cannot be.
void fill_values(CounterReport& report, const std::vector<RawCell>& cells);

}  // namespace tandem
