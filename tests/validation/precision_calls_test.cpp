// Layers of attention that are one call without autocast and pieces under it: nothing puts them
// together or takes them apart, and the prediction says so.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string calls_captures =
    source_path("validation/captures/h200_2026-11-28_halves_holdout/traces/");

bool warns_of_calls(const std::string& name, const std::string& precision) {
  ReplayOptions o;
  o.configs = source_path("configs");
  o.trace_path = calls_captures + name + ".json.zst";
  o.what_ifs.set("precision", precision);
  const auto losses = replay(o).prediction.result.losses.all();
  return std::any_of(losses.begin(), losses.end(),
                     [](const Loss& loss) { return loss.code == "attention_in_one_call"; });
}

TEST(PrecisionCalls, AnAnswerOutOfAutocastAndIntoIt) {
  EXPECT_TRUE(warns_of_calls("vit_b_16-infer-amp-eager-b16", "fp16w"));
  EXPECT_TRUE(warns_of_calls("vit_b_16-infer-fp16w-eager-b16", "amp"));
}

TEST(PrecisionCalls, NeitherTrainingNorWhereAutocastIsInNeither) {
  EXPECT_FALSE(warns_of_calls("vit_b_16-train-bf16-eager-b32", "bf16w"));
  EXPECT_FALSE(warns_of_calls("vit_b_16-infer-fp32-eager-b16", "fp16w"));
  EXPECT_FALSE(warns_of_calls("bert_base-infer-amp-eager-b16", "fp16w"));
}

}  // namespace
}  // namespace tandem
