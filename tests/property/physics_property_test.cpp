// Physics that holds of every kernel in every scenario, on physics_captures that between them hold
// every family of kernels.
#include <gtest/gtest.h>

#include "models/kernel/kinds.h"
#include "models/step/launches.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string physics_captures = source_path("validation/captures/");
const char* const covering[] = {
    "h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32",
    "h200_2026-11-20_fit/traces/bert_base-infer-fp32-eager-b16",
    "h200_2026-11-20_fit/traces/dlrm-train-fp32-eager-b32768",
    "h200_2026-11-21_networks_holdout/traces/mobilenet_v2-infer-fp32-eager-b64",
    "h200_2026-11-22_models_holdout/traces/convnext_tiny-infer-amp-eager-b32",
};

TracedRun analyse_capture(const std::string& name) {
  ReplayOptions o;
  o.configs = source_path("configs");
  return analyse(import_trace(physics_captures + name + ".json.zst"), o);
}

struct Change {
  std::string number;
  double factor;
};

ReplayOptions asking(const TracedRun& run, const std::vector<Change>& changes) {
  ReplayOptions o;
  o.configs = source_path("configs");
  for (const Change& c : changes) {
    const GpuArch& gpu = *run.gpu;
    const double now = c.number == "sm_count"          ? gpu.sm_count
                       : c.number == "dram_peak_gbps"  ? gpu.dram_peak_gbps
                       : c.number == "l2_read_gbps"    ? gpu.l2_read_gbps
                       : c.number == "boost_clock_mhz" ? gpu.boost_clock_mhz
                                                       : static_cast<double>(gpu.l2_bytes);
    const bool whole = c.number == "sm_count" || c.number == "l2_bytes";
    const double to = now * c.factor;
    o.what_ifs.add("set", "gpu." + c.number + "=" +
                              (whole ? std::to_string(std::int64_t(to)) : std::to_string(to)));
  }
  return o;
}

double matrix_flop(const MatrixProblem& p) {
  return 2.0 * double(p.batch) * double(p.m) * double(p.n) * double(p.k);
}

/// Of the pipe that multiplies the type.
double peak_tflops(const GpuArch& gpu, DataType type) {
  if (multiply_engine(gpu, type) == Engine::simt) {
    return fp32_peak_tflops(gpu, gpu.boost_clock_mhz);
  }
  const MathType math = type == DataType::fp16   ? MathType::fp16
                        : type == DataType::bf16 ? MathType::bf16
                                                 : MathType::tf32;
  return tensor_peak_tflops(gpu, math, gpu.boost_clock_mhz);
}

/// No product is faster than the pipe that multiplies its type allows at its clock.
void check_peaks(const Prediction& p, double within) {
  const TraceLaunches launches(p.step);
  const GpuArch& gpu = *p.target;
  std::size_t products = 0;
  for (const DeviceWork& work : p.step.plan.works) {
    const KernelLaunch launch = launches.launch(work.source);
    const WorkCounters& c = p.step_counters[work.source];
    EXPECT_LE(c.tc_issue_cycles, c.tc_active_cycles * 1.0001 + 1);  // one holds the pipe a cycle
    EXPECT_LE(c.tc_active_cycles, c.smsp_active_cycles * 1.0001);
    const double flop = matrix_flop(launch.work.matrix);
    // Winograd and Fourier transforms multiply less than the definition of a convolution says.
    if (flop <= 0 || launch.family != KernelFamily::gemm) continue;
    if (row_of(launch.traits).time != TimeLaw::matrix) continue;  // helpers of a product
    EXPECT_LE(flop / to_us(work.duration) * 1e-6, peak_tflops(gpu, launch.math) * within)
        << launch.name;
    ++products;
  }
  EXPECT_GT(products, 0U);
}

/// Every kernel of `better` lasts at most as long as the same one of `worse`.
std::size_t not_slower(const Prediction& better, const Prediction& worse) {
  const auto& a = better.step.plan.works;
  const auto& b = worse.step.plan.works;
  EXPECT_EQ(a.size(), b.size());
  constexpr double within = 1.003;  // a library splits a product in steps
  std::size_t slower = 0;
  for (std::size_t w = 0; w < std::min(a.size(), b.size()); ++w) {
    const bool longer = to_us(a[w].duration) > to_us(b[w].duration) * within + 1e-3;
    if (longer && slower < 3) {
      ADD_FAILURE() << to_us(a[w].duration) << " us, with less " << to_us(b[w].duration) << " us: "
                    << better.step.trace.strings.get(
                           better.step.trace.activities.name[a[w].source]);
    }
    slower += longer;
  }
  EXPECT_EQ(slower, 0U);
  return a.size();
}

TEST(Physics, MoreOfAnythingIsNeverSlower) {
  std::size_t compared = 0;
  for (const char* name : covering) {
    const TracedRun run = analyse_capture(name);
    for (const char* number :
         {"sm_count", "dram_peak_gbps", "l2_read_gbps", "boost_clock_mhz", "l2_bytes"}) {
      SCOPED_TRACE(std::string(name) + ", " + number);
      const Prediction less = predict(run, asking(run, {{number, 0.5}}));
      const Prediction little = predict(run, asking(run, {{number, 0.75}}));
      const Prediction same = predict(run, asking(run, {}));
      const Prediction more = predict(run, asking(run, {{number, 2}}));
      compared += not_slower(little, less) + not_slower(same, little) + not_slower(more, same);
    }
  }
  EXPECT_GT(compared, 10'000U);
}

TEST(Physics, NoProductBeatsThePeakOfItsPipe) {
  for (const char* name : covering) {
    const TracedRun run = analyse_capture(name);
    for (const char* gpu : {"", "a100_sxm4_80gb", "v100_sxm2_32gb", "h100_sxm5"}) {
      for (const char* clock : {"", "800"}) {
        SCOPED_TRACE(std::string(name) + " on " + gpu + " " + clock);
        ReplayOptions o = asking(run, {});
        o.what_ifs.set("gpu", gpu);
        o.what_ifs.set("clock", clock);
        // The law of locked clocks keeps a share that memory limits, up to 1 % too much of it.
        const double within = *clock == '\0' ? 1.0001 : 1.015;
        check_peaks(predict(run, o), within);
      }
    }
  }
}

TEST(Physics, ComputeBoundWorkTakesNoLessEnergyAtAHigherClock) {
  const TracedRun run = analyse_capture(covering[1]);
  double before = 0;
  for (const char* clock : {"1500", "1650", "1800", "1900"}) {
    ReplayOptions o = asking(run, {});
    o.what_ifs.set("clock", clock);
    const Result r = predict(run, o).result;
    const double dynamic = r.energy->energy_j - r.energy->static_j;
    EXPECT_GE(dynamic, before) << clock;
    before = dynamic;
  }
}

}  // namespace
}  // namespace tandem
