// How a result tells what a compiler made of a step.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/predict/result.h"
#include "sim/report/report.h"

namespace tandem {
namespace {

Result compiled_result() {
  Result r;
  FusionSummary f;
  f.compiler = "inductor";
  f.attention = "keep";
  f.kernels = {{"triton_poi_fused_add_relu_0", 2, 12e6, 5.5}};
  f.kernels_before = 10, f.kernels_after = 4;
  f.gpu_before_us = 100, f.gpu_after_us = 60;
  f.bytes_before = 30e6, f.bytes_after = 12e6;
  f.attention_keep_us = 60, f.attention_math_us = 75;
  r.fusion = f;
  return r;
}

TEST(FusionReport, JsonListsTheGeneratedKernels) {
  const auto json = result_json(compiled_result());
  ASSERT_TRUE(json.contains("fusion"));
  ASSERT_EQ(json["fusion"]["generated"].size(), 1U);
  EXPECT_EQ(json["fusion"]["generated"][0]["name"], "triton_poi_fused_add_relu_0");
  EXPECT_EQ(json["fusion"]["generated"][0]["operations"], 2);
  EXPECT_EQ(json["fusion"]["kernels_after"], 4);
  EXPECT_FALSE(result_json(Result{}).contains("fusion"));
}

TEST(FusionReport, TheSummaryGivesBothKindsOfAttention) {
  const std::string text = summary_text(compiled_result());
  EXPECT_NE(text.find("inductor: kernels 10 -> 4"), std::string::npos);
  EXPECT_NE(text.find("75.0 us with attention by products"), std::string::npos);
  EXPECT_EQ(summary_text(Result{}).find("fusion"), std::string::npos);
}

}  // namespace
}  // namespace tandem
