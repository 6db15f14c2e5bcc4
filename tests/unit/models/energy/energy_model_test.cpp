#include "models/energy/energy_model.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem {
namespace {

TraceEnergyModel model() {
  TraceEnergyModel m;
  m.static_w = 100;
  m.sm_active_w = 2;  // a GPU of 100 SMs
  m.dram_pj_per_byte = 80;
  m.tensor_pj_per_flop = 1;
  m.fp32_pj_per_flop = 7;
  m.instruction_pj = 50;
  m.power_limit_w = 700;
  m.origins.resize(8);
  for (std::size_t i = 0; i < TraceEnergyModel::fitted; ++i) {
    m.origins[i].uncertainty = 0.1;
    m.correlation[i][i] = 1;
  }
  m.model_error = 0.05;
  m.estimate_error = 0.2;
  return m;
}

EnergyWork work(double begin_us, double us) {
  return {.begin_us = begin_us,
          .duration_us = us,
          .sm_active_us = 50 * us,
          .dram_bytes = 1e6 * us,
          .tensor_flop = 5e7 * us,
          .fp32_flop = 1e6 * us,
          .instructions = 1e5 * us};
}

TEST(EnergyModel, PartsByHand) {
  const EnergyWork works[] = {work(0, 100)};
  const StepEnergy e = trace_energy(model(), works, 1000);
  EXPECT_NEAR(e.parts.static_j, 0.1, 1e-12);
  EXPECT_NEAR(e.parts.other_j, 0.01, 1e-12);
  EXPECT_NEAR(e.parts.dram_j, 8e-3, 1e-12);
  EXPECT_NEAR(e.parts.tensor_j, 5e-3, 1e-12);
  EXPECT_NEAR(e.parts.compute_j, 0.7e-3, 1e-12);
  EXPECT_NEAR(e.parts.instructions_j, 0.5e-3, 1e-12);
  EXPECT_NEAR(e.energy_j, total_j(e.parts), 1e-15);
  EXPECT_NEAR(e.average_power_w, e.energy_j / 1e-3, 1e-9);
}

TEST(EnergyModel, AnIdleGapCostsStaticPowerOnly) {
  const EnergyWork works[] = {work(0, 100)};
  const double joule =
      trace_energy(model(), works, 2000).energy_j - trace_energy(model(), works, 1000).energy_j;
  EXPECT_NEAR(joule, 100 * 1e-3, 1e-12);
}

TEST(EnergyModel, NothingRunsNothingPasses) {
  const StepEnergy idle = trace_energy(model(), {}, 500);
  EXPECT_NEAR(idle.average_power_w, 100, 1e-9);
  EXPECT_EQ(idle.estimated_share, 0);
  const StepEnergy none = trace_energy(model(), {}, 0);
  EXPECT_EQ(none.energy_j, 0);
  EXPECT_EQ(none.average_power_w, 0);
  EXPECT_EQ(none.error_j, 0);
}

TEST(EnergyModel, TheAverageKeepsThePowerLimit) {
  EnergyWork heavy = work(0, 1000);
  heavy.tensor_flop *= 100;
  const EnergyWork works[] = {heavy};
  const StepEnergy e = trace_energy(model(), works, 1000);
  EXPECT_NEAR(e.average_power_w, 700, 1e-9);
  EXPECT_NEAR(e.parts.static_j, 0.1, 1e-12);
  // 600 W above static power are left of what the model gives; the rest is told.
  const double asked = total_j(work_energy(model(), heavy));
  EXPECT_NEAR(e.cut_share, 1 - 0.6 / asked, 1e-12);
  EXPECT_EQ(trace_energy(model(), {}, 1000).cut_share, 0);
  EXPECT_NEAR(total_j(e.parts), e.energy_j, 1e-12);
}

TEST(EnergyModel, ErrorJoinsConstantsAndModel) {
  EnergyWork w = work(0, 100);
  const EnergyWork known[] = {w};
  w.estimated = true;
  const EnergyWork guessed[] = {w};
  const StepEnergy a = trace_energy(model(), known, 1000);
  const StepEnergy b = trace_energy(model(), guessed, 1000);
  EXPECT_EQ(a.estimated_share, 0);
  EXPECT_EQ(b.estimated_share, 1);
  EXPECT_GT(b.error_j, 0.2 * b.energy_j);
  EXPECT_GT(a.error_j, 0.05 * a.energy_j);
  EXPECT_LT(a.error_j, b.error_j);

  TraceEnergyModel together = model();
  for (auto& row : together.correlation) row.fill(1);
  EXPECT_GT(trace_energy(together, known, 1000).error_j, a.error_j);
  EXPECT_NEAR(trace_energy(together, known, 1000).error_j,
              a.energy_j * std::sqrt(0.1 * 0.1 + 0.05 * 0.05), 1e-9);
}

double integral(const std::vector<PowerPoint>& points, double step_us) {
  double joule = 0;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const double end = i + 1 < points.size() ? points[i + 1].time_us : step_us;
    joule += points[i].power_w * (end - points[i].time_us) * 1e-6;
  }
  return joule;
}

TEST(EnergyModel, PowerOverTimeIntegratesToTheEnergy) {
  const EnergyWork works[] = {work(10, 100), work(60, 100), work(300, 1), work(300, 0)};
  const auto points = power_over_time(model(), works, 1000);
  EXPECT_NEAR(integral(points, 1000), trace_energy(model(), works, 1000).energy_j, 1e-12);
  EXPECT_EQ(points.front().time_us, 0);
  EXPECT_NEAR(points.back().power_w, 100, 1e-9);
  for (std::size_t i = 1; i < points.size(); ++i) {
    EXPECT_GT(points[i].time_us, points[i - 1].time_us);
    EXPECT_GE(points[i].power_w, 100 - 1e-9);
  }
}

TEST(EnergyModel, PowerOverTimeClipsToTheStep) {
  const EnergyWork works[] = {work(-50, 100), work(950, 100), work(2000, 10)};
  const auto points = power_over_time(model(), works, 1000);
  const EnergyWork inside[] = {work(0, 100)};
  EXPECT_NEAR(integral(points, 1000), trace_energy(model(), inside, 1000).energy_j, 1e-12);
}

// Constants of the thesis: 82.1, 107, 368 and 2090 pJ per access.
AccessEnergies thesis() {
  AccessEnergies e{82.1, 107, 368, 2090, 55, {}};
  e.origins.resize(5);
  e.origins[0].uncertainty = 0.1;
  return e;
}

TEST(DataMovement, MatrixProductOfTheThesis) {
  // 4096^3 / 32 warp-wide multiply-adds, two wavefronts of shared memory each.
  const double wavefronts = 4096.0 * 4096 * 4096 / 32 * 2;
  const DataMovement m = data_movement_lower_bound(thesis(), accesses_served(0, 0, 0, wavefronts));
  EXPECT_NEAR(m.total_j, 1.41, 0.005);
  EXPECT_NEAR(m.error_j, 0.141, 0.001);
}

TEST(DataMovement, AMissCountsWhereTheDataAre) {
  const MemoryAccesses a = accesses_served(1000, 300, 100, 10);
  EXPECT_EQ(a.l1, 700);
  EXPECT_EQ(a.l2, 200);
  EXPECT_EQ(a.dram, 100);
  EXPECT_EQ(a.shared, 40);
  const MemoryAccesses writes = accesses_served(0, 300, 500, 0);
  EXPECT_EQ(writes.l1, 0);
  EXPECT_EQ(writes.l2, 0);
  EXPECT_EQ(writes.dram, 500);
}

TEST(DataMovement, SplittingLevelsKeepsTheTotal) {
  const EnergyWork works[] = {work(0, 100)};
  const StepEnergy e = trace_energy(model(), works, 1000);
  for (const double scale : {0.0, 1e3, 1e6, 1e12}) {
    EnergyBreakdown parts = e.parts;
    split_levels(parts, data_movement_lower_bound(thesis(), {scale, scale, scale, scale}));
    EXPECT_NEAR(total_j(parts), e.energy_j, 1e-12);
    EXPECT_GE(parts.other_j, 0);
    EXPECT_GE(parts.dram_j, 0);
    EXPECT_EQ(parts.static_j, e.parts.static_j);
    if (scale == 1e3 || scale == 1e6) {
      EXPECT_NEAR(parts.l2_j / (parts.l2_j + parts.dram_j), 368.0 / (368 + 2090), 1e-9);
    }
  }
}

// 8 mJ of DRAM, of which 8 x 368 / 2458 = 1.198 mJ are the way through L2; 5e6 sectors of L2 cost
// at least 1.84 mJ, and what lacks comes out of the 10 mJ of active SMs. DRAM: 6.802 mJ, 10.45 at
// least.
TEST(DataMovement, LevelsHaveAtLeastTheirBounds) {
  const EnergyWork works[] = {work(0, 100)};
  EnergyBreakdown parts = trace_energy(model(), works, 1000).parts;
  split_levels(parts, data_movement_lower_bound(thesis(), {0, 0, 5e6, 5e6}));
  EXPECT_NEAR(parts.l2_j, 1.84e-3, 1e-9);
  EXPECT_NEAR(parts.dram_j, 10.45e-3, 1e-9);
  EXPECT_NEAR(parts.other_j, 10e-3 - (1.84e-3 + 10.45e-3 - 8e-3), 1e-9);
}

// 21 mJ of L1 and shared memory: the 10 mJ of active SMs do not hold them, tensor cores, products
// and instructions give the rest in proportion.
TEST(DataMovement, NearMemoryIsInTheEnergyOfInstructionsToo) {
  EnergyBreakdown parts;
  parts.other_j = 10e-3;
  parts.tensor_j = 20e-3;
  parts.instructions_j = 2e-3;
  DataMovement movement;
  movement.l1_j = 7e-3;
  movement.shared_j = 14e-3;
  split_levels(parts, movement);
  EXPECT_NEAR(parts.l1_j, 7e-3, 1e-12);
  EXPECT_NEAR(parts.shared_j, 14e-3, 1e-12);
  EXPECT_EQ(parts.other_j, 0);
  EXPECT_NEAR(parts.tensor_j, 10e-3, 1e-12);
  EXPECT_NEAR(parts.instructions_j, 1e-3, 1e-12);
}

}  // namespace
}  // namespace tandem
