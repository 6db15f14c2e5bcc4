#include <gtest/gtest.h>

#include <fstream>

#include "models/arch/gpu_config.h"
#include "models/kernel/classify/classify.h"
#include "models/kernel/counters/cost_model.h"
#include "models/kernel/work/work.h"
#include "models/memory/l2_warm.h"
#include "sim/core/error.h"
#include "tests/gpus_for_tests.h"
#include "tests/operands_for_tests.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string configs = source_path("configs");

using test::gpu;

const CostConstants& constants() {
  static const CostConstants c = CostConstants::load(configs + "/kernels/costs.json");
  return c;
}

struct Case {
  const char* name;
  const char* op;
  const char* dims;
  const char* types;
  std::array<std::uint32_t, 3> grid;
  std::uint32_t block;
  double us;
};

KernelLaunch launch_of(const Case& c, OpTensors& tensors) {
  tensors = test::parse_tensors(c.dims, c.types);
  KernelLaunch l;
  l.name = c.name;
  l.op = c.op;
  const KernelClass k = classify(l.name, l.op);
  l.family = k.family;
  l.math = k.math;
  l.traits = k.traits;
  l.geometry.grid = c.grid;
  l.geometry.block = {c.block, 1, 1};
  l.geometry.registers_per_thread = 32;
  l.work = kernel_work(k, OpContext{l.op, tensors, {}, l.geometry});
  l.tensors = tensors.shapes;
  l.duration_us = c.us;
  return l;
}

KernelCost cost_of(const Case& c) {
  OpTensors tensors;
  return kernel_cost(gpu(), launch_of(c, tensors), constants());
}

const Case add{
    "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>"
    ", std::array<char*, 3ul> >(int)",
    "aten::add",
    "[[8388608],[8388608],[]]",
    R"(["float","float","Scalar"])",
    {8192, 1, 1},
    128,
    22.9};

const Case product_case{"nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_TNT",
                        "aten::mm",
                        "[[4096,4096],[4096,4096]]",
                        R"(["c10::Half","c10::Half"])",
                        {2, 66, 1},
                        384,
                        200};

// 134 blocks of 4 warps on 132 SMs: two of them hold 8 warps, the others 4. All 536 warps for as
// long as the kernel runs, at the GPU's 1980 MHz, are the most.
TEST(KernelCost, HoldsNoMoreWarpsThanItsGridHas) {
  Case few = add;
  few.grid = {134, 1, 1};
  const KernelCost cost = cost_of(few);
  EXPECT_LE(cost.warp_active_cycles, 134 * 4 * few.us * 1980);
  EXPECT_GT(cost.warp_active_cycles, 0.5 * 134 * 4 * few.us * 1980);
}

TEST(KernelCost, ElementwiseCountsAreExact) {
  const KernelCost c = cost_of(add);
  // 32768 warps of 34 instructions; two operands read, the result mostly written back.
  EXPECT_NEAR(c.smsp_issue_cycles, 32768 * 34 * 1.007, 32768);
  EXPECT_DOUBLE_EQ(c.dram_read_sectors, 2 * 8388608 * 4 / 32);
  EXPECT_GT(c.dram_write_sectors, 0);
  EXPECT_LT(c.dram_write_sectors, 8388608 * 4 / 32);
  EXPECT_EQ(c.confidence, 1);
}

TEST(KernelCost, WarpGroupTensorCyclesFollowFromPaddedProducts) {
  const KernelCost c = cost_of(product_case);
  const double macs = 4096.0 * 4096 * 4096;
  EXPECT_DOUBLE_EQ(c.tc_active_cycles, macs / 512);
  EXPECT_DOUBLE_EQ(c.tc_issue_cycles, macs * 4 / (64 * 128 * 16));
  EXPECT_DOUBLE_EQ(c.dram_read_sectors, 2 * 4096 * 4096 * 2 / 32);
}

TEST(KernelCost, WarpWideTensorCyclesOnEveryGeneration) {
  Case c = product_case;
  c.name = "ampere_fp16_s16816gemm_fp16_128x128_ldg8_f2f_stages_64x4_tn";
  c.grid = {32, 32, 1};
  c.block = 128;
  OpTensors tensors;
  const KernelLaunch l = launch_of(c, tensors);
  const double macs = 4096.0 * 4096 * 4096;
  const GpuArch a100 = load_gpu(configs + "/gpus/a100_sxm4_80gb.json");
  const KernelCost ampere = kernel_cost(a100, l, constants(), 1000);
  EXPECT_DOUBLE_EQ(ampere.tc_issue_cycles, macs / 2048);
  EXPECT_DOUBLE_EQ(ampere.tc_active_cycles, macs / 256);  // at peak: 8 cycles an instruction
  const KernelCost on_hopper = kernel_cost(gpu(), l, constants(), 1000);
  EXPECT_DOUBLE_EQ(on_hopper.tc_active_cycles, 1.5 * macs / 512);
}

TEST(KernelCost, OneWarpUsesOneSubPartition) {
  Case c = add;
  c.dims = "[[32],[32],[]]";
  c.grid = {1, 1, 1};
  c.block = 32;
  c.us = 2;
  const KernelCost cost = cost_of(c);
  EXPECT_LT(cost.smsp_active_cycles, 2 * 1980.0);
  EXPECT_GT(cost.smsp_active_cycles, 0);
}

TEST(KernelCost, NeverExceedsWhatTheDeviceCanDo) {
  Case c = add;
  for (const double us : {0.5, 1.0, 5.0, 20.0, 1000.0}) {
    c.us = us;
    const KernelCost cost = cost_of(c);
    EXPECT_LE(cost.smsp_active_cycles, cost.smsp_elapsed_cycles + 1);
    EXPECT_LE(cost.smsp_issue_cycles, cost.smsp_active_cycles);
    const double bytes = (cost.dram_read_sectors + cost.dram_write_sectors) * 32;
    EXPECT_LE(bytes, gpu().dram_peak_gbps * 1e3 * us * 1.0001);
  }
}

// Whatever clock a config states for busy tensor cores, that of kernels stays above zero and falls
// with it: the second half of their load takes no larger a share of the clock than the first.
TEST(KernelCost, TheClockOfBusyTensorCoresStaysAboveZero) {
  GpuArch slow = gpu();
  OpTensors tensors;
  const KernelLaunch launch = launch_of(product_case, tensors);
  double above = slow.boost_clock_mhz;
  for (const double mhz : {1980.0, 1710.0, 1200.0, 700.0, 100.0, 1.0}) {
    slow.tensor_clock_mhz = mhz;
    const KernelCost cost = kernel_cost(slow, launch, constants());
    EXPECT_GT(cost.clock_mhz, mhz * mhz / slow.boost_clock_mhz - 1e-9) << mhz;
    EXPECT_GT(cost.clock_mhz, 0) << mhz;
    EXPECT_LE(cost.clock_mhz, above) << mhz;
    EXPECT_GE(cost.smsp_elapsed_cycles, cost.smsp_active_cycles) << mhz;
    EXPECT_GE(cost.smsp_active_cycles, cost.tc_active_cycles) << mhz;
    above = cost.clock_mhz;
  }
}

// A hundred times the addition in the time of one and a half: it has more instructions than that
// time has slots, and fills 0.842 of them, the most that any kernel was recorded to fill.
TEST(KernelCost, NoKernelIssuesInEverySlot) {
  Case hasty = add;
  hasty.dims = "[[838860800],[838860800],[]]";
  hasty.grid = {819200, 1, 1};
  hasty.us = 35;
  const KernelCost cost = cost_of(hasty);
  EXPECT_NEAR(cost.smsp_issue_cycles / cost.smsp_elapsed_cycles, 0.842, 0.001);
}

TEST(KernelCost, UnknownKernelsHaveNoConfidence) {
  Case c = add;
  c.name = "a_kernel_nobody_knows";
  const KernelCost cost = cost_of(c);
  EXPECT_EQ(cost.confidence, 0);
  EXPECT_GT(cost.smsp_issue_cycles, 0);
}

TEST(KernelCost, GeometryTellsTheSizeOfElementwiseKernels) {
  Case c = add;
  c.op = c.dims = c.types = "";
  const KernelCost cost = cost_of(c);
  EXPECT_EQ(cost.confidence, 0.5);
  EXPECT_DOUBLE_EQ(cost.smsp_issue_cycles, cost_of(add).smsp_issue_cycles);
}

// A node of a CUDA graph: tile and engine from the name, size unknown.
TEST(KernelCost, KernelsWithoutShapesDoWhatTheirKindDoesForSoLong) {
  Case c = product_case;
  c.op = c.dims = c.types = "";
  const KernelCost cost = cost_of(c);
  OpTensors tensors;
  const KernelLaunch l = launch_of(c, tensors);
  const CostRow* row = constants().row(l.traits, l.math);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(cost.confidence, 0.25);
  EXPECT_DOUBLE_EQ(cost.smsp_issue_cycles, row->rate_issue * cost.smsp_active_cycles);
  // 1.3 times its median rate for large tiles, less what the first 14 us bring.
  EXPECT_DOUBLE_EQ(cost.tc_active_cycles,
                   1.3 * row->rate_tensor * c.us / (c.us + 14) * cost.smsp_active_cycles);
  // Warp-group instructions of 64 x 128 x 16 by four warps: 128 / 2 cycles each.
  EXPECT_DOUBLE_EQ(cost.tc_issue_cycles, cost.tc_active_cycles / 64);
  EXPECT_DOUBLE_EQ(cost.dram_read_sectors,
                   row->rate_dram_reads * gpu().dram_read_gbps * 1e3 * c.us / 32);
  c.us *= 2;  // twice as long: about twice as much, less the launch
  EXPECT_NEAR(cost_of(c).smsp_issue_cycles, 2 * cost.smsp_issue_cycles,
              0.02 * cost.smsp_issue_cycles);
}

TEST(KernelCost, KindsThatWereNotMeasuredHaveTheLeastConfidence) {
  Case c = add;
  c.name = "loop_add_fusion";
  c.op = c.dims = c.types = "";
  const KernelCost cost = cost_of(c);
  EXPECT_EQ(cost.confidence, 0.1);
  EXPECT_GT(cost.smsp_issue_cycles, 0);
  EXPECT_GT(cost.dram_read_sectors, 0);
}

TEST(CostConstants, AssumedRowsHaveRatesAndNoPrices) {
  int assumed = 0;
  for (const CostRow& row : constants().rows()) {
    if (row.origin != assumed_origin) continue;
    ++assumed;
    EXPECT_GT(row.rate_issue, 0) << row.kind;
    EXPECT_EQ(row.per_warp + row.per_element + row.per_multiply, 0) << row.kind;
  }
  EXPECT_GT(assumed, 0);
}

TEST(CostCache, GivesWhatKernelCostGives) {
  OpTensors tensors;
  KernelLaunch l = launch_of(add, tensors);
  CostCache cache(gpu(), constants());
  for (const double us : {22.9, 30.0}) {
    l.duration_us = us;
    const KernelCost direct = kernel_cost(gpu(), l, constants());
    const KernelCost cached = cache.cost(3, l);
    EXPECT_EQ(direct.smsp_issue_cycles, cached.smsp_issue_cycles);
    EXPECT_EQ(direct.smsp_active_cycles, cached.smsp_active_cycles);
    EXPECT_EQ(direct.dram_write_sectors, cached.dram_write_sectors);
  }
}

TEST(CostConstants, BadFilesAreErrors) {
  const std::string path = testing::TempDir() + "/costs.json";
  std::ofstream(path) << R"({"schema": "tandem.kernels/1", "general": {}, "kinds": []})";
  EXPECT_THROW(CostConstants::load(path), InputError);
  std::ofstream(path) << R"({"schema": "other", "general": {}, "kinds": []})";
  EXPECT_THROW(CostConstants::load(path), InputError);
}

TEST(CostConstants, RowsNameKnownKinds) {
  ASSERT_GT(constants().rows().size(), 50U);
  for (const CostRow& row : constants().rows()) {
    bool known = row.kind.starts_with("functor ");
    for (const FusedRow& f : fused_rows()) known |= row.kind == "fused " + std::string(f.name);
    for (const KindRow& k : kind_rows()) known |= k.key == row.kind;
    EXPECT_TRUE(known) << row.kind;
  }
}

// 8192 rows of 768, a warp and 1024 places each: the same kernel with a GELU executes the price of
// one more in each of the 8192 x 32 warp-wide places.
TEST(KernelCost, GeneratedKernelsDoWhatTheirNamesFuse) {
  const auto cost = [](const char* name) {
    return cost_of({name,
                    "Torch-Compiled Region",
                    "[[8192,768],[8192,768]]",
                    R"(["c10::Half","c10::Half"])",
                    {8192, 1, 1},
                    32,
                    1000});
  };
  const KernelCost without = cost("triton_per_fused_native_layer_norm_0");
  const KernelCost with = cost("triton_per_fused_gelu_native_layer_norm_0");
  const double plain = without.smsp_issue_cycles, gelu = with.smsp_issue_cycles;
  const KernelTraits t = classify("triton_per_fused_gelu_native_layer_norm_0").traits;
  EXPECT_GT(constants().fused(t).instructions, 20);
  EXPECT_NEAR(gelu - plain, constants().fused(t).instructions * 8192 * 32, 0.02 * gelu);
  // The error function uses the tensor pipe, two cycles at a time.
  EXPECT_GT(constants().fused(t).tensor, 3);
  EXPECT_NEAR(with.tc_issue_cycles - without.tc_issue_cycles,
              constants().fused(t).tensor * 8192 * 32, 1);
  EXPECT_NEAR(with.tc_active_cycles - without.tc_active_cycles,
              2 * constants().fused(t).tensor * 8192 * 32, 1);
}

TEST(CostConstants, WarpGroupsHavePricesOfTheirOwn) {
  const KernelTraits groups =
      classify(
          "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_7_64x128x64_"
          "4x1x1_cga1x1x1_kernel0_0")
          .traits;
  KernelTraits warps = groups;
  warps.engine = Engine::hmma;
  ASSERT_EQ(groups.engine, Engine::gmma);
  EXPECT_EQ(constants().row(groups, DataType::fp16)->engine, "gmma");
  EXPECT_EQ(constants().row(warps, DataType::fp16)->engine, "");
}

TEST(WarmL2, RecentTensorsHitAndOldOnesAreWrittenBack) {
  WarmL2 l2(100);
  l2.write(1, 60);
  EXPECT_EQ(l2.read(1, 60), 0);
  EXPECT_EQ(l2.take_written_back(), 0);
  EXPECT_EQ(l2.read(2, 80), 80);  // evicts 40 bytes of tensor 1
  EXPECT_EQ(l2.take_written_back(), 40);
  l2.next_kernel();
  // Reading the missing 40 bytes pushes out the 20 that are left, which are dirty.
  EXPECT_EQ(l2.read(1, 60), 60);
  EXPECT_EQ(l2.take_written_back(), 20);
}

TEST(WarmL2, OperandsOfEqualSizeAreDifferentTensors) {
  WarmL2 l2(100);
  l2.write(1, 30);
  l2.next_kernel();
  EXPECT_EQ(l2.read(1, 30), 0);   // the one written
  EXPECT_EQ(l2.read(1, 30), 30);  // another one, not in L2
  l2.next_kernel();
  EXPECT_EQ(l2.read(1, 30), 0);
  EXPECT_EQ(l2.read(1, 30), 0);
  EXPECT_EQ(l2.take_written_back(), 0);
}

// Two parameters of one size: what the update of one has left is not the other's.
TEST(WarmL2, UpdatesHaveTensorsOfTheirOwn) {
  WarmL2 l2(100);
  l2.write(1, 10);  // a gradient
  l2.next_kernel(true);
  EXPECT_EQ(l2.read(1, 10), 0);
  EXPECT_EQ(l2.read(1, 10), 10);  // its parameter
  l2.write_in_place(1, 10);
  l2.next_kernel(true);
  EXPECT_EQ(l2.read(1, 10), 10);
  EXPECT_EQ(l2.read(1, 10), 10);
  l2.next_kernel();  // which reads a parameter that was updated
  EXPECT_EQ(l2.read(1, 10), 0);
}

// Three tensors of 30 that a kernel reads and writes, beside one that it only reads: 3 x 30 bytes
// come back once others push them out.
TEST(WarmL2, EveryTensorThatIsWrittenInPlaceIsWrittenBack) {
  WarmL2 l2(200);
  l2.next_kernel(true);
  for (int t = 0; t < 4; ++t) EXPECT_EQ(l2.read(1, 30), 30);
  for (int t = 0; t < 3; ++t) l2.write_in_place(1, 30);
  EXPECT_EQ(l2.take_written_back(), 0);
  l2.next_kernel();
  EXPECT_EQ(l2.read(2, 200), 200);
  EXPECT_EQ(l2.take_written_back(), 90);
}

TEST(WarmL2, WhatDoesNotFitIsWrittenOnItsWay) {
  WarmL2 l2(100);
  l2.next_kernel();
  EXPECT_EQ(l2.read(1, 250), 250);
  l2.write_in_place(1, 250);
  EXPECT_EQ(l2.take_written_back(), 150);
}

TEST(WarmL2, NeverReadsMoreThanColdCaches) {
  OpTensors tensors;
  const KernelLaunch l = launch_of(add, tensors);
  const KernelCost cold = kernel_cost(gpu(), l, constants());
  std::vector<KernelLaunch> launches(3, l);
  std::vector<KernelCost> costs(3, cold);
  apply_warm_l2(gpu(), launches, costs);
  for (const KernelCost& c : costs) EXPECT_LE(c.dram_read_sectors, cold.dram_read_sectors);
}

// Lines that a short kernel evicts are written back during the next one: none are lost.
TEST(WarmL2, WriteBacksTakeTheTimeThatTheDramNeeds) {
  OpTensors tensors;
  const KernelLaunch l = launch_of(add, tensors);
  KernelCost cost = kernel_cost(gpu(), l, constants());
  std::vector<KernelLaunch> launches(40, l);
  std::vector<KernelCost> slow(40, cost);
  for (KernelCost& c : slow) c.time_us = 1e4;
  std::vector<KernelCost> uneven = slow;
  for (std::size_t i = 0; i + 1 < uneven.size(); ++i) uneven[i].time_us = 0.01;
  apply_warm_l2(gpu(), launches, slow);
  apply_warm_l2(gpu(), launches, uneven);
  double whole = 0;
  double carried = 0;
  for (std::size_t i = 0; i < slow.size(); ++i) {
    whole += slow[i].dram_write_sectors;
    carried += uneven[i].dram_write_sectors;
    const double most = gpu().dram_peak_gbps * 1e3 * uneven[i].time_us / 32;
    EXPECT_LE(uneven[i].dram_read_sectors + uneven[i].dram_write_sectors, 1.0001 * most);
  }
  EXPECT_GT(whole, 0);
  EXPECT_NEAR(carried / whole, 1, 1e-9);
}

}  // namespace
}  // namespace tandem
