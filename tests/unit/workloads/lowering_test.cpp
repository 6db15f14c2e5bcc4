// Kernels of single operations, against what the captures show of them.
#include <gtest/gtest.h>

#include <cmath>

#include "models/ops/op_table.h"
#include "tests/unit/workloads/lowered_for_tests.h"

namespace tandem {
namespace {

using test::in_channels_last;
using test::LoweredOps;
using test::row_major;

TEST_F(LoweredOps, ContiguousElementwiseKernelsTakeEightElementsAThread) {
  const TensorShape t = row_major({16, 128, 768});
  const auto kernels = lower("aten::add", {t, t}, {t});
  ASSERT_EQ(kernels.size(), 1U);
  // 16 x 128 x 768 / (128 threads x 8) = 1536, as in the captures of BERT
  EXPECT_EQ(kernels[0].geometry.grid[0], 1536U);
  EXPECT_EQ(kernels[0].geometry.block[0], 128U);
}

TEST_F(LoweredOps, BroadcastOperandsNeedComputedPlaces) {
  const auto kernels = lower("aten::add", {row_major({16, 128, 768}), row_major({1, 128, 768})},
                             {row_major({16, 128, 768})});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].geometry.grid[0], 6144U);  // 1572864 / (128 x 2)
}

// The framework copies what it must not change, and then fills the copy.
TEST_F(LoweredOps, FillingByAMaskCopiesUnlessInPlace) {
  const TensorShape scores = row_major({16, 8, 384, 384});
  TensorShape mask = row_major({1, 1, 384, 384});
  mask.type = DataType::boolean;
  EXPECT_EQ(lower("aten::masked_fill_", {scores, mask}, {scores}).size(), 1U);
  const auto kernels = lower("aten::masked_fill", {scores, mask}, {scores});
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].kind, ActivityKind::memcpy);
  EXPECT_EQ(kernels[0].bytes, 4 * scores.elements());
}

// A kernel that reaches half of an H200's memory rate (4275 GB/s for 132 SMs at 1980 MHz, 16.36
// bytes a cycle and SM) leaves its SMs sqrt(4 - 1) = 1.73 times what the memory takes. A V100 has
// 808 GB/s for 80 SMs at 1530 MHz, 6.6 bytes: 0.403 of 1.73 beside the memory, so that it takes
// sqrt(1 + 0.70^2) = 1.22 times what the memory does.
TEST_F(LoweredOps, KernelsReachMoreOfAMemoryThatHasLessForAnSm) {
  TensorShape mask;
  const auto slope = [&](const std::string& op, const std::string& gpu, int results) {
    const auto us = [&](std::int64_t rows) {
      const TensorShape t = row_major({rows, 1 << 20});
      mask = t;
      mask.type = DataType::boolean;
      const auto kernels = results == 2 ? lower(op, {t}, {t, mask}, Phase::forward, gpu)
                                        : lower(op, {t}, {t}, Phase::forward, gpu);
      EXPECT_EQ(kernels.size(), 1U) << op;
      return kernels.at(0).duration_us;
    };
    const double bytes = (results == 2 ? 9.0 : 8.0) * (1 << 27);
    return (us(256) - us(128)) / bytes;
  };
  const auto over_memory = [&](const std::string& gpu) {
    return slope("aten::native_dropout", gpu, 2) / slope("aten::relu", gpu, 1);
  };
  EXPECT_NEAR(over_memory("h200_sxm"), 2, 0.01);
  EXPECT_NEAR(over_memory("v100_sxm2_16gb"), 1.22, 0.01);
}

// 201 million elements whose places are computed take 190 SM cycles for each 256 of them:
// 786432 blocks on 132 SMs at 1980 MHz are 572 us; their bytes take 346.
TEST_F(LoweredOps, ComputedPlacesTakeLanesWhateverTheyMove) {
  const TensorShape t = row_major({2, 4, 128, 24, 64, 128});
  const auto kernels = lower(
      "aten::mul", {row_major({2, 4, 128, 1, 64, 128}), row_major({2, 4, 1, 24, 64, 128})}, {t});
  ASSERT_EQ(kernels.size(), 1U);
  const double blocks = 2.0 * 4 * 128 * 24 * 64 * 128 / 256;
  EXPECT_NEAR(kernels[0].duration_us, blocks * 190 / (132 * 1980), 3);
}

// The places that words take among the rows of eight experts: threads walk over 12288 rows one
// after the other, 2210 us on an H200. Along rows, a block of a few microseconds.
TEST_F(LoweredOps, RunningSumsOverRowsWalkThemOneByOne) {
  TensorShape marks = row_major({12288, 8});
  marks.type = DataType::int64;
  const auto along_dim = [&](std::int64_t dim) {
    return lower_with("aten::cumsum", {marks}, {dim}, {marks});
  };
  const auto down = along_dim(0), along = along_dim(-1);
  ASSERT_EQ(down.size(), 1U);
  EXPECT_NEAR(down[0].duration_us, 2210, 10);
  ASSERT_EQ(along.size(), 1U);
  EXPECT_LT(along[0].duration_us, 5);
}

// 32 images of 96 channels and 56 x 56 pixels, windows of 7 x 7, channels last: 186 us in FP32, of
// which 16 bits take 73; weight gradients, which FP32 has no kernel of its own for, 2231 and 71 us.
TEST_F(LoweredOps, DepthwiseLayersWithChannelsLastTakeLongerInFp32) {
  const auto us = [&](DataType type, bool weights) {
    TensorShape images = in_channels_last({32, 96, 56, 56}), filters = row_major({96, 1, 7, 7});
    images.type = filters.type = type;
    if (!weights) {
      const auto kernels = lower("aten::_conv_depthwise2d", {images, filters}, {images});
      return kernels.empty() ? 0 : kernels[0].duration_us;
    }
    return weight_gradient_us(images, filters);
  };
  EXPECT_NEAR(us(DataType::fp32, false), 186, 30);
  EXPECT_LT(us(DataType::fp16, false), 110);
  EXPECT_NEAR(us(DataType::fp32, true), 2231, 250);
  EXPECT_NEAR(us(DataType::fp16, true), 71, 10);
}

// 8 images of 254 channels and 64 x 64 pixels, channels last: 409 us for the weights in FP32, whose
// loads of four do not hold these channels whole; of 256 channels 23 us, and 22 in FP16.
TEST_F(LoweredOps, DepthwiseWeightsOfUnalignedChannelsTakeLongInFp32) {
  const auto us = [&](std::int64_t channels, DataType type) {
    TensorShape images = in_channels_last({8, channels, 64, 64});
    TensorShape filters = row_major({channels, 1, 3, 3});
    images.type = filters.type = type;
    return weight_gradient_us(images, filters);
  };
  EXPECT_NEAR(us(254, DataType::fp32), 409, 70);
  EXPECT_LT(us(256, DataType::fp32), 50);
  EXPECT_NEAR(us(254, DataType::fp16), 22, 12);
}

// Three passes over the channels of a pixel: 907 us for 16 x 150 planes of 224 x 224 (measured), a
// third of what the bytes alone let expect; backward 652.
TEST_F(LoweredOps, SoftmaxOverChannelsPassesOverThemAgain) {
  const TensorShape scores = row_major({16, 150, 224, 224});
  const auto us = [&](bool back) {
    const Argument dim = std::int64_t{1};
    const auto kernels = back ? lower_with("aten::_log_softmax_backward_data", {scores, scores},
                                           {dim}, {scores}, Phase::backward)
                              : lower_with("aten::_log_softmax", {scores}, {dim}, {scores});
    return kernels.empty() ? 0 : kernels[0].duration_us;
  };
  EXPECT_NEAR(us(false), 907, 140);
  EXPECT_NEAR(us(true), 652, 100);
}

// A window of 128 taps in 16 groups of 32 channels: a launch a group, of 4096 / 16 steps of 1180
// cycles, 153 us (160 measured), and transforms on both sides.
TEST_F(LoweredOps, LongWindowsInGroupsRunGroupByGroup) {
  const auto kernels =
      lower("aten::cudnn_convolution", {row_major({16, 512, 1, 249}), row_major({512, 32, 1, 128})},
            {row_major({16, 512, 1, 250})});
  ASSERT_EQ(kernels.size(), 18U);
  EXPECT_NE(kernels[1].name.find("fprop_analytic"), std::string::npos);
  EXPECT_NEAR(kernels[1].duration_us, 256 * 1180 / 1980.0, 3);
}

// 8192 rows of 768: 8192 x 768 / 512 = 12288 blocks (2048 x 6 in the captures of OLMoE, 15.8 us);
// as single elements they would take 6.3 million places, 4 a block.
TEST_F(LoweredOps, RowsThatIndicesNameAreAddedBroadly) {
  const TensorShape table = row_major({8192, 768});
  TensorShape index = row_major({8192});
  index.type = DataType::int64;
  const auto rows = lower("aten::_index_put_impl_", {table, index, table}, {table});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].geometry.grid[0], 12288U);
  EXPECT_NEAR(rows[1].duration_us, 15.8, 0.4 * 15.8);
  const auto single = lower("aten::_index_put_impl_", {row_major({8192}), index, row_major({8192})},
                            {row_major({8192})});
  ASSERT_EQ(single.size(), 2U);
  EXPECT_NE(single[1].name, rows[1].name);
  EXPECT_LT(single[1].duration_us, rows[1].duration_us);
}

TEST_F(LoweredOps, ReductionsOfColumnsShareResultsAmongBlocks) {
  const auto kernels = lower("aten::sum", {row_major({2048, 768})}, {row_major({1, 768})});
  ASSERT_EQ(kernels.size(), 2U);  // blocks that share results count themselves in cleared memory
  EXPECT_EQ(kernels[0].kind, ActivityKind::memset);
  // 768 / (32 threads x 4 at once) = 6; 512 values a thread / 16 = 32 parts
  EXPECT_EQ(kernels[1].geometry.grid[0], 6U);
  EXPECT_EQ(kernels[1].geometry.grid[1], 32U);
  EXPECT_EQ(kernels[1].geometry.block[0], 32U);
  EXPECT_EQ(kernels[1].geometry.block[1], 4U);
}

TEST_F(LoweredOps, ReductionsOfRowsGiveEachWarpARow) {
  const auto kernels = lower("aten::sum", {row_major({24576, 64})}, {row_major({24576, 1})});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].geometry.grid[0], 1536U);  // 24576 / 16 warps
  EXPECT_EQ(kernels[0].geometry.block[1], 16U);
}

TEST_F(LoweredOps, ShortSoftmaxRowsShareAWarp) {
  const auto kernels =
      lower("aten::_log_softmax", {row_major({1024, 10})}, {row_major({1024, 10})});
  ASSERT_EQ(kernels.size(), 1U);
  // 16 lanes a row, 8 rows of lanes a block, 2 rows each: 1024 / 16 = 64
  EXPECT_EQ(kernels[0].geometry.grid[0], 64U);
  EXPECT_EQ(kernels[0].geometry.block[0], 16U);
  EXPECT_EQ(kernels[0].geometry.block[1], 8U);
}

TEST_F(LoweredOps, MultiTensorLaunchesEndWhereTheirTablesAreFull) {
  // 161 tensors of three lists, of one chunk each: 48 fit a launch; 48 + 48 + 48 + 17.
  std::vector<TensorShape> list(161, row_major({64, 64}));
  op_.phase = Phase::optimizer;
  op_.name = "aten::_foreach_add";
  bound_ = {};
  for (std::size_t l = 0; l < 2; ++l) {
    for (const TensorShape& t : list) bound_.operands.tensors.add(l, t);
  }
  bound_.outputs = list;
  Lowering lowering({find_gpu(configs_.gpus, "h200_sxm"), configs_.time, configs_.libraries, rules_,
                     configs_.batch.sums});
  const auto& kernels = lowering.kernels(op_, bound_, losses_);
  ASSERT_EQ(kernels.size(), 4U);
  EXPECT_EQ(kernels[0].geometry.grid[0], 48U);
  EXPECT_EQ(kernels[3].geometry.grid[0], 17U);
}

TEST_F(LoweredOps, LargeTensorsFillLaunchesOf320Blocks) {
  // 30 million elements are 458 chunks of 65536: 320 blocks, then 138.
  const auto kernels = lower("aten::_foreach_mul_", {row_major({30'000'000})}, {});
  ASSERT_EQ(kernels.size(), 2U);
  EXPECT_EQ(kernels[0].geometry.grid[0], 320U);
  EXPECT_EQ(kernels[1].geometry.grid[0], 138U);
}

TEST_F(LoweredOps, ConvolutionsOnTensorCoresStandBetweenTransforms) {
  const auto of = [&](const std::string& gpu) {
    return lower("aten::cudnn_convolution",
                 {row_major({32, 64, 56, 56}), row_major({64, 64, 3, 3})},
                 {row_major({32, 64, 56, 56})}, Phase::forward, gpu);
  };
  const auto newer = of("h200_sxm");
  ASSERT_EQ(newer.size(), 4U);  // input, weight, product, result
  // 3136 pixels in 98 tiles of 32, 64 channels in 2, 32 images
  EXPECT_EQ(newer[0].geometry.grid, (std::array<std::uint32_t, 3>{98, 2, 32}));
  // Without TF32 the product reads the framework's order.
  for (const LoweredKernel& k : of("v100_sxm2_16gb")) {
    EXPECT_EQ(k.name.find("Nhwc"), std::string::npos) << k.name;
  }
}

TEST_F(LoweredOps, OneByOneConvolutionsAreProductsOfImages) {
  const auto kernels =
      lower("aten::cudnn_convolution", {row_major({32, 64, 56, 56}), row_major({256, 64, 1, 1})},
            {row_major({32, 256, 56, 56})});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].geometry.grid[2], 32U);
}

TEST_F(LoweredOps, ProductsWithABiasAreNotSplit) {
  const auto kernels =
      lower("aten::addmm", {row_major({768}), row_major({2048, 768}), row_major({768, 768})},
            {row_major({2048, 768})});
  EXPECT_EQ(kernels.size(), 1U);
}

TEST_F(LoweredOps, OperationsWithoutARuleAreTimedAndCounted) {
  const TensorShape t = row_major({1 << 20});
  const auto kernels = lower("aten::nobody_knows_this", {t, t}, {t});
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_GT(kernels[0].duration_us, 0);
  EXPECT_EQ(losses_.count("op_without_kernel_rule"), 1);
}

TensorShape channels_last(TensorShape t) {
  t.strides = {t.dims[1] * t.dims[2] * t.dims[3], 1, t.dims[3] * t.dims[1], t.dims[1], 0, 0};
  t.channels_last = true;
  return t;
}

// 58 to 104 million bytes a pass, against single operators on H200 (ops-times.csv.gz, ids 472, 474,
// 484, 486): 83, 122, 53 and 66 us. The rule's two numbers were read off these and eight others.
// Each of four images of the state, 512 x 16 numbers, is read once: 4 x 32 KB, on any GPU no more
// than a few launches. As tiles of 128x128 the product would be 64 steps of k on a tile that is
// empty but for one column (A100: 92 us).
TEST_F(LoweredOps, BatchedProductsWithAVectorReadTheirMatrixOnce) {
  const TensorShape matrix = row_major({4, 16, 512}), vector = row_major({4, 512, 1});
  for (const char* gpu : {"h200_sxm", "a100_sxm4_80gb", "v100_sxm2_32gb"}) {
    const auto kernels =
        lower("aten::bmm", {matrix, vector}, {row_major({4, 16, 1})}, Phase::forward, gpu);
    ASSERT_EQ(kernels.size(), 1U) << gpu;
    EXPECT_EQ(kernels[0].geometry.grid[2], 4U) << gpu;
    EXPECT_LT(kernels[0].duration_us, 6) << gpu;
  }
}

TEST_F(LoweredOps, OperationsInPlaceLaunchWhatTheirOthersDo) {
  const TensorShape t = row_major({64, 64});
  const auto apart = lower("aten::logical_and", {t, t}, {t});
  const auto in_place = lower("aten::logical_and_", {t, t}, {t});
  ASSERT_EQ(in_place.size(), 1U);
  EXPECT_EQ(in_place[0].name, apart[0].name);
  EXPECT_EQ(losses_.count("op_without_kernel_rule"), 0);
}

// Two images of 50176 pixels, 32 channels to one: a product for each image would sum over all its
// pixels in one block (1424 us on an H200, 9220 on an A100, where it was the whole step); spread
// over the GPU it reads 13 MB.
TEST_F(LoweredOps, WeightGradientsOfFewChannelsSpreadTheirPixels) {
  const TensorShape image = row_major({2, 32, 224, 224}), result = row_major({2, 1, 224, 224});
  const TensorShape weight = row_major({1, 32, 1, 1});
  for (const char* gpu : {"h200_sxm", "a100_sxm4_80gb", "v100_sxm2_32gb"}) {
    const auto kernels = lower("aten::convolution_backward", {result, image, weight}, {weight},
                               Phase::backward, gpu);
    double sum = 0;
    for (const LoweredKernel& k : kernels) sum += k.duration_us;
    EXPECT_LT(sum, 60) << gpu;
  }
}

// Eight tensors of a column each: 8 x 6291456 sectors of which each writes an eighth, twice 64
// bytes each time: 6.44 GB through L2 at 9740 GB/s and through the DRAM at 4275, 661 and 1507 us,
// beside the 403 MB of a copy (measured: 2332 us). One below the other they are a copy.
TEST_F(LoweredOps, ColumnsSideBySideWriteSectorsInPart) {
  const auto cat_us = [&](std::int64_t dim, const TensorShape& part, const TensorShape& all) {
    op_.name = "aten::cat";
    bound_ = {};
    for (int i = 0; i < 8; ++i) bound_.operands.tensors.add(0, part);
    bound_.operands.arguments = {Argument(), Argument(dim)};
    const auto kernels = lower_bound({all});
    EXPECT_EQ(kernels.size(), 1U);
    return kernels.at(0).duration_us;
  };
  const double copy_us = cat_us(0, row_major({786432, 8}), row_major({6291456, 8}));
  EXPECT_LT(copy_us, 130);
  const double columns_us = cat_us(-1, row_major({6291456, 1}), row_major({6291456, 8}));
  EXPECT_NEAR(columns_us - copy_us, 661 + 1507, 10);
}

// Halves of 64 x 8 x 512 rows of 128, which are slices, put side by side: 135 lane cycles for each
// of 33.5 million elements are 135 us of 132 x 128 lanes at 1980 MHz, besides their bytes (31 us).
// Tensors in order take what their bytes do.
TEST_F(LoweredOps, SlicesSideBySideComputeThePlaceOfEachElement) {
  TensorShape half = row_major({64, 8, 512, 64});
  half.type = DataType::fp16;
  const TensorShape in_order = half;
  half.strides = {8 * 512 * 128, 512 * 128, 128, 1};
  TensorShape whole = row_major({64, 8, 512, 128});
  whole.type = DataType::fp16;
  const auto us = [&](const TensorShape& t) {
    bound_ = {};
    op_.name = "aten::cat";
    op_.phase = Phase::forward;
    bound_.operands.tensors.add(0, t);
    bound_.operands.tensors.add(0, t);
    bound_.operands.arguments = {{}, std::int64_t{3}};
    const auto kernels = lower_bound({whole});
    EXPECT_EQ(kernels.size(), 1U);
    return kernels.empty() ? 0 : kernels[0].duration_us;
  };
  const double lanes_us = 64.0 * 8 * 512 * 128 * 135 / (132 * 128 * 1980);
  EXPECT_NEAR(us(half), std::hypot(lanes_us, 31.4), 3);
  EXPECT_LT(us(in_order), 40);
}

// A layer of 128 columns over 24 steps of 256 sequences: a product of the input and one kernel with
// a block for each sequence (measured: 163 us); one of 256 columns takes two kernels a step.
TEST_F(LoweredOps, NarrowRecurrentLayersRunAllStepsAtOnce) {
  const auto layer = [&](std::int64_t width, std::int64_t gates) {
    op_.name = "aten::_cudnn_rnn";
    op_.phase = Phase::forward;
    bound_ = {};
    bound_.operands.tensors.add(0, row_major({24, 256, width}));
    for (int i = 0; i < 2; ++i) {
      bound_.operands.tensors.add(1, row_major({gates * width, width}));
    }
    bound_.operands.tensors.add(4, row_major({1, 256, width}));
    return lower_bound({row_major({24, 256, width})});
  };
  const auto narrow = layer(128, 4);
  ASSERT_EQ(narrow.size(), 2U);
  EXPECT_EQ(narrow[1].geometry.grid[0], 256U);
  EXPECT_NEAR(narrow[1].duration_us, 163, 60);
  EXPECT_EQ(layer(128, 3).size(), 2U);
  EXPECT_GE(layer(256, 4).size(), 1U + 2 * 24);
  EXPECT_GE(layer(128, 1).size(), 1U + 2 * 24);  // a cell without gates
}

// Two dimensions are two passes of 16 MB each way; normalized results are scaled, and what a
// transform to real numbers would overwrite is copied first.
TEST_F(LoweredOps, FourierTransformsPassOverEachDimension) {
  TensorShape complex = row_major({16, 64, 64, 33});
  complex.type = DataType::complex64;
  const TensorShape real = row_major({16, 64, 64, 64});
  const auto transform = [&](const char* name, const TensorShape& in, const TensorShape& out,
                             std::int64_t normal) {
    return lower_with(name, {in}, {std::vector<std::int64_t>{2, 3}, normal}, {out}).size();
  };
  EXPECT_EQ(transform("aten::_fft_r2c", real, complex, 0), 2U);
  EXPECT_EQ(transform("aten::_fft_c2c", complex, complex, 2), 3U);
  EXPECT_EQ(transform("aten::_fft_c2r", complex, real, 2), 4U);
}

// An operation that has kernels but no row would be "unknown" in every report.
TEST_F(LoweredOps, EveryRuleIsOfAnOperationThatTheTableKnows) {
  std::size_t found = 0;
  for (const OpRule& rule : rules_.rules) {
    if (rule.recipe == Recipe::nothing) continue;
    for (const std::string& op : rule.ops) {
      if (!op.starts_with("aten::")) continue;
      EXPECT_NE(find_op(op), nullptr) << op;
      ++found;
    }
  }
  EXPECT_GE(found, 100U);
}

TEST_F(LoweredOps, NormsInChannelsLastOrderTakeTheBytesTheyMove) {
  const struct {
    std::array<std::int64_t, 4> dims;
    Phase phase;
    double us;
  } measured[] = {{{32, 64, 112, 112}, Phase::forward, 83.3},
                  {{32, 64, 112, 112}, Phase::backward, 122.4},
                  {{32, 512, 28, 28}, Phase::forward, 52.8},
                  {{32, 512, 28, 28}, Phase::backward, 66.0}};
  for (const auto& m : measured) {
    const TensorShape t = channels_last(row_major({m.dims[0], m.dims[1], m.dims[2], m.dims[3]}));
    const bool backward = m.phase == Phase::backward;
    const auto kernels = lower(
        backward ? "aten::cudnn_batch_norm_backward" : "aten::cudnn_batch_norm", {t}, {t}, m.phase);
    ASSERT_EQ(kernels.size(), 1U);
    EXPECT_NE(kernels[0].name.find(backward ? "bwtr_nhwc" : "fwtr_nhwc"), std::string::npos);
    EXPECT_NEAR(kernels[0].duration_us / m.us, 1, 0.25);
  }
}

// A 1x1 layer in channels-last order is one product over the pixels of all images, without
// transforms; in the framework's own order it is one for each image.
TEST_F(LoweredOps, PointLayersInChannelsLastOrderAreOneProduct) {
  const TensorShape image = row_major({32, 64, 56, 56});
  const TensorShape weight = row_major({256, 64, 1, 1});
  const TensorShape out = row_major({32, 256, 56, 56});
  const auto last = lower("aten::cudnn_convolution", {channels_last(image), channels_last(weight)},
                          {channels_last(out)});
  ASSERT_EQ(last.size(), 1U);
  // 39.3 us as a single operator in TF32 (ops-times.csv.gz)
  EXPECT_NEAR(last[0].duration_us / 39.3, 1, 0.25);
}

// Rows of all tables: 26 x 65536 x 128 floats are read and written, at 0.4 of the law's rate.
TEST_F(LoweredOps, RulesWithAccessesCountWhatIsRead) {
  const TensorShape table = row_major({5200000, 128});
  const TensorShape index = row_major({65536, 26}, DataType::int64);
  const TensorShape rows = row_major({65536, 26, 128});
  const auto gathered = lower("dlrm::gather_rows", {table, index}, {rows});
  ASSERT_EQ(gathered.size(), 1U);
  const double bytes = 2.0 * 26 * 65536 * 128 * 4;
  const double rate = bytes / (gathered[0].duration_us * 1e-6);
  EXPECT_NEAR(rate / 4.8e12, 0.4 * 0.9, 0.06);  // of 4.8 TB/s, of which the law takes 0.9
}

}  // namespace
}  // namespace tandem
