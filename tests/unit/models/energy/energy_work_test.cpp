#include "models/energy/energy_work.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/energy/energy_config.h"
#include "models/kernel/classify/classify.h"
#include "models/step/energy_works.h"
#include "models/step/op_nesting.h"
#include "sim/trace/import.h"
#include "tests/gpus_for_tests.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

using test::gpu;

const WorkRules& rules() {
  static const WorkRules instance = load_work_rules(source_path("configs/kernels/energy.json"));
  return instance;
}

KernelLaunch launch_of(const char* name, double us) {
  KernelLaunch l;
  l.name = name;
  const KernelClass c = classify(name);
  l.family = c.family;
  l.math = c.math;
  l.traits = c.traits;
  l.geometry.grid = {1024, 1, 1};
  l.geometry.block = {256, 1, 1};
  l.duration_us = us;
  return l;
}

KernelLaunch gemm(const char* name, double us) {
  KernelLaunch l = launch_of(name, us);
  l.work.matrix = {.batch = 1, .m = 4096, .n = 4096, .k = 1024};
  l.work.read_bytes = 1e8;
  l.work.exact = true;
  return l;
}

constexpr char fp16_gemm[] = "nvjet_sm90_hsh_256x128_64x4_1x2_h_bz_coopA_NTT";
constexpr char tf32_gemm[] =
    "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x16_stage4_warpsize2x2x1_tensor16x8x8";
constexpr char fp32_gemm[] = "ampere_sgemm_128x64_tn";
constexpr double flop = 2.0 * 4096 * 4096 * 1024;

TEST(EnergyWork, FlopGoToTheirUnit) {
  const EnergyWork half = energy_work(gemm(fp16_gemm, 200), {}, gpu(), rules(), 200);
  EXPECT_DOUBLE_EQ(half.tensor_flop, flop);
  EXPECT_EQ(half.fp32_flop, 0);
  const EnergyWork tf32 = energy_work(gemm(tf32_gemm, 500), {}, gpu(), rules(), 500);
  EXPECT_DOUBLE_EQ(tf32.tensor_flop, 2 * flop);  // operands twice as wide
  const EnergyWork single = energy_work(gemm(fp32_gemm, 2000), {}, gpu(), rules(), 2000);
  EXPECT_DOUBLE_EQ(single.fp32_flop, flop);
  EXPECT_EQ(single.tensor_flop, 0);
  EXPECT_FALSE(single.estimated);
}

// A warp instruction keeps its SM awake for so many cycles: 10^6 of them, in 10 ms of all SMs, for
// 10^6 x cycles / clock. Kernels that issue often, or whose instructions are not counted, and
// products keep their SMs awake for as long as they hold them.
TEST(EnergyWork, SmsWhoseWarpsAllWaitStopTheirClocks) {
  const auto active = [&](double issued, const char* name = "triton_poi_fused_add_0") {
    KernelCost cost;
    cost.smsp_issue_cycles = issued;
    return energy_work(launch_of(name, 10000), cost, gpu(), rules(), 10000).sm_active_us;
  };
  EXPECT_DOUBLE_EQ(active(1e6), 1e6 * rules().awake_cycles / gpu().boost_clock_mhz);
  EXPECT_DOUBLE_EQ(active(1e10), active(0));
  EXPECT_DOUBLE_EQ(active(1e6, fp32_gemm), active(0));
  EXPECT_NEAR(active(0), 10000.0 * gpu().sm_count, 10.0 * gpu().sm_count);
}

TEST(EnergyWork, NothingExceedsThePeaks) {
  for (const char* name : {fp16_gemm, tf32_gemm, fp32_gemm, "no_such_kernel"}) {
    for (const bool exact : {false, true}) {
      for (const double us : {0.0, 0.5, 3.0, 50.0, 1e6}) {
        KernelLaunch l = gemm(name, us);
        l.work.exact = exact;
        l.work.matrix.batch = 1'000'000;
        l.work.read_bytes = 1e15;
        const EnergyWork w = energy_work(l, {}, gpu(), rules(), us);
        EXPECT_LE(w.tensor_flop, 1.0e15 * us * 1e-6) << name;
        EXPECT_LE(w.fp32_flop, 0.7e14 * us * 1e-6) << name;
        EXPECT_LE(w.dram_bytes, 4.8e12 * us * 1e-6) << name;
        EXPECT_LE(w.sm_active_us, us * gpu().sm_count) << name;
        EXPECT_GE(w.sm_active_us, 0) << name;
      }
    }
  }
}

TEST(EnergyWork, UnknownShapesFallBackToTheClass) {
  KernelLaunch l = gemm(fp16_gemm, 200);
  l.work = {};
  const EnergyWork w = energy_work(l, {}, gpu(), rules(), 200);
  EXPECT_TRUE(w.estimated);
  EXPECT_GT(w.tensor_flop, 0.2 * 9e14 * 200e-6);
  EXPECT_GT(w.dram_bytes, 0);
  // Where tensor cores are known to have issued: 64 x 128 x 16 / 4 multiply-adds an instruction.
  KernelCost cost;
  cost.tc_issue_cycles = 1e6;
  EXPECT_DOUBLE_EQ(energy_work(l, cost, gpu(), rules(), 200).tensor_flop, 2e6 * 64 * 128 * 16 / 4);
}

TEST(EnergyWork, AnotherGpuWithoutTheTypeStillHasAPeak) {
  const EnergyWork w = energy_work(gemm(tf32_gemm, 500), {}, gpu("v100_sxm2_16gb"), rules(), 500);
  EXPECT_GT(w.tensor_flop, 0);
}

TEST(EnergyWork, HelpersOfMatrixKernelsMultiplyNothing) {
  KernelLaunch l = gemm("void cublasLt::splitKreduce_kernel<32, 16, int, float, __half>", 3);
  const EnergyWork w = energy_work(l, {}, gpu(), rules(), 3);
  EXPECT_EQ(w.tensor_flop + w.fp32_flop, 0);
}

TEST(EnergyWork, DirectConvolutionsExecuteMoreThanTheirFlop) {
  KernelLaunch l =
      gemm("void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>",
           100);
  l.work.matrix = {.batch = 1, .m = 1, .n = 1, .k = 1};
  const EnergyWork w = energy_work(l, {}, gpu(), rules(), 100);
  EXPECT_GT(w.fp32_flop, 0.25 * 6.6e13 * 99e-6);
}

TEST(EnergyWork, CopiesInsideTheDeviceReadAndWrite) {
  KernelLaunch l = launch_of("Memcpy DtoD (Device -> Device)", 1000);
  const double inside = energy_work(l, {}, gpu(), rules(), 1000, 1e9).dram_bytes;
  l.name = "Memcpy HtoD (Pinned -> Device)";
  const double from_host = energy_work(l, {}, gpu(), rules(), 1000, 1e9).dram_bytes;
  EXPECT_NEAR(inside / from_host, 2, 0.1);
  EXPECT_EQ(energy_work(l, {}, gpu(), rules(), 1000, 1e9).sm_active_us, 0);
}

TEST(EnergyWork, SmallOperandsStayInL2) {
  const double l2 = static_cast<double>(gpu().l2_bytes);
  EXPECT_LT(dram_bytes(1e6, gpu(), rules(), 1e6), 0.05 * 1e6);
  EXPECT_NEAR(dram_bytes(l2 / 2, gpu(), rules(), 1e6), l2 / 4, 1);
  EXPECT_GT(dram_bytes(1e10, gpu(), rules(), 1e6), 0.99e10);
  EXPECT_EQ(dram_bytes(0, gpu(), rules(), 1e6), 0);
}

TEST(TimeShared, DisjointSpansKeepTheirTime) {
  const WorkSpan spans[] = {{0, 10, 1}, {10, 5, 1}, {20, 1, 0.5}};
  EXPECT_EQ(time_shared(spans), (std::vector<double>{10, 5, 1}));
}

TEST(TimeShared, FullOverlapTakesTurns) {
  const WorkSpan spans[] = {{0, 10, 1}, {0, 10, 1}, {100, 10, 0.4}, {100, 10, 0.5}};
  EXPECT_EQ(time_shared(spans), (std::vector<double>{5, 5, 10, 10}));
}

TEST(TimeShared, PartialOverlap) {
  const WorkSpan spans[] = {{0, 10, 1}, {5, 10, 1}, {0, 0, 1}};
  EXPECT_EQ(time_shared(spans), (std::vector<double>{7.5, 7.5, 0}));
  EXPECT_TRUE(time_shared({}).empty());
}

// 5e6 instructions, of which 1e6 go to the tensor cores; without them 4096 x 4096 x 1024 FMA are
// 2^34 / 32 = 536.9e6 warp instructions.
TEST(EnergyWork, InstructionsThatMultiplyCountAsFlop) {
  KernelCost cost;
  cost.smsp_issue_cycles = 5e6;
  cost.tc_issue_cycles = 1e6;
  EXPECT_DOUBLE_EQ(energy_work(gemm(fp16_gemm, 200), cost, gpu(), rules(), 200).instructions, 4e6);
  cost.tc_issue_cycles = 0;
  cost.smsp_issue_cycles = 600e6;
  const EnergyWork single = energy_work(gemm(fp32_gemm, 2000), cost, gpu(), rules(), 2000);
  EXPECT_NEAR(single.instructions, 63.1e6, 0.1e6);
  cost.smsp_issue_cycles = 1;  // fewer than the FLOP need: not negative
  EXPECT_EQ(energy_work(gemm(fp32_gemm, 2000), cost, gpu(), rules(), 2000).instructions, 0);
}

// FP32 attention splits each product into three of TF32 operands, which count twice: 6 x.
TEST(EnergyWork, AttentionOfFp32MultipliesThreeTimes) {
  KernelLaunch l = launch_of("fmha_cutlassF_f32_aligned_64x64_rf_sm80(Params)", 1000);
  l.work.matrix = {.batch = 384, .m = 128, .n = 128, .k = 64};
  l.work.exact = true;
  EXPECT_DOUBLE_EQ(energy_work(l, {}, gpu(), rules(), 1000).tensor_flop,
                   6 * 2.0 * 384 * 128 * 128 * 64);
}

// The grid of a kernel of many tensors states its traffic: 1e6 sectors of 32 bytes are 32 MB, of
// which 32 / (32 + 31.5) come from DRAM with half of a 62.9 MB L2.
TEST(EnergyWork, ManyTensorsMoveWhatTheirGridStates) {
  KernelLaunch l = launch_of(
      "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<TensorListMetadata<1>>",
      50);
  ASSERT_EQ(kind_name(l.traits), "multi_tensor");
  KernelCost cost;
  cost.dram_read_sectors = 6e5;
  cost.dram_write_sectors = 4e5;
  const EnergyWork w = energy_work(l, cost, gpu(), rules(), 50);
  const double half_l2 = 0.5 * static_cast<double>(gpu().l2_bytes);
  EXPECT_NEAR(w.dram_bytes, 32e6 * 32e6 / (32e6 + half_l2), 1);
  EXPECT_FALSE(w.estimated);
}

// A whole step of a committed capture: finite, and near the measured power.
TEST(EnergyWork, StepOfACapture) {
  const std::string stem = source_path(
      "validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst");
  const Trace trace = import_trace(stem);
  const Links links = link_trace(trace);
  const OpNesting ops = nest_ops(trace, links);
  const TraceLaunches launches(trace, links, ops.of_call);
  const auto rows = activities_of_step(trace, links, links.steps.at(0));
  const CostConstants costs = CostConstants::load(source_path("configs/kernels/costs.json"));
  const auto works =
      energy_works(trace, launches, gpu(), costs, rules(), rows, links.steps.at(0).begin);
  EXPECT_GT(works.size(), 500U);
  const EnergyConfig config = load_energy(source_path("configs/gpus/h200_sxm.json")).value();
  const double window_us = 19'730;  // energy_window_s over its 73 iterations
  EXPECT_NEAR(trace_energy(config.trace, works, window_us).average_power_w, 296, 0.15 * 296);
}

// A board without constants of its own has those of its base, at the base's clock (1530 MHz, its
// own is 1380).
TEST(EnergyConfig, SaysAtWhichClockItsConstantsHold) {
  const auto of = [](const char* gpu) {
    return load_energy(source_path(std::string("configs/gpus/") + gpu + ".json")).value();
  };
  EXPECT_EQ(of("v100_sxm2_16gb").clock_mhz, 1530);
  EXPECT_FALSE(of("v100_sxm2_16gb").of_base);
  EXPECT_EQ(of("v100_pcie_16gb").clock_mhz, 1530);
  EXPECT_TRUE(of("v100_pcie_16gb").of_base);
}

}  // namespace
}  // namespace tandem
