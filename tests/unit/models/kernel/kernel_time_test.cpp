#include "models/kernel/time/kernel_time.h"

#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "models/arch/gpu_config.h"
#include "models/kernel/classify/classify.h"
#include "sim/core/error.h"
#include "tests/gpus_for_tests.h"
#include "tests/operands_for_tests.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

using test::gpu;

const std::string constants_file = source_path("configs/kernels/time.json");

const TimeConstants& time_constants() {
  static const TimeConstants instance = TimeConstants::load(constants_file);
  return instance;
}

GemmShape linear(std::int64_t m, std::int64_t n, std::int64_t k, DataType type = DataType::fp32) {
  return {.m = m, .n = n, .k = k, .type = type, .b_k_major = true};
}

TimeContext repeated(double repeats) { return {.repeats = repeats}; }

ConvLayer conv_3x3(std::int64_t batch, std::int64_t in, std::int64_t out, std::int64_t size) {
  return {.batch = batch,
          .in_channels = in,
          .out_channels = out,
          .height = size,
          .width = size,
          .kernel_h = 3,
          .kernel_w = 3,
          .pad_h = 1,
          .pad_w = 1};
}

// Published NeuSight measurements of a 4096 x 4096 x 4096 FP32 layer, one per GPU.
TEST(KernelTime, LargeProductOnThreeGenerations) {
  const auto us = [](const char* name) {
    return gemm_time(gpu(name), linear(4096, 4096, 4096), time_constants(), repeated(25)).time_us;
  };
  EXPECT_NEAR(us("v100_pcie_32gb") / 10160, 1, 0.08);
  EXPECT_NEAR(us("a100_pcie_40gb") / 8360, 1, 0.08);
  EXPECT_NEAR(us("h100_sxm5") / 2740, 1, 0.08);
}

// FP32 products of captured steps on H200, in us. Tiles of 64 x 64 spread evenly: 49 x 12 = 588
// blocks on 132 SMs take five rounds. Taken for whole waves of four an SM they took eight, so that
// tiles of 128 x 128 seemed faster and the time doubled from 2816 rows to 2944.
TEST(KernelTime, SmallTilesOfHopperSpreadEvenly) {
  struct Case {
    std::int64_t m, n, k;
    double us;
  };
  for (const Case& c : {Case{2048, 768, 768, 65.1}, Case{3136, 768, 768, 111.4},
                        Case{3136, 768, 3072, 432.4}, Case{6272, 384, 1536, 216.4},
                        Case{12544, 384, 1536, 381.2}, Case{1568, 3072, 768, 214.8}}) {
    const KernelTime t = gemm_time(gpu("h200_sxm"), linear(c.m, c.n, c.k), time_constants());
    EXPECT_NEAR(t.time_us / c.us, 1, 0.08) << c.m << " x " << c.n << " x " << c.k;
  }
}

// H200, 2048 x 768 x 3072 half: tiles of 96 x 128 fill 8 x 16 = 128 of 132 SMs in one wave, where
// 128 x 128 would leave 36 idle. A cluster of two loads the longer operand once: 96 + 128 / 2 = 160
// values a k and block, 320 B at 45 B/clk are 7.1 clk; the FMA, 96 x 128 / (2048 x 0.81), 7.4 clk.
TEST(KernelTime, HopperHalfProductsTakeTilesOfTheTensorMapKernels) {
  const GemmShape s = linear(2048, 768, 3072, DataType::fp16);
  const KernelTime t = gemm_time(gpu("h200_sxm"), s, time_constants());
  EXPECT_EQ(t.tile_m, 96);
  EXPECT_EQ(t.tile_n, 128);
  EXPECT_EQ(t.grid_x * t.grid_y, 128);
  EXPECT_EQ(t.bound, Bound::compute);
  // (3072 + 118 of start and end) x 7.41 clk / 1980 MHz = 11.9 us, + 1.27 + 0.75 of start
  EXPECT_GT(t.time_us, 13.9);
  EXPECT_LT(t.time_us, 14.3);
}

// Rows that are no multiple of 16 bytes cannot be loaded by tensor maps; TF32 has older kernels.
TEST(KernelTime, OtherTensorProductsOnHopperKeepTheOlderTiles) {
  int checked = 0;
  for (const GemmShape& s :
       {linear(2048, 770, 3072, DataType::fp16), linear(2048, 768, 3072, DataType::tf32)}) {
    EXPECT_NE(gemm_time(gpu("h200_sxm"), s, time_constants()).tile_m, 96);
    ++checked;
  }
  EXPECT_EQ(checked, 2);
  const GemmShape half = linear(2048, 768, 3072, DataType::fp16);
  EXPECT_NE(gemm_time(gpu("a100_sxm4_80gb"), half, time_constants()).tile_m, 96);
}

// Grids of kernels that NeuSight's tables name.
TEST(KernelTime, GridOfAKnownTile) {
  GemmShape s = linear(58, 141, 13);
  s.tile_m = 32, s.tile_n = 128;
  const KernelTime t = gemm_time(gpu("v100_pcie_32gb"), s, time_constants());
  EXPECT_EQ(t.grid_x, 5);
  EXPECT_EQ(t.grid_y, 1);
  EXPECT_EQ(t.grid_z, 1);
}

TEST(KernelTime, BatchedProductsOnAmpereAlwaysRunTheLargeTile) {
  const GemmShape s{.m = 27, .n = 390, .k = 21, .batch = 6};
  const KernelTime t = gemm_time(gpu("a100_pcie_40gb"), s, time_constants());
  EXPECT_EQ(t.tile_m, 128);
  EXPECT_EQ(t.tile_n, 128);
  EXPECT_EQ(t.grid_x, 4);
  EXPECT_EQ(t.grid_z, 6);
}

TEST(KernelTime, WinogradThroughMemoryPadsTheImages) {
  const ConvLayer s = conv_3x3(55, 1701, 569, 5);
  const KernelTime a100 = conv_time(gpu("a100_pcie_80gb"), s, time_constants());
  EXPECT_EQ(a100.algorithm, KernelAlgorithm::winograd_transformed);
  EXPECT_EQ(a100.grid_x, 2);
  EXPECT_EQ(a100.grid_y, 5);
  EXPECT_EQ(a100.grid_z, 36);
  const KernelTime v100 = conv_time(gpu("v100_pcie_32gb"), s, time_constants());
  EXPECT_EQ(v100.grid_x * v100.tile_m, 256);  // 64 images of 4 tiles, not 55
}

TEST(KernelTime, WinogradOnlyForUnitStride) {
  ConvLayer s = conv_3x3(32, 256, 256, 28);
  EXPECT_NE(conv_time(gpu("v100_pcie_32gb"), s, time_constants()).algorithm,
            KernelAlgorithm::direct);
  s.stride_h = s.stride_w = 2;
  EXPECT_EQ(conv_time(gpu("v100_pcie_32gb"), s, time_constants()).algorithm,
            KernelAlgorithm::direct);
}

TEST(KernelTime, PassesOfAConvolution) {
  for (const Pass pass : {Pass::forward, Pass::input_gradient, Pass::weight_gradient}) {
    for (const DataType type : {DataType::fp32, DataType::fp16, DataType::tf32}) {
      ConvLayer s = conv_3x3(32, 64, 128, 56);
      s.pass = pass;
      s.type = type;
      const KernelTime t = conv_time(gpu("a100_sxm4_80gb"), s, time_constants());
      EXPECT_GT(t.time_us, 10) << static_cast<int>(pass) << static_cast<int>(type);
      EXPECT_LT(t.time_us, 5000) << static_cast<int>(pass) << static_cast<int>(type);
    }
  }
}

TEST(KernelTime, LongLoadsOfSmallBoardsRunBelowTheBoostClock) {
  const auto slowdown = [](const char* name) {
    const GemmShape s = linear(4096, 4096, 4096);
    return gemm_time(gpu(name), s, time_constants(), repeated(1000)).time_us /
           gemm_time(gpu(name), s, time_constants(), repeated(0)).time_us;
  };
  EXPECT_GT(slowdown("a100_pcie_40gb"), 1.05);      // 250 W
  EXPECT_DOUBLE_EQ(slowdown("a100_sxm4_40gb"), 1);  // 400 W
}

TEST(KernelTime, WhatFitsIntoL2IsReadFromThere) {
  const GpuArch& a100 = gpu("a100_pcie_40gb");
  const auto us = [&](std::int64_t elements, CacheState cache) {
    return pointwise_time(a100, {.elements = elements}, time_constants(), {.cache = cache}).time_us;
  };
  EXPECT_LT(us(1 << 21, CacheState::warm), 0.6 * us(1 << 21, CacheState::cold));
  EXPECT_DOUBLE_EQ(us(1 << 24, CacheState::warm), us(1 << 24, CacheState::cold));
}

TEST(KernelTime, InstructionsBoundPointwise) {
  PointwiseShape s{.elements = 1 << 24, .type = DataType::fp16};
  const KernelTime plain = pointwise_time(gpu("h200_sxm"), s, time_constants());
  EXPECT_EQ(plain.bound, Bound::memory);
  s.instructions = 60;
  const KernelTime heavy = pointwise_time(gpu("h200_sxm"), s, time_constants());
  EXPECT_EQ(heavy.bound, Bound::compute);
  EXPECT_GT(heavy.time_us, 1.5 * plain.time_us);
}

TEST(KernelTime, TinyKernelsCostTheirStart) {
  const GpuArch& h200 = gpu("h200_sxm");
  const KernelTime t = pointwise_time(h200, {.elements = 32}, time_constants());
  EXPECT_EQ(t.bound, Bound::launch);
  EXPECT_NEAR(t.time_us, h200.graph_kernel_period_us, 0.1);
}

TEST(KernelTime, FewBytesAreBoundByTheirLaunch) {
  const GpuArch& h200 = gpu("h200_sxm");
  TimedLaunch launch;
  launch.law = TimeLaw::memory;
  launch.bytes = 1e3;
  EXPECT_EQ(kernel_time(launch, h200, time_constants()).bound, Bound::launch);
  launch.bytes = 1e9;
  EXPECT_EQ(kernel_time(launch, h200, time_constants()).bound, Bound::memory);
}

// Fused attention is tiles behind one another, not one product at the peak of the tensor cores, of
// which an RTX 4090 has a sixth in TF32: what it takes there over what it takes here is what the
// law of such kernels says of both.
TEST(KernelTime, AttentionGoesFromOneGpuToAnotherAsItsTilesDo) {
  const char* name = "fmha_cutlassF_f32_aligned_64x64_rf_sm80(PyTorchMemEffAttention)";
  const KernelClass kernel = classify(name, "aten::_efficient_attention_forward");
  ASSERT_EQ(kernel.family, KernelFamily::attention);
  constexpr std::int64_t heads = 16 * 12, length = 128, width = 64;
  KernelLaunch launch;
  launch.name = name;
  launch.family = kernel.family;
  launch.math = kernel.math;
  launch.traits = kernel.traits;
  launch.work.matrix.batch = heads * attention_products(false);
  launch.work.matrix.m = launch.work.matrix.n = length;
  launch.work.matrix.k = width;
  const TimedLaunch timed = timed_launch(launch, 1e6);
  ASSERT_EQ(timed.law, TimeLaw::attention);
  const AttentionShape shape{.heads = heads, .queries = length, .keys = length, .width = width};
  for (const char* chip : {"h200_sxm", "rtx_4090", "v100_sxm2_16gb"}) {
    EXPECT_DOUBLE_EQ(kernel_time(timed, gpu(chip), time_constants()).time_us,
                     attention_us(gpu(chip), time_constants(), shape, DataType::fp32, false))
        << chip;
  }
  const auto on = [&](const char* chip) {
    const GpuArch& arch = gpu(chip);
    return modelled_time(timed, arch, without_dram(arch), time_constants());
  };
  const double us = carried_us(40.5, on("h200_sxm"), on("rtx_4090"), 1);
  EXPECT_NEAR(us / 40.5,
              attention_us(gpu("rtx_4090"), time_constants(), shape, DataType::fp32, false) /
                  attention_us(gpu("h200_sxm"), time_constants(), shape, DataType::fp32, false),
              0.15);
}

// 66 MB fit the L2 of an L40S, 96 MB, but no kernel before has left them there: an update has
// tensors of its own, which all come from DRAM.
TEST(KernelTime, UpdatesFindNothingInL2) {
  const GpuArch& l40s = gpu("l40s");
  KernelLaunch launch;
  launch.name = "void tensorflow::functor::ApplyAdamKernel<float>(int, float*)";
  const KernelClass kernel = classify(launch.name, "ResourceApplyAdam");
  launch.family = kernel.family;
  launch.traits = kernel.traits;
  launch.work.read_bytes = 4 * 9.44e6;
  launch.work.write_bytes = 3 * 9.44e6;
  const double us = kernel_time(timed_launch(launch), l40s, time_constants()).time_us;
  EXPECT_GE(us, 7 * 9.44e6 / (l40s.dram_peak_gbps * 1e3));
}

// 1e9 bytes far beyond L2 come at the rate of DRAM, and what is left of such a kernel counts an
// instruction of a thread for each byte: SMs x SMSPs x 32 lanes a cycle.
TEST(KernelTime, BytesMoveAtTheRateOfTheMemoryAndTheRestAtThatOfTheSms) {
  const GpuArch& h200 = gpu("h200_sxm");
  TimedLaunch launch;
  launch.law = TimeLaw::memory;
  launch.bytes = 1e9;
  const double whole = kernel_time(launch, h200, time_constants()).time_us;
  const double moving = moving_us(launch, h200, time_constants());
  EXPECT_DOUBLE_EQ(moving, whole - h200.graph_kernel_period_us);
  const double lanes = h200.sm_count * h200.smsp_per_sm * h200.warp_size;
  EXPECT_DOUBLE_EQ(rest_us(launch, without_dram(h200), time_constants()),
                   1e9 / (lanes * h200.boost_clock_mhz));
  launch.law = TimeLaw::latency;  // waits for one sector, not for a rate
  EXPECT_EQ(moving_us(launch, h200, time_constants()), 0);
  launch.law = TimeLaw::link;
  EXPECT_NEAR(moving_us(launch, h200, time_constants()), 1e6 / h200.pcie_copy_gbps, 1e-6);
  EXPECT_EQ(rest_us(launch, without_dram(h200), time_constants()), 0);
}

// A product of few rows waits for its weights: without DRAM nearly nothing of it is left. Its
// operands are 16 x 8192 and 8192 x 8192, its result 16 x 8192, of 2 B: about 67 million elements.
TEST(KernelTime, AProductMovesItsOperands) {
  const GpuArch& h200 = gpu("h200_sxm");
  TimedLaunch launch;
  launch.law = TimeLaw::matrix;
  launch.gemm = linear(16, 8192, 8192, DataType::bf16);
  const double elements = 8192.0 * 8192 + 2 * 16 * 8192.0;
  const double moving = moving_us(launch, h200, time_constants());
  EXPECT_GT(moving, 0.9 * 2 * elements / (h200.dram_peak_gbps * 1e3));
  const double rest = rest_us(launch, without_dram(h200), time_constants());
  const double whole = kernel_time(launch, h200, time_constants()).time_us;
  EXPECT_LT(rest, 0.7 * (whole - h200.graph_kernel_period_us));
}

TEST(KernelTime, OnlyLawsThatExplainTheTimeStateABound) {
  TimedLaunch launch;
  launch.law = TimeLaw::memory;
  KernelTime time;
  time.confidence = 0.9;
  time.time_us = 10;
  EXPECT_TRUE(explains(launch, time, 5));
  EXPECT_TRUE(explains(launch, time, 20));
  EXPECT_FALSE(explains(launch, time, 20.1));  // more than half of it is something else
  launch.law = TimeLaw::throughput;            // a ratio between GPUs
  EXPECT_FALSE(explains(launch, time, 10));
  launch.law = TimeLaw::memory;
  time.confidence = 0;  // no operands
  EXPECT_FALSE(explains(launch, time, 10));
}

TEST(KernelTime, MisalignedRowsKeepHalfProductsFromTheirRate) {
  const GpuArch& h200 = gpu("h200_sxm");
  const auto us = [&](std::int64_t k) {
    return gemm_time(h200, linear(8192, 1024, k, DataType::fp16), time_constants()).time_us;
  };
  EXPECT_GT(us(479), 2 * us(480));
}

TEST(KernelTime, MoreWorkTakesLonger) {
  for (const char* name : {"v100_pcie_32gb", "a100_pcie_40gb", "h100_sxm5"}) {
    double last_gemm = 0, last_norm = 0, last_softmax = 0;
    for (std::int64_t n = 64; n <= 8192; n *= 2) {
      const double gemm = gemm_time(gpu(name), linear(n, 1024, 1024), time_constants()).time_us;
      const double norm = layer_norm_time(gpu(name), {n, 1024}, time_constants()).time_us;
      const double softmax = softmax_time(gpu(name), {n, 2048}, time_constants()).time_us;
      EXPECT_GE(gemm, last_gemm) << name << n;
      EXPECT_GE(norm, last_norm) << name << n;
      EXPECT_GE(softmax, last_softmax) << name << n;
      last_gemm = gemm, last_norm = norm, last_softmax = softmax;
    }
  }
}

// What is scored on single operators is what a trace's kernels get on another GPU.
TEST(KernelTime, NormalisedRowsOfATraceTakeTheirLaw) {
  const GpuArch& a100 = gpu("a100_sxm4_80gb");
  const std::vector<TensorShape> rows =
      test::parse_tensors("[[8192,1024]]", R"(["float"])", "").shapes;
  const auto us = [&](const char* name) {
    const KernelClass c = classify(name);
    KernelLaunch launch;
    launch.name = name;
    launch.family = c.family, launch.math = c.math, launch.traits = c.traits;
    launch.tensors = rows;
    return kernel_time(timed_launch(launch), a100, time_constants()).time_us;
  };
  const RowShape shape{8192, 1024, DataType::fp32};
  EXPECT_DOUBLE_EQ(us("void at::native::vectorized_layer_norm_kernel<float, float>(int)"),
                   layer_norm_time(a100, shape, time_constants()).time_us);
  EXPECT_DOUBLE_EQ(us("void softmax_warp_forward<float, float, float, 10, false>(float*)"),
                   softmax_time(a100, shape, time_constants()).time_us);
  // Backward kernels have no law for rows: their bytes are streamed, here one operand of 32 MiB.
  EXPECT_DOUBLE_EQ(
      us("void softmax_warp_backward<float, float, float, 10, false>(float*)"),
      pointwise_time(a100, {.elements = 8192 * 1024, .reads = 1, .writes = 0}, time_constants())
          .time_us);
}

TEST(KernelTime, ConfidenceIsOneLessTheKnownError) {
  const GpuArch& a100 = gpu("a100_pcie_40gb");
  const KernelTime t = gemm_time(a100, linear(512, 512, 512), time_constants());
  EXPECT_DOUBLE_EQ(t.confidence, 1 - time_constants().generation(a100).error_simt_gemm);
}

TEST(KernelTimeConstants, NewerGpusTakeTheNewestGeneration) {
  GpuArch next = gpu("h200_sxm");
  next.compute_major = 12;
  EXPECT_EQ(time_constants().generation(next).compute_major, 10);
  next.compute_major = 6;
  EXPECT_EQ(time_constants().generation(next).compute_major, 7);
  EXPECT_GT(gemm_time(next, linear(512, 512, 512), time_constants()).time_us, 0);
}

// The constants with `from` replaced by `to`, read back; the error's text.
std::string time_law_error(const std::string& from, const std::string& to) {
  std::ifstream in(constants_file);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  text.replace(at, from.size(), to);
  const std::string path = testing::TempDir() + "time.json";
  std::ofstream(path) << text;
  try {
    TimeConstants::load(path);
  } catch (const InputError& e) {
    return e.what();
  }
  return "no error";
}

TEST(KernelTimeConstants, BadFiles) {
  EXPECT_NE(time_law_error("\"dram_efficiency\"", "\"dram_eficiency\"").find("dram_efficiency"),
            std::string::npos);
  EXPECT_NE(time_law_error("tandem.kernel_time/1", "tandem.kernel_time/9").find("schema"),
            std::string::npos);
  EXPECT_NE(
      time_law_error("\"compute_major\": 8", "\"compute_major\": \"eight\"").find("compute_major"),
      std::string::npos);
  EXPECT_NE(time_law_error("\"unit\": \"ratio\"", "\"unit\": \"apples\"").find("apples"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem
