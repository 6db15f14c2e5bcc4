// Layers of attention that are one call without autocast and pieces under it, exchanged: ViT-B/16
// infers in three precisions, each predicted from the others, alone and under a compiler.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string calls_captures =
    source_path("validation/captures/h200_2026-11-28_halves_holdout/traces/");
const std::string calls_served =
    source_path("validation/captures/h200_2026-11-28_served_holdout/traces/");

ReplayOptions calls_options(const std::string& path) {
  ReplayOptions o;
  o.configs = source_path("configs");
  o.trace_path = path + ".json.zst";
  return o;
}

double gpu_us_of(const ReplayOptions& options) {
  return replay(options).prediction.result.step.gpu_kernel_us;
}

std::string vit_in(const std::string& precision) {
  return calls_captures + "vit_b_16-infer-" + precision + "-eager-b16";
}

struct Exchange {
  const char *from, *to;
  double within;  // of the measured GPU time
};

TEST(ExchangedCalls, AreWhatTheOtherCaptureHas) {
  for (const Exchange& e : {Exchange{"amp", "fp16w", 0.03}, Exchange{"fp16w", "amp", 0.03},
                            Exchange{"fp32", "amp", 0.03}, Exchange{"amp", "fp32", 0.08}}) {
    ReplayOptions o = calls_options(vit_in(e.from));
    o.what_ifs.set("precision", e.to);
    const double measured = gpu_us_of(calls_options(vit_in(e.to)));
    EXPECT_NEAR(gpu_us_of(o) / measured, 1, e.within) << e.from << " to " << e.to;
  }
}

TEST(ExchangedCalls, GoWithACompilerAndAnotherBatch) {
  ReplayOptions o = calls_options(calls_served + "vit_b_16-infer-fp16w-eager-b8");
  o.what_ifs.set("precision", "amp");
  o.what_ifs.set("batch", "16");
  o.what_ifs.set("compile", "reduce-overhead");
  const double measured =
      gpu_us_of(calls_options(calls_served + "vit_b_16-infer-amp-overhead-b16"));
  EXPECT_NEAR(gpu_us_of(o) / measured, 1, 0.05);
}

}  // namespace
}  // namespace tandem
