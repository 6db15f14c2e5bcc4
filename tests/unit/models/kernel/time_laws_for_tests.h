// What tests of laws of time share: the GPU, its DRAM, shapes.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "sim/core/tensors/tensor.h"
#include "tests/gpus_for_tests.h"

namespace tandem::test {

/// Of an H200, which gpu() is: 132 SMs, 50 MiB of L2.
inline double dram_bytes_per_us() { return gpu().dram_peak_gbps * 1e3; }

inline TensorShape fp32_shape(std::initializer_list<std::int64_t> dims) {
  TensorShape t;
  for (const std::int64_t d : dims) t.dims[t.rank++] = d;
  t.type = DataType::fp32;
  return t;
}

}  // namespace tandem::test
