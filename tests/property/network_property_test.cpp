// What must hold of every recorded network, in every mode, on several GPUs.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "sim/predict/network_run.h"
#include "tests/configs_for_tests.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

/// All but TensorFlow's BERT large, 20000 operations that are those of tf_bert over and over.
std::vector<std::string> networks() {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(source_path("workloads/nets"))) {
    const bool repeats = entry.path().stem().string().starts_with("tf_bert_large");
    if (entry.path().extension() == ".json" && !repeats) paths.push_back(entry.path().string());
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

// Nor on what a compiler fuses around them, casts among it.
TEST(NetworkFlops, DoNotDependOnTheCompiler) {
  for (const char* network : {"bert_base-infer", "gpt2-infer", "bert_base-train", "vit_b_16-train",
                              "resnet50-train", "convnext_tiny-infer"}) {
    SCOPED_TRACE(network);
    const std::string path = source_path("workloads/nets/") + network + ".json";
    const TracedRun run = analyse_network({path, "h200_sxm", 8, {}}, options(), test::configs());
    for (const char* precision : {"amp", "bf16"}) {
      ReplayOptions o = options();
      o.what_ifs.set("precision", precision);
      const double eager = predict(run, o).result.gpu_step->flops;
      o.what_ifs.set("compile", "inductor");
      o.what_ifs.set("attention", "keep");
      EXPECT_NEAR(predict(run, o).result.gpu_step->flops, eager, 1e-6 * eager) << precision;
    }
  }
}

// Attention by products keeps its scores, which the fused kernel computes again backward: one
// product less in each of 12 layers, of 8 items, 12 heads, 128 x 128 scores and heads of 64.
TEST(NetworkFlops, AttentionByProductsComputesNoScoresAgain) {
  const std::string path = source_path("workloads/nets/bert_base-train.json");
  const TracedRun run = analyse_network({path, "h200_sxm", 8, {}}, options(), test::configs());
  ReplayOptions o = options();
  o.what_ifs.set("precision", "amp");
  const double eager = predict(run, o).result.gpu_step->flops;
  o.what_ifs.set("compile", "inductor");
  const double again = 12.0 * 2 * 8 * 12 * 128 * 128 * 64;
  EXPECT_NEAR(predict(run, o).result.gpu_step->flops, eager - again, 1e-6 * eager);
}

/// Of one table of times: families, layers, operations and kernels show the same works.
template <class Shares>
double total_us(const Shares& shares) {
  double us = 0;
  for (const auto& share : shares) us += share.time_us;
  return us;
}

void check_tables(const Result& r) {
  const double kernels = total_us(r.kernels);
  EXPECT_NEAR(total_us(r.families), kernels, 1e-6 * kernels);
  EXPECT_NEAR(total_us(r.layers), kernels, 1e-6 * kernels);
  EXPECT_NEAR(total_us(r.ops), kernels, 1e-6 * kernels);
  ASSERT_TRUE(r.energy);
  double dynamic_j = 0;
  for (const TimeShare& kernel : r.kernels) dynamic_j += kernel.energy_j;
  EXPECT_NEAR(dynamic_j + r.energy->static_j, r.energy->energy_j, 1e-6 * r.energy->energy_j);
  for (const TimeShare& kernel : r.kernels) {
    if (!kernel.levels) continue;
    EXPECT_LE(kernel.levels->achieved_occupancy,
              kernel.levels->theoretical_occupancy * (1 + 1e-6) + 1e-9)
        << kernel.name;
  }
}

// Streams share the SMs, and a board lowers its clock: what is stated of kernels sums to the step.
TEST(NetworkTables, AgreeWhereverStreamsOverlapAndPowerIsLimited) {
  for (const char* network : {"vgg16-train", "bert_base-train"}) {
    for (const char* gpu : {"h100_pcie", "l4"}) {
      SCOPED_TRACE(std::string(network) + " on " + gpu);
      const std::string path = source_path("workloads/nets/") + network + ".json";
      const TracedRun run = analyse_network({path, gpu, 32, {}}, options(), test::configs());
      ReplayOptions o = options();
      check_tables(predict(run, o).result);
      o.what_ifs.set("ranks", 8);
      check_tables(predict(run, o).result);
    }
  }
}

// FP32 products ask an L4 for far more than its 72 W: nobody has measured the step, so its clock
// falls until the power fits, and the step takes as much longer.
TEST(NetworkPower, AGeneratedStepLowersItsClock) {
  const std::string path = source_path("workloads/nets/bert_base-train.json");
  const TracedRun run = analyse_network({path, "l4", 32, {}}, options(), test::configs());
  const Result limited = predict(run, options()).result;
  ReplayOptions o = options();
  o.what_ifs.add("set", "gpu.tdp_w=3000");
  const Result free = predict(run, o).result;
  ASSERT_TRUE(limited.energy && free.energy);
  EXPECT_GT(limited.energy->power_limited_share, 0.05);
  EXPECT_LE(limited.energy->average_power_w, 72 * 1.001);
  EXPECT_GT(limited.step.time_us, free.step.time_us * 1.05);
  // Voltage falls with the clock, and dynamic energy with it; none is left out.
  EXPECT_LT(limited.energy->energy_j, free.energy->energy_j);
  EXPECT_GT(limited.energy->energy_j, 0.6 * free.energy->energy_j);
}

/// Bytes of a kernel over what the GPU moves in its time.
void check_rates(const Prediction& p) {
  const GpuArch& gpu = *p.target;
  std::size_t cut = 0, beyond = 0;
  for (const DeviceWork& work : p.step.plan.works) {
    const WorkCounters& c = p.step_counters[work.source];
    if (c.time_us <= 0 || c.family == KernelFamily::transfer) continue;
    const double per_us = c.time_us * 1e3;
    const double l2 =
        c.l2_bytes / (per_us * gpu.l2_read_gbps * std::max(1.0, gpu.l2_fabric_factor));
    const double dram = (c.dram_read_bytes + c.dram_write_bytes) / (per_us * gpu.dram_peak_gbps);
    const double shared = c.shared_bytes / (128 * gpu.sm_count * gpu.boost_clock_mhz * c.time_us);
    for (const double share : {l2, dram, shared}) beyond += share > 1.001;
    cut += c.clamped;
  }
  EXPECT_EQ(beyond, 0U);
  EXPECT_EQ(cut > 0, p.result.losses.count("counters_clamped") > 0);
}

TEST_P(NetworkProperty, NoKernelMovesMoreThanTheGpu) {
  for (const char* gpu : {"v100_sxm2_16gb", "h200_sxm", "l4"}) {
    SCOPED_TRACE(gpu);
    const TracedRun run = analyse_network({GetParam(), gpu, {}, {}}, options(), test::configs());
    check_rates(predict(run, options()));
  }
}

// 198 updates of 85.7 million numbers (the table of words has sparse gradients, which other
// kernels add): each reads four values and writes three, 1.37 GB from DRAM and 1.03 GB to it,
// whatever L2 holds, at no more than DRAM's rate.
TEST(NetworkTraffic, UpdatesFindNothingOfOneAnother) {
  const std::string path = source_path("workloads/nets/tf_bert_amp-train.json");
  for (const char* gpu : {"v100_sxm2_16gb", "h200_sxm", "l4", "l40s"}) {
    SCOPED_TRACE(gpu);
    const Replay replay = run_network({path, gpu, 16, {}}, options(), test::configs());
    const Result& r = replay.prediction.result;
    const auto optimizer =
        std::find_if(r.families.begin(), r.families.end(),
                     [](const FamilyShare& f) { return f.family == KernelFamily::optimizer; });
    ASSERT_NE(optimizer, r.families.end());
    constexpr double parameters = 85.7e6, width = 4, number = parameters * width;
    EXPECT_NEAR(optimizer->metrics.dram_read_bytes, 4 * number, 0.1 * 4 * number);
    EXPECT_NEAR(optimizer->metrics.dram_write_bytes, 3 * number, 0.1 * 3 * number);
    EXPECT_GE(optimizer->time_us,
              7 * parameters * width / (replay.prediction.target->dram_peak_gbps * 1e3));
  }
}

// What data-parallel ranks hold besides: the gradients again, 86.6 million numbers of ViT-B/16 and
// 4 bytes each. Measured: 6.12 GB alone, 6.47 GB on two ranks.
TEST(NetworkRanks, BucketsTakeTheMemoryOfTheGradients) {
  const std::string path = source_path("workloads/nets/vit_b_16-train.json");
  const TracedRun run = analyse_network({path, "h200_sxm", 64, {}}, options(), test::configs());
  const auto peak = [&](const char* ranks) {
    ReplayOptions o = options();
    o.what_ifs.set("ranks", ranks);
    return predict(run, o).result.memory->peak_bytes;
  };
  EXPECT_NEAR(peak("2") - peak("1"), 86.57e6 * 4, 0.01 * 86.57e6 * 4);
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

double dram_bytes(const Result& r) {
  return r.gpu_step ? r.gpu_step->dram_read_bytes + r.gpu_step->dram_write_bytes : 0;
}

// Layers are told by shapes: 12 of GPT-2, BERT and Swin-T, 6 and 6 of the transformer, none of
// ResNet-50. Each rank holds a part, and the more there are the less: parts are gathered as often.
TEST(NetworkRanks, ShardedTheyHoldLessTheMoreTheyAre) {
  struct Case {
    const char* network;
    std::int64_t layers;
  };
  for (const Case& c : {Case{"gpt2", 12}, Case{"bert_base", 12}, Case{"swin_t", 12},
                        Case{"transformer", 12}, Case{"resnet50", 0}}) {
    SCOPED_TRACE(c.network);
    const std::string path = source_path("workloads/nets/") + c.network + "-train.json";
    const TracedRun run = analyse_network({path, "h200_sxm", {}, {}}, options(), test::configs());
    const double alone = dram_bytes(predict(run, options()).result);
    ReplayOptions o = options();
    o.what_ifs.set("shard", asks_for_flag);
    double peak = 0, states = 0, gathered = 0;
    for (const int ranks : {2, 4, 8}) {
      o.what_ifs.set("ranks", ranks);
      const Result r = predict(run, o).result;
      check(r);
      EXPECT_EQ(reported_of(r, "units"), c.layers + 1) << ranks;
      EXPECT_EQ(reported_of(r, "gathers"), 2 * c.layers + 1) << ranks;
      const double bytes = report_number(find_report(r.what_ifs, "ranks"), "gathered_bytes", 0);
      // Copied in, out and, as gradients, once more: each is read and written.
      EXPECT_LE(dram_bytes(r), alone + 3 * 2 * bytes) << ranks;
      if (peak > 0) {
        EXPECT_LT(r.memory->peak_bytes, peak) << ranks;
        EXPECT_NEAR(r.memory->kept.states, states / 2, 1e-6 * states) << ranks;
        EXPECT_NEAR(bytes, gathered, 0.01 * gathered) << ranks << ": but for padding";
      }
      peak = r.memory->peak_bytes, states = r.memory->kept.states, gathered = bytes;
    }
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
