// Sizes and prefixes that more than one folder counts in.
#pragma once

namespace tandem {

/// What the memory hierarchy moves at once, and what shared memory serves in one pass.
inline constexpr double sector_bytes = 32;
inline constexpr double wavefront_bytes = 128;

/// Threads of a warp; no GPU that the models know has another number.
inline constexpr int lanes_per_warp = 32;

inline constexpr double bytes_per_gb = 1e9;

inline constexpr double pico = 1e-12;
inline constexpr double micro = 1e-6;

}  // namespace tandem
