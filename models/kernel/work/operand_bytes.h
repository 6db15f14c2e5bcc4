// How many bytes operands hold, how many threads a launch has, what a lane asks for at once and
// what a warp group multiplies. Internal to models/kernel/work.
#pragma once

#include <algorithm>

#include "sim/core/device.h"
#include "sim/core/tensors/tensor.h"
#include "sim/core/units.h"

namespace tandem {

inline double unique_elements(const TensorShape& t) {
  return static_cast<double>(t.elements()) /
         static_cast<double>(std::max<std::int64_t>(t.expanded, 1));
}

inline int width_of(const TensorShape& t, DataType fallback) {
  const int width = element_bytes(t.type);
  return width > 0 ? width : std::max(element_bytes(fallback), 1);
}

inline double bytes_of(const TensorShape& t, DataType fallback) {
  return unique_elements(t) * width_of(t, fallback);
}

inline constexpr double widest_access = 16;  // bytes that a lane moves at once
inline constexpr int group_warps = 4;        // warps that multiply together (gmma) ...
inline constexpr int gmma_rows = 64;         // ... and the rows of their instruction

}  // namespace tandem
