// Kernels that a compiler generates: a launch floor and their bytes, and what arithmetic adds.
#pragma once

#include <cstdint>
#include <vector>

#include "models/kernel/time/rates.h"

namespace tandem {

enum class GeneratedKind : std::uint8_t { pointwise, reduction, row };

/// Documentation: generated_code.cpp; times in us.
struct GeneratedCode {
  FloorAndShare pointwise, reduction, row;
  double finish_us = 0;
  double random_lane_cycles = 0;
  double moments_lane_cycles = 0;
  double pooling_share = 0;

  const FloorAndShare& rate(GeneratedKind kind) const;
};
std::vector<Field<GeneratedCode>> generated_code_fields();

/// Time of a generated kernel that moves `bytes` once.
double generated_us(const GpuArch& gpu, const GeneratedCode& code, GeneratedKind kind,
                    double bytes);
/// Of a reduction that keeps running means and variances of `elements`.
double generated_moments_us(const GpuArch& gpu, const GeneratedCode& code, double bytes,
                            double elements);
/// What drawing random numbers adds.
double random_numbers_us(const GpuArch& gpu, const GeneratedCode& code, double numbers);
/// Of windows (pooling), which overlap, from that of the library's kernel.
double generated_pooling_us(const GeneratedCode& code, double library_us);

}  // namespace tandem
