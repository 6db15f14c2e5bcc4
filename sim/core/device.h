// What a profiler states of a device and of a launch on it.
#pragma once

#include <array>
#include <cstdint>
#include <string>

namespace tandem {

/// How a kernel was launched. Interned: many kernels share one geometry.
struct LaunchGeometry {
  std::array<std::uint32_t, 3> grid{1, 1, 1};   // blocks
  std::array<std::uint32_t, 3> block{1, 1, 1};  // threads
  std::uint32_t registers_per_thread = 0;
  std::uint32_t shared_bytes = 0;  // static + dynamic, per block
  friend bool operator==(const LaunchGeometry&, const LaunchGeometry&) = default;
};

/// One entry of `deviceProperties`; zero where the trace does not say.
struct DeviceProperties {
  std::int64_t id = 0;
  std::string name;
  std::int64_t memory_bytes = 0;
  int compute_major = 0;
  int compute_minor = 0;
  int sm_count = 0;
};

}  // namespace tandem
