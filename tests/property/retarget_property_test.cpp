// What must hold of every mode on every GPU.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string retarget_captures = source_path("validation/captures/");
const std::string folder = retarget_captures + "h200_2026-11-20_fit/traces/";

void check_ratios(const GpuMetrics& m) {
  for (const double ratio :
       {m.smsp_active_utilization, m.smsp_issue_utilization, m.tc_active_utilization,
        m.tc_issue_utilization, m.smact, m.smocc, m.tenso, m.drama, m.coverage}) {
    EXPECT_GE(ratio, 0);
    EXPECT_LE(ratio, 1.0001);
  }
  EXPECT_LE(m.smsp_issue_cycles, m.smsp_active_cycles * 1.0001);
}

void check_retargeted(const Result& r) {
  EXPECT_TRUE(std::isfinite(r.step.time_us));
  EXPECT_GE(r.step.time_us, r.step.gpu_busy_us * 0.9999);
  ASSERT_TRUE(r.gpu_step && r.gpu_kernel_time && r.energy);
  check_ratios(*r.gpu_step);
  check_ratios(*r.gpu_kernel_time);
  EXPECT_GT(r.energy->energy_j, 0);
  const EnergySummary& e = *r.energy;
  const double parts = e.static_j + e.dram_j + e.l2_j + e.l1_j + e.shared_j + e.compute_j +
                       e.tensor_j + e.instructions_j + e.other_j;
  EXPECT_NEAR(parts, e.energy_j, 1e-9 * e.energy_j);
  EXPECT_GE(e.power_limited_share, 0);
  EXPECT_LT(e.power_limited_share, 1);
}

/// No kernel moves more than the DRAM can in its time, nor issues more tensor instructions than
/// instructions.
void check_kernels(const Prediction& p) {
  for (const DeviceWork& work : p.step.plan.works) {
    const WorkCounters& c = p.step_counters[work.source];
    const double most = p.target->dram_peak_gbps * 1e3 * c.time_us;
    const std::string_view name =
        p.step.trace.strings.get(p.step.trace.activities.name[work.source]);
    EXPECT_LE(c.dram_read_bytes + c.dram_write_bytes, 1.05 * most) << name;
    EXPECT_LE(c.tc_issue_cycles, 1.0001 * c.smsp_issue_cycles) << name;
    EXPECT_LE(c.smsp_issue_cycles, 1.0001 * c.smsp_active_cycles) << name;
  }
}

TEST(RetargetProperty, NoKernelExceedsItsGpu) {
  for (const char* name :
       {"h200_2026-11-21_networks_holdout/traces/multistream-train-fp32-eager-b64",
        "h200_2026-11-21_networks_holdout/traces/lstm-train-amp-eager-b32",
        "h200_2026-11-20_fit/traces/resnet50-train-amp-cudagraph-b32",
        "h200_2026-11-20_fit/traces/bert_base2l-train-amp-eager-b16"}) {
    ReplayOptions o;
    o.configs = source_path("configs");
    const TracedRun a = analyse(import_trace(retarget_captures + name + ".json.zst"), o);
    for (const char* gpu : {"", "a100_sxm4_80gb", "v100_sxm2_32gb", "h100_sxm5"}) {
      for (const auto& [cache, cache_name] :
           {std::pair{CacheState::warm, "warm"}, {CacheState::cold, "cold"}}) {
        SCOPED_TRACE(std::string(name) + " on " + gpu + ", " + cache_name);
        o.what_ifs.set("gpu", gpu);
        o.cache = cache;
        check_kernels(predict(a, o));
      }
    }
  }
}

TEST(RetargetProperty, EveryModeOnEveryGpu) {
  std::size_t cases = 0;
  for (const char* name : {"resnet50-train-fp32-eager-b32", "lenet5-train-fp32-eager-b1024"}) {
    ReplayOptions o;
    o.configs = source_path("configs");
    const TracedRun a = analyse(import_trace(folder + name + ".json.zst"), o);
    for (const GpuArch& gpu : a.configs.gpus.gpus) {
      for (const Mode mode : {Mode::as_traced, Mode::eager_sync, Mode::cuda_graph}) {
        for (const std::string_view compiler : {asks_nothing, std::string_view("inductor")}) {
          SCOPED_TRACE(std::string(name) + " on " + gpu.name + ", " + std::string(to_string(mode)) +
                       ", " + std::string(compiler));
          o.what_ifs.set("gpu", gpu.name);
          o.what_ifs.set("compile", compiler);
          o.mode.mode = mode;
          check_retargeted(predict(a, o).result);
          ++cases;
        }
      }
    }
  }
  EXPECT_GE(cases, 64U);
}

}  // namespace
}  // namespace tandem
