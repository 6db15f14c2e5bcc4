// What fused attention does, and the clock of kernels that multiply: sums by hand.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/kernel/classify/classify.h"
#include "models/kernel/counters/cost_model.h"
#include "models/kernel/work/features.h"
#include "models/kernel/work/work.h"
#include "sim/trace/importers/kineto/operands.h"
#include "tests/gpus_for_tests.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

constexpr std::string_view forward_kernel =
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_4x1x1_cga1x1x1_"
    "kernel0_0";
constexpr std::string_view backward_kernel =
    "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_f16_knob_26_64x64x64_1x4x1_cga1x1x1_"
    "kernel0_0";

struct Attention {
  std::string rows = "512";
  std::string mask = "[]";
  std::string dropout = "0.";
  std::string causal = "False";
};

/// A launch of cuDNN's kernels: 4 items of 12 heads, 64 wide, in FP16.
KernelLaunch launch_of(const Attention& a, bool backward, Operands& operands) {
  const std::string side = "[4, 12, " + a.rows + ", 64]";
  const std::string rest = "[], [], [], ";
  std::string dims = "[" + side + ", " + side + ", " + side + ", ";
  std::string types = R"(["c10::Half", "c10::Half", "c10::Half", )";
  std::string concrete;
  if (backward) {
    dims += side + ", [], [], [], [], " + a.mask + ", [], [], [], [], [], []]";
    types += R"("c10::Half", "", "", "", "", "c10::Half", "", "", "", "", "", ""])";
    concrete = R"(["", "", "", "", "", "", "", "", "", "", "", "", "", ")" + a.dropout + R"(", ")" +
               a.causal + R"("])";
  } else {
    dims += a.mask + ", " + rest + rest + "[]]";
    types += R"("c10::Half", "", "", "", "", "", "", ""])";
    concrete =
        R"(["", "", "", "", "", "", "", "", "", ")" + a.dropout + R"(", ")" + a.causal + R"("])";
  }
  operands = kineto::parse_operands({dims, types, "", concrete});
  KernelLaunch l;
  l.name = backward ? backward_kernel : forward_kernel;
  l.op = backward ? "aten::_cudnn_attention_backward" : "aten::_cudnn_attention_forward";
  const KernelClass kernel = classify(l.name, l.op);
  l.family = kernel.family, l.math = kernel.math, l.traits = kernel.traits;
  l.geometry.grid = {132, 1, 1};
  l.geometry.block = {384, 1, 1};
  l.geometry.registers_per_thread = 168;
  l.work = kernel_work(kernel, {l.op, operands.tensors, operands.arguments, l.geometry});
  return l;
}

KernelFeatures features_of(const Attention& a, bool backward = false) {
  Operands operands;
  return kernel_features(launch_of(a, backward, operands));
}

// 48 heads x 8 x 4 tiles of 64 x 128 scores: 1536 of them, 256 warp-wide scores each.
TEST(AttentionCounts, ScoresAreWholeTiles) {
  const KernelFeatures f = features_of({});
  EXPECT_DOUBLE_EQ(f.elements, 2 * 1536 * 256.0);  // of two products
  EXPECT_DOUBLE_EQ(f.walked, f.elements);
  EXPECT_DOUBLE_EQ(f.rows, 48 * 512.0);
  EXPECT_EQ(f.dropped, 0);
  EXPECT_EQ(f.masked, 0);
  EXPECT_EQ(f.compared, 0);
  EXPECT_DOUBLE_EQ(features_of({.dropout = "0.1"}).dropped, 1536 * 256.0);
  EXPECT_DOUBLE_EQ(features_of({.mask = "[4, 1, 512, 512]"}).masked, 1536 * 256.0);
}

// 500 keys end within a tile: one tile of each of the 48 x 8 rows of tiles is compared with the
// end. Causal order leaves 1 + 1 + 2 + 2 + 3 + 3 + 4 + 4 of 32 tiles, and compares one of each row.
TEST(AttentionCounts, TilesAcrossAnEdgeAreCompared) {
  EXPECT_DOUBLE_EQ(features_of({.rows = "500"}).compared, 48 * 8 * 256.0);
  const KernelFeatures causal = features_of({.causal = "True"});
  EXPECT_DOUBLE_EQ(causal.elements, 2 * 48 * 20 * 256.0);
  EXPECT_DOUBLE_EQ(causal.compared, 48 * 8 * 256.0);
}

// Forward each tile takes 4 instructions of 128 columns for its scores and 8 of 64 for its results,
// a warp: with 4 warps 48, of 1024 x 2048 / 48 multiply-adds. Backward all have 64 columns.
TEST(AttentionCounts, InstructionsAreAsWideAsWhatTheyMake) {
  const KernelFeatures f = features_of({});
  EXPECT_DOUBLE_EQ(f.multiplies, 1536 * 48.0);
  EXPECT_NEAR(f.mma_n, 2 * 128 / 3.0, 1e-9);
  const KernelFeatures back = features_of({}, true);
  EXPECT_DOUBLE_EQ(back.mma_n, 64);
  // Five products of 48 x 8 x 8 tiles of 64 x 64 scores; 4 x 4 instructions each.
  EXPECT_DOUBLE_EQ(back.multiplies, 5 * 48 * 64 * 16.0);
}

// Two warp groups of a backward block have 64 keys each: along the diagonal it moves by 128 rows,
// (1 + 128 / 512) / 2 of all tiles. Counted: 4.92 million cycles of tensor cores.
TEST(AttentionCounts, CausalBlocksMoveByTheRowsOfTheirWarpGroups) {
  Operands operands;
  const KernelLaunch l = launch_of({.causal = "True"}, true, operands);
  const CostConstants constants = CostConstants::load(source_path("configs/kernels/costs.json"));
  const KernelCost c = kernel_cost(test::gpu(), l, constants, 30.1);
  EXPECT_NEAR(c.tc_active_cycles, 4.92e6, 0.01e6);
  EXPECT_NEAR(c.smsp_issue_cycles, 5.38e6, 0.05 * 5.38e6);
}

// A mask of 4 x 512 x 512 halves is read from DRAM once, and from L2 with each head's scores.
TEST(AttentionCounts, MasksAreReadHeadByHead) {
  Operands plain_operands, masked_operands;
  const KernelLaunch plain = launch_of({}, false, plain_operands);
  const KernelLaunch masked = launch_of({.mask = "[4, 1, 512, 512]"}, false, masked_operands);
  const CostConstants constants = CostConstants::load(source_path("configs/kernels/costs.json"));
  const KernelCost a = kernel_cost(test::gpu(), plain, constants, 30);
  const KernelCost b = kernel_cost(test::gpu(), masked, constants, 30);
  EXPECT_DOUBLE_EQ(b.dram_read_sectors - a.dram_read_sectors, 4 * 512 * 512 * 2 / 32.0);
  EXPECT_NEAR(b.l2_sectors - a.l2_sectors, 1536 * 256 * 32 * 2 / 32.0, 0.05 * 786432);
  // 7.9 instructions a warp-wide score.
  EXPECT_NEAR(b.smsp_issue_cycles - a.smsp_issue_cycles, 1536 * 256 * 7.9, 0.02 * 1536 * 256 * 7.9);
  EXPECT_DOUBLE_EQ(b.l1_sectors - a.l1_sectors, 2 * 1536 * 256 * 32 * 2 / 32.0);
}

// A warp-group product of unknown shapes uses tensor cores as t / (t + 14 us): of 28 us 4/3 of what
// one of 14 us does. Tiles of 64 x 64 use (64 / 128) to the power 1.25 of what 128 x 128 do.
TEST(UnknownProducts, UseTensorCoresTheLongerTheyLast) {
  const CostConstants constants = CostConstants::load(source_path("configs/kernels/costs.json"));
  const auto active = [&](std::string_view name, double us) {
    KernelLaunch l;
    l.name = name;
    const KernelClass kernel = classify(l.name, "");
    l.family = kernel.family, l.math = kernel.math, l.traits = kernel.traits;
    l.geometry.grid = {132, 1, 1}, l.geometry.block = {384, 1, 1};
    const KernelCost c = kernel_cost(test::gpu(), l, constants, us);
    return c.tc_active_cycles / c.smsp_active_cycles;
  };
  constexpr std::string_view large = "nvjet_sm90_hsh_128x128_64x4_1x2_h_bz_coopA_TNT";
  constexpr std::string_view small = "nvjet_sm90_hsh_64x64_64x4_1x2_h_bz_TNT";
  EXPECT_NEAR(active(large, 28), 4.0 / 3 * active(large, 14), 1e-3);
  EXPECT_NEAR(active(small, 14), active(large, 14) * std::pow(0.5, 1.25), 1e-3);
}

// Tensor cores that are busy half of the time leave the clock of busy tensor cores; a kernel
// without products keeps the highest. Between them it falls over the first 14 %, then slowly.
TEST(KernelClock, FallsWhileTensorCoresMultiply) {
  const GpuArch& h200 = test::gpu();
  const CostConstants constants = CostConstants::load(source_path("configs/kernels/costs.json"));
  Operands operands;
  const KernelLaunch l = launch_of({}, false, operands);
  const double busy = kernel_cost(h200, l, constants, 30).tc_active_cycles;
  const auto clock = [&](double share) {
    const double us = busy / (share * h200.tensor_clock_mhz * smsp_count(h200));
    return kernel_cost(h200, l, constants, us).clock_mhz;
  };
  const double lost = h200.boost_clock_mhz - h200.tensor_clock_mhz;
  EXPECT_NEAR(clock(0.5), h200.tensor_clock_mhz, 1e-6);
  EXPECT_NEAR(clock(0.14), h200.boost_clock_mhz - lost * (1 + 1.25 * (0.14 - 0.5)), 1e-6);
  EXPECT_NEAR(clock(0.07), h200.boost_clock_mhz - lost / 2 * (1 + 1.25 * (0.07 - 0.5)), 1e-6);
  EXPECT_LT(clock(0.8), clock(0.5));
  KernelLaunch add;
  add.name =
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>"
      ", std::array<char*, 3ul> >(int)";
  add.op = "aten::add";
  const KernelClass kernel = classify(add.name, add.op);
  add.family = kernel.family, add.math = kernel.math, add.traits = kernel.traits;
  add.geometry.grid = {8192, 1, 1}, add.geometry.block = {128, 1, 1};
  const KernelCost c = kernel_cost(h200, add, constants, 20);
  EXPECT_DOUBLE_EQ(c.clock_mhz, h200.boost_clock_mhz);
  EXPECT_DOUBLE_EQ(c.smsp_elapsed_cycles, 20 * h200.boost_clock_mhz * smsp_count(h200));
}

}  // namespace
}  // namespace tandem
