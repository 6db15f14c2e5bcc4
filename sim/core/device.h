// What a profiler states of a device and of a launch on it; how a driver hands over launches.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "sim/core/time.h"

namespace tandem {

/// Submitted longer than this before the previous work of its stream ends, a launch is fetched in
/// another way, which takes another time (seen in all H200 captures of validation/captures).
inline constexpr Duration far_lead = microseconds(100);

/// How a kernel was launched. Interned: many kernels share one geometry.
struct LaunchGeometry {
  std::array<std::uint32_t, 3> grid{1, 1, 1};   // blocks
  std::array<std::uint32_t, 3> block{1, 1, 1};  // threads
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes = 0;  // static + dynamic, per block
  friend bool operator==(const LaunchGeometry&, const LaunchGeometry&) = default;
};

/// Of all blocks together.
inline double threads(const LaunchGeometry& g) {
  return double(g.grid[0]) * g.grid[1] * g.grid[2] * g.block[0] * g.block[1] * g.block[2];
}

/// One entry of `deviceProperties`; zero where the trace does not say.
struct DeviceProperties {
  std::int64_t id = 0;
  std::string name;
  std::int64_t memory_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
  friend bool operator==(const DeviceProperties&, const DeviceProperties&) = default;
};

}  // namespace tandem
