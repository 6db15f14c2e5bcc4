// Where a number comes from: every hardware constant and every result carries this.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tandem {

/// `spec`: published or derived from published numbers. `measured`: read off a device. `fitted`:
/// chosen so that a model reproduces data; a result must not be scored on the data it was fitted
/// on.
enum class ValueKind : std::uint8_t { spec, measured, fitted };
std::string_view to_string(ValueKind kind);

struct Provenance {
  ValueKind kind = ValueKind::spec;
  std::string source;     // document, data set or program; "unverified: ..." where nobody checked
  std::string fitted_on;  // the data a fitted value was fitted on; else empty
  double uncertainty = 0.0;  // relative standard deviation; 0: not stated
  bool overridden = false;   // set for this run, in place of what a config states
};

}  // namespace tandem
