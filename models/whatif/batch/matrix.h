// Time of a matrix product on the best tile and split: what a library that chooses well would
// reach.
#pragma once

#include <cstdint>
#include <optional>

#include "models/whatif/batch/kernel.h"

namespace tandem {

/// Extents of the product behind a GEMM or a convolution (as implicit GEMM).
struct Product {
  double batch = 1, m = 0, n = 0, k = 0;
  double bytes = 0;     // operands and result
  double launches = 1;  // that share the work, where their number follows the batch
  bool convolution = false;
  bool fused = false;  // adds a bias as it writes: FP32 kernels then do not split k
};

/// Empty if the shapes of the operation do not tell.
std::optional<Product> product_of(const BatchKernel& kernel, const OpTensors& tensors);

struct ProductTime {
  double body_us = 0;
  std::uint32_t choice =
      0;  // tile and split; differs where the library would choose another kernel
};
ProductTime product_time(const BatchChange& change, const KernelClass& kernel, const Product& p);

/// How much longer the traced kernel would take for more work, at most; infinite if that is not
/// known. The library may choose a better one, but need not choose a worse one.
double kept_kernel_growth(const BatchChange& change, const BatchKernel& kernel, const Product& base,
                          const Product& next);

/// Launch floor of a matrix kernel.
double product_floor_us(const BatchLaw& law, const KernelClass& kernel);

}  // namespace tandem
