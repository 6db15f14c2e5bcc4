// Laws of matrix products, with constants for which the sums are easy.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "models/arch/gpu_config.h"
#include "models/kernel/time/laws/library_products.h"
#include "models/kernel/time/laws/product_growth.h"
#include "tests/unit/models/kernel/time_laws_for_tests.h"

namespace tandem {
namespace {

using test::dram_bytes_per_us;
using test::fp32_shape;
using test::gpu;

Product product(double n, double depth) {
  Product p;
  p.m = 1024, p.n = n, p.k = depth;
  return p;
}

// 1024 x 16 is 16 tiles of 64 x 64, in 4 parts 64 blocks. 1024 x 128 is 128 blocks, still one for
// each of the 132 SMs; 1024 x 256 is 256 blocks, two rounds; twice the k is twice the time.
TEST(ProductGrowth, AKernelWithAnSmPerBlockGrowsByWholeRounds) {
  KernelTraits kernel;
  kernel.tile_m = kernel.tile_n = 64;
  LaunchGeometry geometry;
  geometry.grid = {8, 2, 4};
  const auto growth = [&](const Product& next) {
    return kept_kernel_growth(gpu(), kernel, geometry, product(16, 4096), next);
  };
  EXPECT_EQ(growth(product(128, 4096)), 1);
  EXPECT_EQ(growth(product(256, 4096)), 2);
  EXPECT_EQ(growth(product(128, 8192)), 2);
  geometry.grid = {16, 2, 8};  // a crowded kernel says nothing about its blocks
  EXPECT_TRUE(std::isinf(growth(product(128, 4096))));
  geometry.grid = {8, 2, 4};
  kernel.tile_m = 0;  // nor does one without tiles
  EXPECT_TRUE(std::isinf(growth(product(128, 4096))));
}

// 16 groups of 2384 x 32 are 10 tiles of 256 x 64 each. A launch of 10 blocks is one of them; four
// times the images, 38 blocks, still have an SM each, sixty times are 559: five rounds.
TEST(ProductGrowth, AGroupOfItsOwnTakesAsLongWhileItsBlocksHaveAnSm) {
  KernelTraits kernel;
  kernel.tile_m = 256, kernel.tile_n = 64;
  const auto groups = [](double images) {
    Product p;
    p.convolution = true;
    p.batch = 16, p.m = 149 * images, p.n = 32, p.k = 4096;
    return p;
  };
  LaunchGeometry geometry;
  geometry.grid = {10, 1, 1};
  EXPECT_TRUE(runs_one_member(kernel, geometry, groups(16)));
  EXPECT_EQ(member_growth(gpu(), kernel, groups(16), groups(64)), 1);
  EXPECT_EQ(member_growth(gpu(), kernel, groups(64), groups(16)), 1);
  EXPECT_EQ(member_growth(gpu(), kernel, groups(16), groups(960)), 5);
  geometry.grid = {10, 1, 16};  // all groups
  EXPECT_FALSE(runs_one_member(kernel, geometry, groups(16)));
}

// A kernel of FP32 pipes whose name tells no tile runs a group in 4 blocks for 600 rows: 2400 rows
// are 16 blocks, still one for each of the 132 SMs, 60000 are 400, four rounds. Sums over the rows
// (weight gradients) become longer, and of a crowded kernel nothing is known.
TEST(ProductGrowth, BlocksWithoutATileFollowTheRows) {
  KernelTraits kernel;
  kernel.kind = Kind::convolve_sgemm;
  LaunchGeometry geometry;
  geometry.grid = {4, 1, 1};
  const auto rows = [](double m, double k = 6144) {
    Product p;
    p.convolution = true;
    p.batch = 16, p.m = m, p.n = 48, p.k = k;
    return p;
  };
  const auto growth = [&](const Product& next) {
    return lone_blocks_growth(gpu(), kernel, geometry, rows(600), next);
  };
  EXPECT_EQ(growth(rows(2400)), 1);
  EXPECT_EQ(growth(rows(150)), 1);
  EXPECT_EQ(growth(rows(60000)), 4);
  EXPECT_FALSE(growth(rows(600, 12288)));
  geometry.grid = {40, 4, 1};
  EXPECT_FALSE(growth(rows(2400)));
  geometry.grid = {4, 1, 1};
  kernel.tile_m = 128;
  EXPECT_FALSE(growth(rows(2400)));
}

// Fewer columns than an instruction of a tensor core has are a matrix times vectors: 10 us of DRAM
// traffic at half the peak.
TEST(ProductGrowth, NarrowProductsAreBoundByMemory) {
  const ProductGrowth growth;
  Product p = product(7, 4096);
  p.bytes = 5 * dram_bytes_per_us();
  EXPECT_NEAR(best_tile_time(gpu(), growth, 0.5, {}, p).us, 10, 1e-9);
}

TensorShape strided(TensorShape t, std::initializer_list<std::int64_t> strides) {
  std::copy(strides.begin(), strides.end(), t.strides.begin());
  return t;
}

// x[64][100] w[200][100] of a layer: 64 x 100 times 100 x 200, and w is contiguous along k.
// One wave of 128 x 128 tiles on 132 SMs: 128 x 128 x (256 + 100) / 2048 cycles; bytes at half of
// the DRAM's peak; a floor of 2 us. Rows of 2 elements less are multiplied three times slower, and
// each of the 256 rows and columns of a tile takes 64 multiplications to load, 16384 of them, so
// once more: four times. Odd rows: five times and twice.
TEST(LibraryProducts, HalvesAreTilesAndBytesAndAFloor) {
  LibraryProducts products;
  products.half = {
      .floor_us = 2, .start_k = 100, .dram_share = 0.5, .split_us = 50, .unaligned = {}};
  products.half.unaligned = {
      .even_ratio = 3, .odd_ratio = 5, .even_load = 64, .odd_load = 128, .start_k = 100};
  GemmShape shape{.m = 128, .n = 128, .k = 256, .batch = 132, .type = DataType::fp16};
  const TimeConstants constants = TimeConstants::load(source_path("configs/kernels/time.json"));
  const auto us = [&] {
    return library_product_time(gpu(), products, shape, constants, 0).time_us;
  };
  const double tiles = 128 * 128 * 356 / 2048.0 / 1980;
  const double bytes = 2.0 * 132 * (2 * 128 * 256 + 128 * 128) / (0.5 * dram_bytes_per_us());
  EXPECT_NEAR(us(), 2 + tiles + bytes, 1e-9);
  shape.batch = 1, shape.n = 128 * 132;
  const double aligned = us();
  shape.n = 128 * 132 - 2;  // as many tiles; 4 bytes
  EXPECT_NEAR(us() - aligned, 3 * tiles, 0.02);
  shape.n = 128 * 132 - 1;
  EXPECT_NEAR(us() - aligned, 6 * tiles, 0.02);
}

// A tile of 64 x 64 whose addends, 128 times 4096 of them, are added in as many parts: 4196 steps
// in place of 524288; operands, and a part more than there are of the result in FP32.
TEST(LibraryProducts, VeryManyAddendsAreSplitIntoManyParts) {
  LibraryProducts products;
  products.half = {
      .floor_us = 2, .start_k = 100, .dram_share = 0.5, .split_us = 50, .unaligned = {}};
  const std::int64_t k = 128 * 4096;
  const GemmShape shape{.m = 64, .n = 64, .k = k, .batch = 1, .type = DataType::fp16};
  const TimeConstants constants = TimeConstants::load(source_path("configs/kernels/time.json"));
  const double tile = 64 * 64 * (4096 + 100) / 2048.0 / 1980;
  const double bytes = 2.0 * (2 * 64.0 * double(k) + 64 * 64) + 4.0 * 64 * 64 * 129;
  EXPECT_NEAR(library_product_time(gpu(), products, shape, constants, 0).time_us,
              2 + 50 + tile + bytes / (0.5 * dram_bytes_per_us()), 1e-6);
}

// A tile of 64 x 64 for each of 132 products, one an SM: (64 x 64 + 64 x 128) x (64 + 36)
// multiplications at half of 128 a cycle are 19200 cycles; tiles half as large take two rounds of
// two thirds of that. Results, 2.16 MB, leave behind. Odd rows take twice as long to compute.
TEST(BatchedProducts, AreWavesOfTilesAndThenResults) {
  BatchedPace pace;
  pace.floor_us = 2, pace.share = 0.5, pace.start_k = 36, pace.load = 64, pace.unaligned_ratio = 2;
  GemmShape shape{.m = 64, .n = 64, .k = 64, .batch = 132, .type = DataType::fp32};
  const double results_us = 4.0 * 132 * 64 * 64 / (gpu().dram_copy_gbps * 1e3);
  EXPECT_NEAR(batched_us(gpu(), pace, shape), 2 + 19200 / 1980.0 + results_us, 1e-9);
  shape.n = 63;
  EXPECT_NEAR(batched_us(gpu(), pace, shape), 2 + 38400 / 1980.0 + results_us * 63 / 64, 1e-9);
  shape.n = 64, shape.batch = 133;  // one SM has two
  EXPECT_NEAR(batched_us(gpu(), pace, shape) - 2, 2 * 19200 / 1980.0, 1);
}

// One product, 16 bits and GPUs that nobody measured keep the law of single products.
TEST(BatchedProducts, HaveAPaceOfTheirOwnWhereItWasMeasured) {
  const TimeConstants constants = TimeConstants::load(source_path("configs/kernels/time.json"));
  GemmShape shape{.m = 256, .n = 256, .k = 64, .batch = 384, .type = DataType::fp32};
  const double us = product_time(gpu(), shape, constants).time_us;
  EXPECT_GT(us, gemm_time(gpu(), shape, constants).time_us);
  EXPECT_NEAR(us, 110, 15);  // distilbert-infer-fp32-compile-b32
  const GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  const GpuArch& older = find_gpu(gpus, "a100_sxm4_80gb");
  EXPECT_EQ(product_time(older, shape, constants).time_us,
            gemm_time(older, shape, constants).time_us);
  shape.type = DataType::tf32;
  EXPECT_LE(product_time(gpu(), shape, constants).time_us, us);
  shape.type = DataType::fp16;
  EXPECT_EQ(product_time(gpu(), shape, constants).time_us,
            gemm_time(gpu(), shape, constants).time_us);
  shape.batch = 1, shape.type = DataType::fp32;
  EXPECT_EQ(product_time(gpu(), shape, constants).time_us,
            gemm_time(gpu(), shape, constants).time_us);
}

TEST(LibraryProducts, ReadTheFactorsOfAnOperation) {
  static const LaunchGeometry none;
  OpTensors operands;
  operands.add(0, fp32_shape({200}));
  operands.add(1, strided(fp32_shape({64, 100}), {100, 1}));
  operands.add(2, strided(fp32_shape({100, 200}), {1, 100}));
  const auto found = product_operands(OpContext{"aten::addmm", operands, {}, none});
  ASSERT_TRUE(found);
  const GemmShape gemm = gemm_shape(*found, DataType::tf32);
  EXPECT_EQ(gemm.m, 64);
  EXPECT_EQ(gemm.k, 100);
  EXPECT_EQ(gemm.n, 200);
  EXPECT_TRUE(gemm.a_k_major);
  EXPECT_TRUE(gemm.b_k_major);
  OpTensors vectors;
  vectors.add(0, fp32_shape({4}));
  EXPECT_FALSE(product_operands(OpContext{"aten::mm", vectors, {}, none}));
}

/// 1 us at least, 10 bytes a clock, 2 and 0.5 us a block.
ItemProducts easy_items() { return {1, 10, 2, 0.5}; }

double items_us(const GemmShape& shape, double whole_us) {
  constexpr double row_bytes = 16;
  return item_product_us(gpu(), easy_items(), shape, row_bytes, 1, whole_us);
}

// 264 items read 1024 x 1024 halves each, 2 MiB: two reads on each of 132 SMs at 10 bytes a clock
// of 1980 MHz. Rows do not count until the product itself takes longer.
TEST(ItemProducts, EachItemReadsTheMatrixAgain) {
  const GemmShape shape{.m = 8, .n = 1024, .k = 1024, .batch = 264, .type = DataType::fp16};
  const double read_us = 2 * 2 * 1024 * 1024 / (10 * 1980.0);
  EXPECT_NEAR(items_us(shape, 20), 1 + read_us, 1e-9);
  EXPECT_NEAR(items_us(shape, 5000), 5000, 1e-9);
}

// 264 items of 65 rows with 8 x 8 are two blocks each, four a SM, of 2 us. Rows of 4 halves are not
// aligned: blocks of 16 rows, five an item, ten a SM, of half a microsecond; what one matrix would
// take says nothing about them, and does of more columns.
TEST(ItemProducts, BlocksOfSmallMatricesTakeAsLongAsTheyTakeToStart) {
  GemmShape shape{.m = 65, .n = 8, .k = 8, .batch = 264, .type = DataType::fp16};
  EXPECT_NEAR(items_us(shape, 0), 1 + 4 * 2, 1e-9);
  shape.n = shape.k = 4;
  EXPECT_NEAR(items_us(shape, 50), 1 + 10 * 0.5, 1e-9);
  shape.n = 196;
  EXPECT_NEAR(items_us(shape, 50), 50, 1e-9);
}

}  // namespace
}  // namespace tandem
