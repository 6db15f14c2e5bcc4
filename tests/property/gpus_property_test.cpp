// What must hold of a step on every GPU of configs/gpus, measured or not.
#include <gtest/gtest.h>

#include <map>

#include "models/arch/gpu_config.h"
#include "sim/predict/network_run.h"
#include "tests/configs_for_tests.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

/// ResNet-50 of batch 64 with `precision` on the GPU.
Result step_on(const std::string& gpu, const char* precision) {
  ReplayOptions options;
  options.configs = source_path("configs");
  options.what_ifs.set("precision", precision);
  const std::string path = source_path("workloads/nets/resnet50-train.json");
  return run_network({path, gpu, 64, {}, Task::train, {}, false}, options, test::configs())
      .prediction.result;
}

std::map<std::string, Result> steps(const char* precision) {
  std::map<std::string, Result> out;
  const GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  for (const GpuArch& gpu : gpus.gpus) {
    if (precision == std::string("bf16") && gpu.tensor_bf16_fma_per_clk == 0) continue;
    out.emplace(gpu.name, step_on(gpu.name, precision));
  }
  return out;
}

/// Each is slower than the next: by the GPU's own time, which no host covers up.
constexpr const char* orders[][4] = {
    {"l4", "a10", "rtx_a6000", "a100_sxm4_80gb"},
    {"l4", "l40s", "h100_sxm5", "h200_sxm"},
    {"v100_sxm2_16gb", "a100_sxm4_80gb", "h100_pcie", "h100_sxm5"},
    {"h100_pcie", "h100_nvl", "h200_sxm", "b200_sxm"},
};

TEST(GpusProperty, FasterGpusAreFasterAndBoardsStayBelowTheirPower) {
  const GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  for (const char* precision : {"fp32", "amp"}) {
    SCOPED_TRACE(precision);
    const auto results = steps(precision);
    ASSERT_EQ(results.size(), gpus.gpus.size());
    for (const auto& order : orders) {
      for (std::size_t i = 1; i < std::size(order); ++i) {
        EXPECT_GT(results.at(order[i - 1]).step.gpu_kernel_us,
                  results.at(order[i]).step.gpu_kernel_us)
            << order[i - 1] << " and " << order[i];
      }
    }
    for (const auto& [name, r] : results) {
      ASSERT_TRUE(r.energy);
      EXPECT_LE(r.energy->average_power_w, find_gpu(gpus, name).tdp_w * 1.001) << name;
      EXPECT_GT(r.energy->average_power_w, 0) << name;
    }
  }
}

/// The band in kernel time, as a ratio of its ends.
double width(const Result& r) { return r.gpu_band.high_us / r.gpu_band.low_us; }

TEST(GpusProperty, BandsAreWiderWhereNobodyMeasured) {
  const double measured = width(step_on("a100_sxm4_80gb", "fp32"));
  for (const char* name : {"a10", "l40s", "rtx_4090", "b200_sxm"}) {
    EXPECT_GT(width(step_on(name, "fp32")), measured * 1.05) << name;
  }
  EXPECT_NEAR(width(step_on("h100_nvl", "fp32")), measured, 0.02 * measured);
}

}  // namespace
}  // namespace tandem
