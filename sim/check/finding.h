// What is to be said of a measurement, and what it may still be used for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/named.h"

namespace tandem {

/// What people use a trace for.
enum class Use : std::uint8_t { step_time, kernel_times, utilization, what_ifs, energy };
inline constexpr Named<Use> uses[] = {
    {Use::step_time, "step time"},     {Use::kernel_times, "kernel times"},
    {Use::utilization, "utilization"}, {Use::what_ifs, "what-ifs"},
    {Use::energy, "energy"},
};

/// Some of them.
struct UseSet {
  std::uint8_t bits = 0;
  constexpr bool has(Use use) const { return (bits >> static_cast<unsigned>(use) & 1U) != 0; }
};
template <class... Uses>
constexpr UseSet for_uses(Uses... use) {
  return {static_cast<std::uint8_t>(((1U << static_cast<unsigned>(use)) | ...))};
}

enum class Concern : std::uint8_t {
  note,   // worth knowing; nothing is less true for it
  doubt,  // numbers for the uses it touches are less certain
  wrong,  // numbers for the uses it touches are not those of the workload
};
inline constexpr Named<Concern> concerns[] = {
    {Concern::note, "note"}, {Concern::doubt, "doubt"}, {Concern::wrong, "wrong"}};

/// What a check saw that it should not have seen.
struct Observation {
  Concern concern = Concern::note;
  double value = 0;     // in the unit of the check
  double expected = 0;  // at most this, in the same unit
  std::string place;    // step, time or kernel
};

/// An observation with what its check says of it.
struct Finding {
  std::string_view code, what, unit, means, advice;
  UseSet touches;
  Observation seen;
};

/// Of a use: the worst concern among the findings that touch it, and which they are.
struct UseVerdict {
  Use use = Use::step_time;
  bool touched = false;
  Concern concern = Concern::note;
  std::vector<std::string_view> because;  // codes of that concern
};

struct CheckReport {
  std::vector<Finding> findings;     // worst first, then in the order of the checks
  std::vector<UseVerdict> verdicts;  // one a use
  std::size_t checks = 0;            // that were made
  bool any(Concern concern) const;
};

}  // namespace tandem
