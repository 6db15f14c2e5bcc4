// Peak memory in another precision, from the shapes and types alone, against the memory_captures
// peak.
#include <gtest/gtest.h>

#include "sim/core/fields/field.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string memory_captures = source_path("validation/captures/");

double predicted_bytes(const std::string& name, const std::string& precision) {
  ReplayOptions o;
  o.configs = source_path("configs");
  o.trace_path = memory_captures + name + ".json.zst";
  o.what_ifs.set("precision", precision);
  return replay(o).prediction.result.memory->peak_bytes;
}

double measured_bytes(const std::string& name) {
  return read_json_file(memory_captures + name + ".meta.json")["peak_alloc"].get<double>();
}

TEST(PrecisionMemory, HalfPrecisionHoldsSmallerActivations) {
  const std::pair<const char*, const char*> pairs[] = {
      {"h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b32",
       "h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32"},
      {"h200_2026-11-21_precisions_holdout/traces/vit_b_16-train-fp32-eager-b16",
       "h200_2026-11-21_precisions_holdout/traces/vit_b_16-train-amp-eager-b16"},
      {"h200_2026-11-21_precisions_holdout/traces/mobilenet_v2-train-fp32-eager-b64",
       "h200_2026-11-21_precisions_holdout/traces/mobilenet_v2-train-amp-eager-b64"},
      {"h200_2026-11-21_precisions_holdout/traces/unet-train-fp32-eager-b16",
       "h200_2026-11-21_precisions_holdout/traces/unet-train-amp-eager-b16"}};
  double sum = 0;
  for (const auto& [base, target] : pairs) {
    const double error = predicted_bytes(base, "amp") / measured_bytes(target) - 1;
    EXPECT_LT(std::abs(error), 0.25)
        << base;  // a peak of 2026-11-20 holds what another program left
    sum += std::abs(error);
  }
  EXPECT_LT(sum / std::size(pairs), 0.1);  // with memory unchanged it would be 50 %
}

// The FP32 copy of the logits, which the loss reads, is not among the lives: 3 % (deviation 4 was
// 11 % while what a power in a gradient reads was missing, too).
TEST(PrecisionMemory, OfADecoderIsWithinFivePercent) {
  const double error =
      predicted_bytes("h200_2026-11-21_precisions_holdout/traces/gpt2-train-fp32-eager-b4", "amp") /
          measured_bytes("h200_2026-11-21_precisions_holdout/traces/gpt2-train-amp-eager-b4") -
      1;
  EXPECT_LT(std::abs(error), 0.05);
}

TEST(PrecisionMemory, Bf16HoldsWhatAmpHolds) {
  const std::string resnet = "h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b32";
  EXPECT_NEAR(predicted_bytes(resnet, "bf16") / predicted_bytes(resnet, "amp"), 1, 0.02);
  const double gpt2 =
      predicted_bytes("h200_2026-11-21_precisions_holdout/traces/gpt2-train-fp32-eager-b4",
                      "bf16") /
      measured_bytes("h200_2026-11-21_precisions_holdout/traces/gpt2-train-bf16-eager-b4");
  EXPECT_NEAR(gpt2, 1, 0.2);
}

TEST(PrecisionMemory, TheTracedPrecisionChangesNothing) {
  const std::string name = "h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b32";
  EXPECT_EQ(predicted_bytes(name, "fp32"), predicted_bytes(name, ""));
}

}  // namespace
}  // namespace tandem
