// What must hold of every recorded network, in every mode, on several GPUs.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "sim/predict/network_run.h"
#include "tests/configs_for_tests.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

std::vector<std::string> networks() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("workloads/nets"))) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

ReplayOptions options() {
  ReplayOptions o;
  o.configs = source_path("configs");
  return o;
}

void check(const Result& r) {
  EXPECT_TRUE(std::isfinite(r.step.time_us));
  EXPECT_GT(r.step.time_us, 0);
  EXPECT_GE(r.step.time_us, r.step.gpu_busy_us * 0.9999);
  ASSERT_TRUE(r.gpu_kernel_time && r.energy);
  EXPECT_GT(r.energy->energy_j, 0);
  EXPECT_GE(r.gpu_kernel_time->smsp_issue_utilization, 0);
  EXPECT_LE(r.gpu_kernel_time->smsp_issue_utilization, 1.0001);
  EXPECT_FALSE(r.losses.any(Severity::data_loss));
}

class NetworkProperty : public testing::TestWithParam<std::string> {};

TEST_P(NetworkProperty, RunsInEveryModeOnEveryGeneration) {
  for (const char* gpu : {"v100_sxm2_16gb", "a100_sxm4_80gb", "h200_sxm"}) {
    const NetworkRequest request{GetParam(), gpu, {}, {}};
    const TracedRun run = analyse_network(request, options(), test::configs());
    for (const Mode mode :
         {Mode::as_traced, Mode::eager_async, Mode::eager_sync, Mode::cuda_graph}) {
      ReplayOptions o = options();
      o.mode.mode = mode;
      SCOPED_TRACE(std::string(gpu) + " " + std::string(to_string(mode)));
      check(predict(run, o).result);
    }
  }
}

TEST_P(NetworkProperty, GpuTimeAndMemoryGrowWithTheBatch) {
  double time = 0;
  double peak = 0;
  for (const std::int64_t batch : {4, 16, 64}) {
    const Replay replay =
        run_network({GetParam(), "a100_sxm4_80gb", batch, {}}, options(), test::configs());
    const Result& r = replay.prediction.result;
    EXPECT_EQ(r.trace.batch, batch);
    EXPECT_GT(r.step.gpu_kernel_us, time);
    ASSERT_TRUE(r.memory);
    EXPECT_GT(r.memory->peak_bytes, peak);
    time = r.step.gpu_kernel_us;
    peak = r.memory->peak_bytes;
  }
}

INSTANTIATE_TEST_SUITE_P(Nets, NetworkProperty, testing::ValuesIn(networks()), [](const auto& p) {
  std::string name = std::filesystem::path(p.param).stem().string();
  std::replace_if(
      name.begin(), name.end(),
      [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0; }, '_');
  return name;
});

}  // namespace
}  // namespace tandem
