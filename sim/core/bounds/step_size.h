// How large one step may be.
#pragma once

#include <cstddef>

namespace tandem::limits {

/// Kernels, copies and memsets of one step, which is simulated as a whole and takes up to 3.3 kB
/// of memory for each. The longest real steps have some hundred thousand.
inline constexpr std::size_t step_works = 800'000;

/// Kernels, operations or parts of a path that a result lists; the least of more are summed up.
/// More than the steps of real programs have, and a row takes a kilobyte in a report.
inline constexpr std::size_t listed_names = 10'000;

}  // namespace tandem::limits
