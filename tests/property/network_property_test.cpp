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

// Products are those of the network's formulas, whichever kernels compute them.
TEST(NetworkFlops, DoNotDependOnThePrecision) {
  for (const char* network :
       {"resnext50_32x4d", "shufflenet_v2_x1_0", "mobilenet_v2", "resnet50", "unet"}) {
    SCOPED_TRACE(network);
    const std::string path = source_path("workloads/nets/") + network + "-train.json";
    const TracedRun run = analyse_network({path, "h200_sxm", 64, {}}, options(), test::configs());
    const double fp32 = predict(run, options()).result.gpu_step->flops;
    for (const char* precision : {"amp", "bf16"}) {
      ReplayOptions o = options();
      o.what_ifs.set("precision", precision);
      EXPECT_NEAR(predict(run, o).result.gpu_step->flops, fp32, 1e-6 * fp32) << precision;
    }
  }
}

/// What --ranks says of a network on two ranks.
std::int64_t reported_of(const Result& r, std::string_view name) {
  return static_cast<std::int64_t>(report_number(find_report(r.what_ifs, "ranks"), name, 0));
}

// A generated step knows its gradients: one a parameter. Batch norms keep three buffers each.
TEST(NetworkRanks, EveryParameterIsSummed) {
  struct Case {
    const char* network;
    std::int64_t gradients, buffers;
  };
  for (const Case& c : {Case{"resnet50", 161, 3 * 53}, Case{"gpt2", 148, 0}, Case{"lstm", 11, 0},
                        Case{"transformer", 187, 0}}) {
    SCOPED_TRACE(c.network);
    const std::string path = source_path("workloads/nets/") + c.network + "-train.json";
    const NetworkRequest request{path, "h200_sxm", {}, {}};
    const TracedRun run = analyse_network(request, options(), test::configs());
    const Result alone = predict(run, options()).result;
    ReplayOptions o = options();
    o.what_ifs.set("ranks", 2);
    const Result two = predict(run, o).result;
    check(two);
    EXPECT_EQ(reported_of(two, "gradients"), c.gradients);
    EXPECT_EQ(reported_of(two, "buffers"), c.buffers);
    ASSERT_TRUE(two.collectives);
    EXPECT_GT(two.collectives->time_us, 0);
    EXPECT_GT(two.step.time_us, alone.step.time_us);
    EXPECT_LT(two.step.time_us, 3 * alone.step.time_us);
  }
}

TEST(NetworkRanks, InferenceHasNothingToSum) {
  ReplayOptions o = options();
  o.what_ifs.set("ranks", 2);
  const std::string path = source_path("workloads/nets/resnet50-infer.json");
  EXPECT_THROW(run_network({path, "h200_sxm", {}, {}}, o, test::configs()), InputError);
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
