#include "models/whatif/compile/inductor/splits.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

// The numbers are those of TorchInductor 2.11: Reduction.num_splits (torch/_inductor/ir.py) and
// MixOrderReduction (torch/_inductor/scheduler.py).

namespace tandem {
namespace {

constexpr double fewest_a_thread = 32;
constexpr double most_a_thread = 512;

double threads(const GpuArch& gpu) { return double(gpu.sm_count) * gpu.max_threads_per_sm; }

/// The divisor of `n` that is nearest to `target`, the smaller of two.
double nearest_divisor(double n, double target) {
  const auto whole = static_cast<std::int64_t>(n);
  double best = 1;
  const auto consider = [&](std::int64_t d) {
    const double off = std::abs(double(d) - target), least = std::abs(best - target);
    if (off < least || (off == least && double(d) < best)) best = double(d);
  };
  for (std::int64_t d = 1; d * d <= whole; ++d) {
    if (whole % d != 0) continue;
    consider(d), consider(whole / d);
  }
  return best;
}

/// Elements a thread adds: a divisor of the sum where one is near.
double elements_a_thread(const GpuArch& gpu, const SumShape& sum, double target, double near) {
  const double all = sum.elements();
  if (all <= fewest_a_thread * threads(gpu)) return fewest_a_thread;
  const bool large = all >= most_a_thread * threads(gpu);
  const double aim = large ? most_a_thread : target;
  const double divisor = nearest_divisor(sum.addends, aim);
  if (std::abs(divisor - aim) >= (large ? 50 : near)) return aim;
  return std::max(divisor, fewest_a_thread);
}

}  // namespace

bool may_be_split(const GpuArch& gpu, const SumShape& sum) {
  return sum.addends > fewest_a_thread && sum.results < double(gpu.sm_count) * 2 * 32;
}

double inner_parts(const GpuArch& gpu, const SumShape& sum) {
  constexpr double block_threads = 256, short_sum = 8192;
  if (!may_be_split(gpu, sum) || sum.results >= 2.0 * gpu.sm_count || sum.addends <= short_sum)
    return 1;
  const double blocks = std::ceil(std::floor(threads(gpu) / (2 * block_threads)) / sum.results);
  const double target = std::ceil(sum.addends / (block_threads * blocks));
  const double each = elements_a_thread(gpu, sum, target, 30);
  return std::ceil(sum.addends / (each * block_threads));
}

double outer_parts(const GpuArch& gpu, const SumShape& sum) {
  constexpr double rows_a_thread = 4, block_columns = 128, block_threads = 256;
  if (!may_be_split(gpu, sum)) return 1;
  const double column_blocks = std::ceil(sum.results / block_columns);
  const double blocks = std::ceil(std::floor(threads(gpu) / block_threads) / column_blocks);
  const double target = std::ceil(sum.addends / (rows_a_thread * blocks));
  const double each = elements_a_thread(gpu, sum, target, 20);
  return std::ceil(sum.addends / (each * rows_a_thread));
}

bool holds_columns(const SumShape& sum) {
  constexpr double longest = 64;  // should_use_persistent_reduction (codegen/simd.py)
  return sum.addends <= longest;
}

bool sums_along_rows(double rows, double columns) {
  constexpr double worth = 5.0 * 1024 * 1024, many = 4096, longest = 16384;
  return rows * columns >= worth && rows >= 2 * columns && rows >= many && columns <= longest;
}

}  // namespace tandem
