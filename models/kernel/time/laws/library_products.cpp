#include "models/kernel/time/laws/library_products.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/kernel/residual.h"
#include "models/kernel/time/rates.h"
#include "sim/core/fields/field.h"

namespace tandem {
namespace {

/// Into how many parts the library splits the inner dimension; beyond the first few only where each
/// part is still long (gradients of layers of a few columns, over all positions of all items).
constexpr int few_parts = 8, most_parts = 128;
constexpr std::int64_t shortest_part = 256, long_part = 4096;

bool may_split(std::int64_t k, int parts) {
  return k >= (parts > few_parts ? long_part : shortest_part) * parts;
}

/// On FP32 pipes: the library splits k where the result has too few tiles to fill the GPU.
KernelTime split_product(const GpuArch& gpu, const GemmShape& whole, const TimeConstants& constants,
                         double pass_floor_us) {
  KernelTime best = gemm_time(gpu, whole, constants);
  const double result_bytes = 4.0 * static_cast<double>(whole.m * whole.n * whole.batch);
  for (const int parts : {2, 3, 4, 6, few_parts, 16, 32, 64, most_parts}) {
    if (!may_split(whole.k, parts)) break;
    GemmShape part = whole;
    part.batch *= parts;
    part.k = (whole.k + parts - 1) / parts;
    KernelTime time = gemm_time(gpu, part, constants);
    time.time_us += streamed_us(gpu, {pass_floor_us, 1}, 2 * parts * result_bytes);
    if (time.time_us < best.time_us) best = time, best.split = parts;
  }
  return best;
}

/// Warp-group instructions read operands of 32 bits from shared memory only with k innermost (PTX
/// ISA, wgmma: transposition is for 16-bit types); others are turned around on the way. Rows that
/// the copy engine cannot address run on the older instructions, which do not mind.
double tf32_ratio(const GpuArch& gpu, const LibraryProducts& products, const GemmShape& shape) {
  const bool aligned = rows_of_all(shape, [&](std::int64_t n) {
    return aligned_rows(n, DataType::fp32, products.aligned_bytes);
  });
  if (gpu.tensor_family != TensorFamily::gmma || !aligned) return products.ratio;
  const int turned = !shape.a_k_major + !shape.b_k_major;
  return turned == 0   ? products.tf32_ratio
         : turned == 1 ? products.tf32_one_turned_ratio
                       : products.tf32_both_turned_ratio;
}

struct ProductTile {
  double m, n;
};

/// What tiles take beside the multiplications of the fastest instructions.
struct TilePace {
  double ratio = 1;  // multiple of these
  double load = 0;   // multiplications for each row and column of a tile
  double start_k = 0;
  double smallest = 64;  // side of a tile
};

TilePace tile_pace(const HalfProducts& products, const GemmShape& s) {
  constexpr double smallest_of_older = 32;
  const UnalignedProducts& older = products.unaligned;
  if (aligned_product(s, 16)) return {1, 0, products.start_k};
  if (aligned_product(s, 4))
    return {older.even_ratio, older.even_load, older.start_k, smallest_of_older};
  return {older.odd_ratio, older.odd_load, older.start_k, smallest_of_older};
}

/// A tile of that many rows and columns, k split into parts, whose sums another kernel adds up.
double half_product_us(const GpuArch& gpu, const HalfProducts& products, const GemmShape& s,
                       ProductTile tile, int split, const TilePace& pace) {
  const double m = double(s.m), n = double(s.n), k = double(s.k), batch = double(s.batch);
  const double blocks = std::ceil(m / tile.m) * std::ceil(n / tile.n) * batch * split;
  const double waves = std::ceil(blocks / gpu.sm_count);
  const double step = pace.ratio * tile.m * tile.n + pace.load * (tile.m + tile.n);
  const double cycles = waves * step * (k / split + pace.start_k) / gpu.tensor_fp16_fma_per_clk;
  const double bytes = 2 * batch * (m * k + n * k + m * n);
  const double parts = split > 1 ? 4 * batch * m * n * (split + 1) : 0;
  return products.floor_us + (split > 1 ? products.split_us : 0) + cycles / gpu.boost_clock_mhz +
         dram_us(gpu, bytes + parts, products.dram_share);
}

/// The library's choice is the fastest of what it has.
double half_product_us(const GpuArch& gpu, const HalfProducts& products, const GemmShape& s) {
  constexpr ProductTile tiles[] = {{256, 128}, {128, 256}, {192, 192}, {128, 192},
                                   {128, 128}, {64, 256},  {256, 64},  {128, 64},
                                   {64, 128},  {64, 64},   {32, 32}};
  constexpr int splits[] = {1, 2, 4, few_parts, 16, 32, 64, most_parts};
  const TilePace pace = tile_pace(products, s);
  double best = std::numeric_limits<double>::infinity();
  for (const ProductTile& tile : tiles) {
    if (tile.m < pace.smallest) continue;
    for (const int split : splits) {
      if (split > 1 && !may_split(s.k, split)) break;
      best = std::min(best, half_product_us(gpu, products, s, tile, split, pace));
    }
  }
  return best;
}

double tensor_ratio(const GpuArch& gpu, const LibraryProducts& products, const GemmShape& shape) {
  if (shape.type == DataType::tf32) return tf32_ratio(gpu, products, shape);
  const bool even = aligned_product(shape, 4);
  // Small batched products are bound by their batch.
  return shape.batch == 1 && !even ? products.odd_ratio : products.ratio;
}

}  // namespace

std::vector<Field<UnalignedProducts>> unaligned_products_fields() {
  using P = UnalignedProducts;
  return {field("half_even_ratio", "ratio",
                "time of multiplications over that of the fastest instructions, where rows are "
                "multiples of 4 bytes and not of 16",
                &P::even_ratio),
          field("half_odd_ratio", "ratio", "... and not of 4", &P::odd_ratio),
          field("half_even_load", "FMA",
                "what loading an element takes, in multiplications of the fastest instructions, "
                "where rows are multiples of 4 bytes and not of 16",
                &P::even_load),
          field("half_odd_load", "FMA", "... and not of 4", &P::odd_load),
          field("half_unaligned_start_k", "k", "start and end of such a tile, in steps of k",
                &P::start_k)};
}

std::vector<Field<HalfProducts>> half_products_fields() {
  using P = HalfProducts;
  std::vector<Field<P>> fields{
      field("half_floor_us", "us", "start and end of a 16-bit product", &P::floor_us),
      field("half_start_k", "k", "start and end of a tile, in steps of k", &P::start_k),
      field("half_dram_share", "ratio",
            "operands and result over the DRAM's peak; above 1: what L2 holds", &P::dram_share),
      field("half_split_us", "us", "a second kernel that adds up parts", &P::split_us)};
  add_fields(fields, &P::unaligned, unaligned_products_fields());
  return fields;
}

std::vector<Field<LibraryProducts>> library_products_fields() {
  using P = LibraryProducts;
  std::vector<Field<P>> fields{
      field("aligned_bytes", "byte", "alignment of rows that fast matrix kernels need",
            &P::aligned_bytes),
      field("matmul_floor_us", "us", "start and end of a matrix product", &P::floor_us),
      field("matmul_ratio", "ratio",
            "other tensor-core products over the kernel-time model, above the floor", &P::ratio),
      field("matmul_odd_ratio", "ratio",
            "the same where rows have an odd number of 16-bit elements", &P::odd_ratio),
      field("matmul_tf32_ratio", "ratio", "TF32 products, both operands with k innermost",
            &P::tf32_ratio),
      field("matmul_tf32_one_turned_ratio", "ratio", "the same, one operand with k outermost",
            &P::tf32_one_turned_ratio),
      field("matmul_tf32_both_turned_ratio", "ratio", "the same, both",
            &P::tf32_both_turned_ratio)};
  add_fields(fields, &P::half, half_products_fields());
  return fields;
}

GemmShape gemm_shape(const ProductOperands& operands, DataType type) {
  const auto stride = [](const TensorShape& t, unsigned from_end) {
    return t.rank < from_end ? 0 : t.strides[t.rank - from_end];
  };
  const auto stated = [&](const TensorShape& t) { return stride(t, 1) + stride(t, 2) > 0; };
  GemmShape shape;
  shape.m = operands.rows, shape.n = operands.columns, shape.k = operands.inner;
  shape.batch = operands.batch;
  shape.type = type;
  if (stated(operands.left)) shape.a_k_major = stride(operands.left, 1) == 1;
  if (stated(operands.right)) shape.b_k_major = stride(operands.right, 1) != 1;
  return shape;
}

KernelTime library_product_time(const GpuArch& gpu, const LibraryProducts& products,
                                const GemmShape& shape, const TimeConstants& constants,
                                double pass_floor_us) {
  if (has_batched_pace(gpu, constants, shape)) return product_time(gpu, shape, constants);
  if (shape.type == DataType::fp32) return split_product(gpu, shape, constants, pass_floor_us);
  KernelTime time = gemm_time(gpu, shape, constants);
  time.time_us =
      is_half(shape.type) && gpu.tensor_family == TensorFamily::gmma
          ? half_product_us(gpu, products.half, shape)
          : carried_us(time.time_us, products.floor_us, tensor_ratio(gpu, products, shape));
  return time;
}

std::vector<Field<ItemProducts>> item_products_fields() {
  using P = ItemProducts;
  return {field("items_floor_us", "us", "shortest product of the items of a batch with one matrix",
                &P::floor_us),
          field("items_l2_bytes_per_clk", "B/clk/SM",
                "of the matrix that reach an SM from L2, which every item reads again",
                &P::l2_bytes_per_clk),
          field("items_block_us", "us", "of an SM for a block of up to 64 rows of an item",
                &P::block_us),
          field("items_unaligned_block_us", "us",
                "the same for a block of up to 16 rows, whose rows are no multiple of 16 bytes",
                &P::unaligned_block_us)};
}

double item_product_us(const GpuArch& gpu, const ItemProducts& products, const GemmShape& shape,
                       double aligned_bytes, double dram_share, double whole_us) {
  constexpr double aligned_rows_of_block = 64, rows_of_block = 16;
  const bool aligned = aligned_rows(shape.k, shape.type, aligned_bytes) &&
                       aligned_rows(shape.n, shape.type, aligned_bytes);
  const double m = double(shape.m), n = double(shape.n), k = double(shape.k);
  const double width = element_bytes(shape.type), items = double(shape.batch);
  const double blocks = items * std::ceil(m / (aligned ? aligned_rows_of_block : rows_of_block));
  const double block_us = aligned ? products.block_us : products.unaligned_block_us;
  const double moved_us = dram_us(gpu, width * (items * m * (k + n) + k * n), dram_share);
  const double start_us = blocks * block_us / gpu.sm_count;
  const double read_us =
      items * k * n * width / (gpu.sm_count * products.l2_bytes_per_clk * gpu.boost_clock_mhz);
  const double us = products.floor_us + std::max({moved_us, start_us, read_us});
  // One matrix of a few columns runs on tiles that are made for wide ones, items do not.
  const bool narrow = !aligned && std::max(n, k) <= rows_of_block;
  return narrow ? us : std::max(us, whole_us);
}

std::vector<Field<AlignedProducts>> aligned_products_fields() {
  using P = AlignedProducts;
  return {field("library_floor_us", "us", "time of a small aligned matrix product", &P::floor_us),
          field("tensor_share", "ratio",
                "share of the peak tensor rate of an aligned matrix product", &P::tensor_share),
          field("library_dram_share", "ratio",
                "share of the peak DRAM rate of an aligned matrix product", &P::dram_share),
          field("aligned_bytes", "byte", "operand alignment that the fast matrix kernels need",
                &P::aligned_bytes),
          field("depthwise_lane_cycles", "cycles",
                "of one FP32 lane for a tap of an output element of a channels-last depthwise "
                "convolution, forward and weight gradient",
                &P::depthwise_lane_cycles),
          field("depthwise_gradient_lane_cycles", "cycles",
                "... of an element of the input gradient", &P::depthwise_gradient_lane_cycles)};
}

double aligned_product_us(const GpuArch& gpu, const AlignedProducts& products, double flops,
                          double bytes, DataType type) {
  return products.floor_us + std::max(tensor_us(gpu, flops, type, products.tensor_share),
                                      dram_us(gpu, bytes, products.dram_share));
}

double depthwise_us(const GpuArch& gpu, const AlignedProducts& products, double taps,
                    double results, double bytes, bool input_gradient) {
  const double cycles =
      input_gradient ? products.depthwise_gradient_lane_cycles : products.depthwise_lane_cycles;
  return products.floor_us +
         std::max(lane_us(gpu, taps * results * cycles), dram_us(gpu, bytes, products.dram_share));
}

}  // namespace tandem
