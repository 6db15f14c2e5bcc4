#include "models/energy/power_limit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "models/arch/gpu_config.h"
#include "models/energy/energy_config.h"
#include "sim/core/text/csv_rows.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string root = source_dir();

TEST(PowerLimit, WithinTheLimitNothingChanges) {
  const LimitedPower p = limit_power({100, 1000, 500, 0.2, 0.1}, 400, {2.78, 0});
  EXPECT_EQ(p.clock_share, 1);
  EXPECT_EQ(p.time_us, 1500);
  EXPECT_NEAR(p.power_w, 100 + 0.3 / 1500e-6, 1e-9);  // 300 W
  EXPECT_EQ(p.power_limited_share, 0);
}

TEST(PowerLimit, NoLimitAndNoTime) {
  EXPECT_EQ(limit_power({100, 1000, 0, 5, 0}, 0, {2, 0}).clock_share, 1);
  EXPECT_EQ(limit_power({}, 400, {2, 0}).power_w, 0);
}

TEST(PowerLimit, CubeRootWhereAllIsOnTheSms) {
  // Energy c^2, time 1 / c: dynamic power c^3. 800 W of it shall be 300 - 200: c^3 = 1 / 8.
  const LimitedPower p = limit_power({200, 1000, 0, 0.8, 0}, 300, {2, 0});
  EXPECT_NEAR(p.clock_share, 0.5, 1e-6);
  EXPECT_NEAR(p.time_us, 2000, 0.01);
  EXPECT_NEAR(p.power_w, 300, 1e-3);
  EXPECT_NEAR(p.power_limited_share, 0.5, 1e-6);
}

// Memory limits the time, and SMs that wait draw power by the clock alone beside their voltage:
// (1 / 2)^2 of the energy and half of the power are an eighth of 800 W.
TEST(PowerLimit, SmsThatWaitDrawLessByTheClockItself) {
  const LimitedPower p = limit_power({200, 0, 1000, 0, 0, 0.8}, 300, {2, 0});
  EXPECT_NEAR(p.clock_share, 0.5, 1e-6);
  EXPECT_NEAR(p.time_us, 1000, 1e-9);
  EXPECT_NEAR(p.power_w, 300, 1e-3);
}

TEST(PowerLimit, HoldsTheLimitAndGrowsWithIt) {
  const PowerDemand demand{120, 700, 300, 0.9, 0.2};
  double before = 0;
  int cases = 0;
  for (double limit = 330; limit < 1300; limit += 50, ++cases) {
    const LimitedPower p = limit_power(demand, limit, {2.78, 0});
    EXPECT_LE(p.power_w, limit * (1 + 1e-9));
    EXPECT_GE(p.clock_share, before);
    EXPECT_LE(p.clock_share, 1);
    before = p.clock_share;
  }
  EXPECT_GT(cases, 10);
  EXPECT_EQ(before, 1);
}

TEST(PowerLimit, MemoryAloneCannotBeSlowedDown) {
  const LimitedPower p = limit_power({100, 0, 1000, 0, 1}, 300, {2, 0});
  EXPECT_NEAR(p.clock_share, 0.1, 1e-6);
  EXPECT_NEAR(p.power_w, 1100, 1e-6);
  EXPECT_EQ(p.power_limited_share, 0);
}

TEST(PowerLimit, EnergyAtALowerClock) {
  TraceEnergyModel model;
  model.static_w = 100, model.sm_active_w = 1, model.dram_pj_per_byte = 10;
  model.tensor_pj_per_flop = 1, model.fp32_pj_per_flop = 8, model.instruction_pj = 40;
  const TraceEnergyModel half = at_clock(model, 0.5, {2, 0});
  EXPECT_EQ(half.static_w, 100);
  EXPECT_EQ(half.dram_pj_per_byte, 10);
  EXPECT_DOUBLE_EQ(half.fp32_pj_per_flop, 2);  // energy goes with the square: / 4
  EXPECT_DOUBLE_EQ(half.tensor_pj_per_flop, 0.25);
  EXPECT_DOUBLE_EQ(half.instruction_pj, 10);
  EXPECT_DOUBLE_EQ(half.sm_active_w, 0.125);  // power with the cube: / 8
  // A kernel on one SM that takes 10 us at the full clock and 20 us at half of it.
  EnergyWork work;
  work.duration_us = work.sm_active_us = 10, work.fp32_flop = 1e9;
  const double full_j = total_j(work_energy(model, work));  // 10e-6 + 8e-3
  work.duration_us = work.sm_active_us = 20;
  const double half_j = total_j(work_energy(half, work));  // 2.5e-6 + 2e-3
  EXPECT_NEAR(full_j, 8.01e-3, 1e-9);
  EXPECT_NEAR(half_j, full_j / 4, 1e-9);
}

// A quarter of the energy at half the clock, and no less below: voltage does not fall any further.
TEST(PowerLimit, EnergyStaysBelowTheFloorOfTheVoltage) {
  const ClockEnergy law{2, 0.5};
  EXPECT_EQ(law.factor(1), 1);
  EXPECT_EQ(law.factor(0.5), 0.25);
  EXPECT_EQ(law.factor(0.1), 0.25);
  // A chip whose clock is locked at three quarters: two thirds of that are half of its own.
  const ClockEnergy locked = law.of_clock(0.75);
  EXPECT_DOUBLE_EQ(locked.factor(0.1), 0.25 / (0.75 * 0.75));
  // At two fifths the voltage is at its floor already.
  EXPECT_EQ(law.of_clock(0.4).factor(0.5), 1);
}

LimitedPower large_gemm(const std::string& gpu_name, double tflops, double flop, double bytes) {
  const GpuCatalogue gpus = load_catalogue(root + "/configs/gpus");
  const GpuArch& gpu = find_gpu(gpus, gpu_name);
  const EnergyConfig config = find_energy(load_energies(gpus), gpu);
  const WorkRules rules = load_work_rules(root + "/configs/kernels/energy.json");
  EnergyWork work;
  work.duration_us = flop / tflops * 1e-6;
  work.sm_active_us = work.duration_us * gpu.sm_count;
  work.tensor_flop = flop;
  work.dram_bytes = bytes;
  return limit_power(power_demand(config.trace, work, true), config.trace.power_limit_w,
                     rules.clock);
}

// The same GEMM with zeros, which stays below the limit, and with random numbers, which the board
// slows down: our own recording. Nothing here was fitted on it.
TEST(PowerLimit, LargeGemmOnTheMeasuredBoard) {
  int cases = 0;
  for (const char* session : {"session1", "session2"}) {
    double zeros_s = 0, random_s = 0, flop = 0, bytes = 0;
    for (const CsvRow& row : read_csv(root + "/validation/captures/h200_2026-11-20_fit/energy/" +
                                      session + "/library.csv")) {
      if (row.text("operation") == "gemm_fp16_zeros") zeros_s = row.number("seconds");
      if (row.text("operation") != "gemm_fp16") continue;
      random_s = row.number("seconds");
      flop = row.number("flop");
      bytes = row.number("bytes");
    }
    ASSERT_GT(zeros_s, 0);
    const LimitedPower p = large_gemm("h200_sxm", flop / zeros_s * 1e-12, flop, bytes);
    EXPECT_NEAR(p.clock_share, zeros_s / random_s, 0.08) << session;
    EXPECT_NEAR(p.power_w, 700, 1);
    ++cases;
  }
  EXPECT_EQ(cases, 2);
}

// Public A100 measurements: 290 TFLOP/s of 16384 x 12288 x 12288 where the clock holds, 220 to 240
// of random numbers at the 400 W limit. Constants are published micro-benchmarks', none fitted.
TEST(PowerLimit, LargeGemmOnAnA100) {
  const double flop = 2.0 * 16384 * 12288 * 12288;
  const double bytes = 2.0 * (2 * 16384.0 * 12288 + 12288.0 * 12288);
  const LimitedPower p = large_gemm("a100_sxm4_80gb", 290, flop, bytes);
  const double tflops = 290 * p.clock_share;
  EXPECT_GT(tflops, 215);
  EXPECT_LT(tflops, 270);
}

}  // namespace
}  // namespace tandem
