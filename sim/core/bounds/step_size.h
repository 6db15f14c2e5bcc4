// How large one step may be.
#pragma once

#include <cstddef>

namespace tandem::limits {

/// Kernels, copies and memsets of one step, which is simulated as a whole and takes 2.5 kB of memory
/// for each. The longest real steps have some hundred thousand.
inline constexpr std::size_t step_works = std::size_t{1} << 20;

}  // namespace tandem::limits
