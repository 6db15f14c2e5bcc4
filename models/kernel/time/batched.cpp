#include "models/kernel/time/batched.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/kernel/time/parts.h"
#include "models/kernel/time/product_rows.h"
#include "models/kernel/time/rates.h"
#include "models/kernel/time/time_constants.h"
#include "sim/core/fields/field.h"

namespace tandem {
namespace {

using time_parts::ceil_div;

struct Tile {
  double rows, columns;
};
constexpr Tile tiles[] = {{128, 128}, {256, 64}, {64, 256}, {128, 64}, {64, 128}, {64, 64},
                          {128, 32},  {32, 128}, {64, 32},  {32, 64},  {32, 32}};

/// Whether rows of both operands and of the result are whole loads of 16 bytes.
bool aligned(const GemmShape& s) {
  constexpr double load_bytes = 16;
  return rows_of_all(
      s, [&](std::int64_t row) { return aligned_rows(row, DataType::fp32, load_bytes); });
}

}  // namespace

std::span<const Field<BatchedPace>> batched_pace_fields() {
  using P = BatchedPace;
  static const std::vector<Field<P>> fields{
      field("floor_us", "us", "start and end of a product", &P::floor_us),
      field("share", "ratio", "of the peak rate of multiplications", &P::share),
      field("start_k", "k", "start and end of a tile, in steps of k", &P::start_k),
      field("load", "FMA", "that loading a row or column of a tile costs, for each step of k",
            &P::load),
      field("unaligned_ratio", "ratio", "multiple of that where rows are no multiples of 16 bytes",
            &P::unaligned_ratio)};
  return fields;
}

double batched_us(const GpuArch& gpu, const BatchedPace& pace, const GemmShape& s) {
  const double m = double(s.m), n = double(s.n), k = double(s.k), items = double(s.batch);
  double slots = std::numeric_limits<double>::infinity();  // of a multiplication, for a step of k
  for (const Tile& tile : tiles) {
    const double blocks = ceil_div(m, tile.rows) * ceil_div(n, tile.columns) * items;
    const double each = tile.rows * tile.columns + pace.load * (tile.rows + tile.columns);
    slots = std::min(slots, ceil_div(blocks, gpu.sm_count) * each);
  }
  const double rate = time_parts::math_rate(gpu, pace.type).fma_per_clk * pace.share;
  const double ratio = aligned(s) ? 1 : pace.unaligned_ratio;
  const double compute_us = ratio * slots * (k + pace.start_k) / rate / gpu.boost_clock_mhz;
  const double element_us = copied_us(gpu, 4);
  return pace.floor_us + std::max(compute_us, element_us * items * k * (m + n)) +
         element_us * items * m * n;
}

bool has_batched_pace(const GpuArch& gpu, const TimeConstants& constants, const GemmShape& shape) {
  return shape.batch > 1 && constants.batched(gpu, shape.type) != nullptr;
}

KernelTime product_time(const GpuArch& gpu, const GemmShape& shape,
                        const TimeConstants& constants) {
  KernelTime time = gemm_time(gpu, shape, constants);
  if (!has_batched_pace(gpu, constants, shape)) return time;
  time.time_us = std::numeric_limits<double>::infinity();
  for (const DataType pipes : {DataType::fp32, shape.type}) {
    const BatchedPace* pace = constants.batched(gpu, pipes);
    if (pace != nullptr) time.time_us = std::min(time.time_us, batched_us(gpu, *pace, shape));
  }
  return time;
}

}  // namespace tandem
