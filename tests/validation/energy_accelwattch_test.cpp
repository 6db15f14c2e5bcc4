// AccelWattch's measured kernels, each program predicted from the others (validation/fits/energy).
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "sim/core/error.h"
#include "validation/fits/energy/accelwattch.h"

namespace tandem {
namespace {

/// Energies per access of thesis section 5.6.3.
PowerFit thesis() {
  PowerFit fit;
  fit.priors.shared_pj_per_sector = 82.1;
  fit.priors.l1_pj_per_sector = 107;
  fit.priors.l2_pj_per_sector = 368;
  fit.priors.dram_pj_per_sector = 2090;
  return fit;
}

/// Kernels that obey constants exactly: 60 W, 50 W of SMs, 90 W of duty and the thesis' energies.
std::vector<MeasuredKernel> made_up() {
  std::vector<MeasuredKernel> kernels;
  for (int i = 0; i < 12; ++i) {
    MeasuredKernel k;
    k.program = std::to_string(i / 2);
    k.name = std::to_string(i);
    k.seconds = 1e-3;
    k.sm_share = 0.3 + 0.05 * (i % 7);
    k.duty = 0.1 * (i % 5);
    k.accesses = {1e7 * (i % 3), 2e7 * (i % 4), 1e7 * ((i + 1) % 4), 5e6 * ((i + 2) % 3)};
    k.power_w = predicted_w({60, 50, 90, 2090, 368, 107, 82.1}, k);
    kernels.push_back(k);
  }
  return kernels;
}

// 1 ms, half of the SMs, duty 0.2, 1e6 DRAM sectors: 60 + 25 + 18 + 1e6 * 2090e-12 J / 1e-3 s.
TEST(AccelWattch, PowerOfAKernel) {
  MeasuredKernel k;
  k.seconds = 1e-3;
  k.sm_share = 0.5;
  k.duty = 0.2;
  k.accesses.dram = 1e6;
  EXPECT_NEAR(predicted_w({60, 50, 90, 2090, 368, 107, 82.1}, k), 105.09, 1e-9);
}

TEST(AccelWattch, FitFindsTheConstantsThatTheKernelsObey) {
  const std::vector<MeasuredKernel> kernels = made_up();
  const PowerConstants c = fit_power(kernels, thesis());
  const PowerConstants truth{60, 50, 90, 2090, 368, 107, 82.1};
  for (std::size_t i = 0; i < c.size(); ++i) EXPECT_NEAR(c[i] / truth[i], 1, 1e-6);
}

TEST(AccelWattch, WhatIsLeftOutIsNotSeen) {
  std::vector<MeasuredKernel> kernels = made_up();
  const auto same_program = [](const MeasuredKernel& a, const MeasuredKernel& b) {
    return a.program == b.program;
  };
  const double before = left_out_w(kernels, thesis(), same_program)[4];
  kernels[4].power_w *= 2;  // of program 2, with kernel 5
  kernels[5].power_w *= 3;
  const std::vector<double> after = left_out_w(kernels, thesis(), same_program);
  EXPECT_NEAR(after[4], before, 1e-9);
  const PowerScore score = power_score(kernels, after);
  EXPECT_EQ(score.worst_kernel, "5");
}

TEST(AccelWattch, TablesThatDoNotJoin) {
  const std::string folder = testing::TempDir() + "accelwattch_none";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/hw_perf.csv") << "Benchmark,Kernel\nx,y\n";
  std::ofstream(folder + "/hw_power_validation_volta.csv") << ",mean HW_power\nz,1\n";
  EXPECT_THROW(read_accelwattch(folder), InputError);
}

// Recipe: 12 % in the mean. The kernels of the two tables that have power and counters are 25.
TEST(AccelWattch, MeasuredKernels) {
  const char* data = std::getenv("TANDEM_DATA_DIR");
  const std::string folder = std::string(data == nullptr ? "" : data) + "/public/accelwattch-gv100";
  if (data == nullptr || !std::filesystem::exists(folder)) {
    GTEST_SKIP() << "TANDEM_DATA_DIR does not hold public/accelwattch-gv100";
  }
  const std::vector<MeasuredKernel> kernels = read_accelwattch(folder);
  EXPECT_EQ(kernels.size(), 25U);
  const auto score = [&](const SameGroup& together) {
    const PowerScore s = power_score(kernels, left_out_w(kernels, thesis(), together));
    std::printf("mean %.1f %%, worst %+.0f %% (%s)\n", 100 * s.mean, 100 * s.worst,
                s.worst_kernel.c_str());
    return s;
  };
  const PowerScore kernel_out =
      score([](const MeasuredKernel& a, const MeasuredKernel& b) { return a.name == b.name; });
  const PowerScore program_out = score(
      [](const MeasuredKernel& a, const MeasuredKernel& b) { return a.program == b.program; });
  EXPECT_LT(kernel_out.mean, 0.12);
  EXPECT_LT(std::abs(kernel_out.worst), 0.40);
  EXPECT_LT(program_out.mean, 0.13);
  EXPECT_LT(std::abs(program_out.worst), 0.40);
}

}  // namespace
}  // namespace tandem
