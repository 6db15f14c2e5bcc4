// The other-GPU what-if.
#include "models/whatif/gpu/retarget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "models/arch/gpu_config.h"
#include "models/kernel/classify/classify.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string captures = source_path("validation/captures/");

ReplayOptions retarget_options() {
  ReplayOptions o;
  o.configs = source_path("configs");
  return o;
}

const TracedRun& resnet() {
  static const TracedRun a = analyse(
      import_trace(captures + "h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b32.json.zst"),
      retarget_options());
  return a;
}

Step retarget(const TracedRun& a, const GpuArch& to, RetargetReport* report = nullptr) {
  LossList losses;
  return with_gpu(a.traced_step,
                  {&*a.gpu, &to, &a.configs.time, a.configs.batch.floor_share_memory,
                   &a.configs.libraries, &a.configs.retarget, 4},
                  losses, report);
}

TEST(Retarget, ToTheSameGpuChangesNothing) {
  const Step same = retarget(resnet(), *resnet().gpu);
  const Plan& plan = resnet().traced_step.plan;
  ASSERT_EQ(same.plan.works.size(), plan.works.size());
  for (std::size_t w = 0; w < plan.works.size(); ++w) {
    EXPECT_NEAR(to_us(same.plan.works[w].duration), to_us(plan.works[w].duration), 1e-5);
  }
}

TEST(Retarget, MoreOfAnythingIsNeverSlower) {
  const double before = gpu_us(resnet().traced_step);
  const char* const more[] = {"gpu.sm_count=264", "gpu.dram_peak_gbps=9600",
                              "gpu.boost_clock_mhz=2376", "gpu.l2_bytes=125829120",
                              "gpu.l2_read_gbps=19480"};
  const char* const less[] = {"gpu.sm_count=66", "gpu.dram_peak_gbps=2400",
                              "gpu.boost_clock_mhz=1710", "gpu.l2_bytes=31457280",
                              "gpu.l2_read_gbps=4870"};
  for (const char* const text : more) {
    GpuArch gpu = *resnet().gpu;
    apply_overrides(gpu, std::vector<std::string>{text});
    EXPECT_LE(gpu_us(retarget(resnet(), gpu)), before * 1.0001) << text;
  }
  for (const char* const text : less) {
    GpuArch gpu = *resnet().gpu;
    apply_overrides(gpu, std::vector<std::string>{text});
    EXPECT_GE(gpu_us(retarget(resnet(), gpu)), before * 0.9999) << text;
  }
}

TEST(Retarget, HalfTheBandwidthCostsMemoryKernelsUpToTwice) {
  GpuArch gpu = *resnet().gpu;
  apply_overrides(gpu, std::vector<std::string>{"gpu.dram_peak_gbps=2400"});
  const Step slow = retarget(resnet(), gpu);
  const Plan& plan = resnet().traced_step.plan;
  std::size_t slower = 0;
  for (std::size_t w = 0; w < plan.works.size(); ++w) {
    const double ratio = to_us(slow.plan.works[w].duration) / to_us(plan.works[w].duration);
    EXPECT_GE(ratio, 0.9999);
    EXPECT_LE(ratio, 2.0001);
    slower += ratio > 1.5;
  }
  EXPECT_GT(slower, 50U);
}

TEST(Retarget, Fp32ConvolutionsLoseTheTensorCoresAndTheirTransforms) {
  const GpuArch v100 = find_gpu(resnet().configs.gpus, "v100_sxm2_32gb");
  RetargetReport report;
  const Step step = retarget(resnet(), v100, &report);
  EXPECT_GT(report.dropped, 100);
  EXPECT_EQ(report.added, 0);
  EXPECT_GT(report.changed_share, 0.3);
  std::size_t products = 0;
  for (const DeviceWork& work : step.plan.works) {
    const KernelClass k = classify(step.trace.strings.get(step.trace.activities.name[work.source]));
    if (k.family != KernelFamily::gemm && k.family != KernelFamily::convolution) continue;
    EXPECT_TRUE(k.traits.engine == Engine::simt || k.traits.engine == Engine::none);
    ++products;
  }
  EXPECT_GT(products, 150U);
}

TEST(Retarget, AGpuWithoutTheTypeIsAnError) {
  const TracedRun bf16 = analyse(
      import_trace(captures + "h200_2026-11-20_fit/traces/resnet50-train-bf16-eager-b32.json.zst"),
      retarget_options());
  const GpuArch v100 = find_gpu(bf16.configs.gpus, "v100_sxm2_32gb");
  try {
    retarget(bf16, v100);
    FAIL();
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("has no bf16 tensor cores"), std::string::npos) << text;
  }
}

TEST(Retarget, AmpRunsOnEveryGpu) {
  const TracedRun amp = analyse(
      import_trace(captures + "h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst"),
      retarget_options());
  std::size_t gpus = 0;
  for (const GpuArch& gpu : amp.configs.gpus.gpus) {
    const Step step = retarget(amp, gpu);
    ++gpus;
    if (gpu.dram_peak_gbps > amp.gpu->dram_peak_gbps) {
      EXPECT_LT(gpu_us(step), gpu_us(amp.traced_step)) << gpu.name;
    } else {
      EXPECT_GE(gpu_us(step), 0.99 * gpu_us(amp.traced_step)) << gpu.name;
    }
  }
  EXPECT_GE(gpus, 8U);
}

/// GPU time without the optimizer, which the captured graph does not hold.
double network_us(const Step& step) {
  double sum = 0;
  for (const DeviceWork& work : step.plan.works) {
    const KernelClass k = classify(step.trace.strings.get(step.trace.activities.name[work.source]));
    if (k.family != KernelFamily::optimizer) sum += to_us(work.duration);
  }
  return sum;
}

// A CUDA graph records no shapes; its kernels do what those of the eager run do.
TEST(Retarget, TheSameWorkTakesAsLongWithAndWithoutShapes) {
  for (const char* precision : {"amp", "bf16"}) {
    const std::string name = captures + "h200_2026-11-20_fit/traces/resnet50-train-" + precision;
    const TracedRun eager = analyse(import_trace(name + "-eager-b32.json.zst"), retarget_options());
    const TracedRun graph =
        analyse(import_trace(name + "-cudagraph-b32.json.zst"), retarget_options());
    for (const char* gpu : {"a100_sxm4_80gb", "v100_sxm2_32gb"}) {
      if (std::string(precision) == "bf16" && gpu[0] == 'v') continue;
      const GpuArch to = find_gpu(eager.configs.gpus, gpu);
      const double with = network_us(retarget(eager, to));
      EXPECT_NEAR(network_us(retarget(graph, to)) / with, 1, 0.15) << precision << " " << gpu;
    }
  }
}

TEST(Retarget, TensorWorkStaysWithoutShapes) {
  const TracedRun graph =
      analyse(import_trace(captures +
                           "h200_2026-11-20_fit/traces/resnet50-train-bf16-cudagraph-b32.json.zst"),
              retarget_options());
  ReplayOptions o = retarget_options();
  o.what_ifs.set("gpu", "a100_sxm4_80gb");
  const Prediction p = predict(graph, o);
  EXPECT_GT(p.result.gpu_kernel_time->tc_active_utilization, 0.03);
}

// What adds up the parts of a split product is no product and gets no product's name or grid.
TEST(Retarget, HelpersOfProductsStayHelpers) {
  const TracedRun streams = analyse(
      import_trace(
          captures +
          "h200_2026-11-21_networks_holdout/traces/multistream-train-fp32-eager-b64.json.zst"),
      retarget_options());
  const Step& before = streams.traced_step;
  const Step after = retarget(streams, find_gpu(streams.configs.gpus, "a100_sxm4_80gb"));
  const auto count = [](const Step& step) {
    std::size_t helpers = 0;
    for (const DeviceWork& work : step.plan.works) {
      const auto name = step.trace.strings.get(step.trace.activities.name[work.source]);
      helpers += is_helper(classify(name).traits);
    }
    return helpers;
  };
  EXPECT_GT(count(before), 6U);
  EXPECT_EQ(count(after), count(before));
}

// FP32 has no tensor cores before TF32: products, convolutions and attention all run on FP32 pipes.
TEST(Retarget, Fp32OnAGpuWithoutTf32LeavesTheTensorCoresIdle) {
  for (const char* name :
       {"h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b32",
        "h200_2026-11-21_streams_holdout/traces/vit_b_16-train-fp32-eager-b16"}) {
    const TracedRun a = analyse(import_trace(captures + name + ".json.zst"), retarget_options());
    ReplayOptions o = retarget_options();
    o.what_ifs.set("gpu", "v100_sxm2_32gb");
    const Prediction p = predict(a, o);
    EXPECT_EQ(p.result.gpu_kernel_time->tc_active_utilization, 0) << name;
    EXPECT_EQ(p.result.energy->tensor_j, 0) << name;
  }
}

// An FP32 network traced where TF32 does not exist uses it for its convolutions where it does, and
// for nothing else; its products stay FP32.
TEST(Retarget, ConvolutionsOfAnOldGpuUseTf32) {
  const GpuArch v100 = find_gpu(resnet().configs.gpus, "v100_sxm2_32gb");
  TracedRun old = resnet();
  old.traced_step = retarget(resnet(), v100);
  old.gpu = v100;
  RetargetReport report;
  LossList losses;
  const Configs& c = old.configs;
  const Step back = with_gpu(
      old.traced_step,
      {&v100, &*resnet().gpu, &c.time, c.batch.floor_share_memory, &c.libraries, &c.retarget, 4},
      losses, &report);
  EXPECT_GT(losses.count("tf32_convolutions"), 100);
  EXPECT_GT(report.changed_share, 0.2);
  EXPECT_GT(report.added, 50);
  EXPECT_NEAR(gpu_us(back) / gpu_us(resnet().traced_step), 1, 0.25);
}

TEST(Retarget, TheBandIsThatOfTheNearestValidationCases) {
  const GpuCatalogue& gpus = resnet().configs.gpus;
  const RetargetErrors& errors = resnet().configs.retarget;
  const auto expected = [](const std::string& name, const GpuArch& to) {
    const TracedRun a = analyse(import_trace(captures + name + ".json.zst"), retarget_options());
    RetargetReport report;
    retarget(a, to, &report);
    return report.expected_error;
  };
  const GpuArch v100 = find_gpu(gpus, "v100_sxm2_32gb");
  const std::string resnet50 = "h200_2026-11-20_fit/traces/resnet50-train-";
  const double shapes = expected(resnet50 + "fp32-eager-b32", v100);
  EXPECT_GE(shapes, 0.9 * errors.with_shapes);
  EXPECT_GT(expected(resnet50 + "amp-cudagraph-b32", v100), shapes);
  EXPECT_GE(expected(resnet50 + "amp-cudagraph-b32", v100), 0.9 * errors.without_shapes);
  const std::string mobile =
      "h200_2026-11-21_networks_holdout/traces/mobilenet_v2-train-fp32-eager-b64";
  EXPECT_GT(expected(mobile, v100), 1.2 * errors.with_shapes);
  EXPECT_LT(expected(mobile, find_gpu(gpus, "h100_sxm5")), expected(mobile, v100));
}

TEST(Retarget, KernelsOfUnknownNamesAreCounted) {
  TracedRun a = resnet();
  Activities& acts = a.traced_step.trace.activities;
  const auto name = a.traced_step.trace.strings.intern("mystery");
  for (const DeviceWork& work : a.traced_step.plan.works) {
    if (acts.kind[work.source] != ActivityKind::kernel) continue;
    acts.name[work.source] = name;
    a.traced_step.kernels.set(work.source, name, classify("mystery"));
  }
  RetargetReport report;
  retarget(a, find_gpu(a.configs.gpus, "a100_sxm4_80gb"), &report);
  EXPECT_GT(report.unmodelled_share, 0.95);
  EXPECT_GT(report.expected_error, 0.4);
}

Result with_override(const std::string& text) {
  ReplayOptions o = retarget_options();
  if (!text.empty()) o.what_ifs.set("set", text);
  return predict(resnet(), o).result;
}

TEST(Retarget, LessReadBandwidthCostsTimeAndNoLessEnergy) {
  const Result before = with_override("");
  const Result after = with_override("gpu.dram_read_gbps=2000");
  EXPECT_GT(after.step.gpu_busy_us, 1.2 * before.step.gpu_busy_us);
  EXPECT_GT(after.energy->energy_j, before.energy->energy_j);
}

TEST(Retarget, NumbersWithoutEffectAreToldSo) {
  const auto told = [](const Result& r) {
    const auto& losses = r.losses.all();
    return std::any_of(losses.begin(), losses.end(),
                       [](const auto& loss) { return loss.code == "gpu_change_without_effect"; });
  };
  EXPECT_TRUE(told(with_override("gpu.tensor_fp64_fma_per_clk=64")));
  EXPECT_THROW(with_override("gpu.xu_lanes=8"), InputError);
  EXPECT_FALSE(told(with_override("gpu.dram_read_gbps=2000")));
}

TEST(Retarget, EnergyOfAChangedChipIsLessCertain) {
  const auto share = [](const Result& r) { return r.energy->error_j / r.energy->energy_j; };
  ReplayOptions nvl = retarget_options();  // whose energies nobody measured
  nvl.what_ifs.set("gpu", "h100_nvl");
  const double other_chip = share(predict(resnet(), nvl).result);
  const double measured_chip = share(with_override(""));
  EXPECT_GT(share(with_override("gpu.sm_count=264")), 2 * measured_chip);
  EXPECT_LT(measured_chip, 0.7 * other_chip);
}

TEST(Retarget, APrecisionThatTheGpuLacksIsAnError) {
  ReplayOptions o = retarget_options();
  o.what_ifs.set("gpu", "v100_sxm2_32gb");
  for (const char* precision : {"tf32", "bf16"}) {
    o.what_ifs.set("precision", precision);
    EXPECT_THROW(predict(resnet(), o), InputError) << precision;
  }
  o.what_ifs.set("precision", "fp32");
  EXPECT_NO_THROW(predict(resnet(), o));
}

TEST(Retarget, AGpuMayBeAFile) {
  const auto folder = std::filesystem::temp_directory_path() / "tandem_gpu_file";
  std::filesystem::create_directories(folder);
  const std::string path = (folder / "paper_gpu.json").string();
  std::ofstream(path) << R"({"schema": "tandem.gpu/1", "name": "paper_gpu", "display_name": "paper",
    "aliases": [], "base": "h200_sxm", "values": {"l2_bytes": {"value": 120000000, "unit": "B",
    "kind": "spec", "source": "what if"}}})";
  ReplayOptions o = retarget_options();
  o.what_ifs.set("gpu", path);
  const Configs configs = load_configs(o.configs, o.host, path);
  EXPECT_EQ(find_gpu(configs.gpus, path).l2_bytes, 120000000);
  const TracedRun a = analyse(
      import_trace(captures + "h200_2026-11-20_fit/traces/lenet5-infer-fp32-eager-b1024.json.zst"),
      o);
  const Result r = predict(a, o).result;
  EXPECT_EQ(r.scenario.gpu, "paper_gpu");
  EXPECT_TRUE(r.energy.has_value());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace tandem
