// How a result tells what a compiler made of a step.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/predict/result.h"
#include "sim/report/report.h"

namespace tandem {
namespace {

Result compiled_result() {
  Result r;
  TransformReport report;
  report.name = "compile", report.json = "fusion", report.from = "eager", report.to = "inductor";
  report.expected_error = 0.1;
  report.values = {
      {"kernels_before", "count", "kernels before", std::int64_t{10}, true},
      {"kernels_after", "count", "kernels after", std::int64_t{4}, true},
      {"bytes_after", "B", "of operands after", 12e6},
      {"attention_math_us", "us", "on the GPU with attention by products", 75.0, true},
      {"unknown_share", "share", "of the GPU time without shapes", 0.25, true},
  };
  report.lists = {{"generated",
                   {{{"name", "text", "generated kernel", "triton_poi_fused_add_relu_0"},
                     {"operations", "count", "operations in it", std::int64_t{2}}}}}};
  r.what_ifs = {report};
  return r;
}

TEST(FusionReport, JsonListsTheGeneratedKernels) {
  const auto json = result_json(compiled_result());
  ASSERT_TRUE(json.contains("fusion"));
  ASSERT_EQ(json["fusion"]["generated"].size(), 1U);
  EXPECT_EQ(json["fusion"]["generated"][0]["name"], "triton_poi_fused_add_relu_0");
  EXPECT_EQ(json["fusion"]["generated"][0]["operations"], 2);
  EXPECT_EQ(json["fusion"]["kernels_after"], 4);
  EXPECT_EQ(json["fusion"]["expected_error"], 0.1);
  EXPECT_FALSE(result_json(Result{}).contains("fusion"));
}

TEST(FusionReport, JsonListsWhatIfsWithoutTheirNames) {
  const auto json = result_json(compiled_result());
  ASSERT_EQ(json["what_ifs"].size(), 1U);
  const auto& one = json["what_ifs"][0];
  EXPECT_EQ(one["name"], "compile");
  EXPECT_EQ(one["from"], "eager");
  EXPECT_EQ(one["to"], "inductor");
  EXPECT_EQ(one["values"][1]["name"], "kernels_after");
  EXPECT_EQ(one["values"][1]["value"], 4);
  EXPECT_EQ(result_json(Result{})["what_ifs"].size(), 0U);
}

TEST(FusionReport, TheSummaryGivesBothKindsOfAttention) {
  const std::string text = summary_text(compiled_result());
  EXPECT_NE(text.find("eager -> inductor +- 10.0 %: 10 kernels before, 4 kernels after"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("25 % of the GPU time without shapes"), std::string::npos);
  EXPECT_EQ(text.find("of operands after"), std::string::npos);
  EXPECT_NE(text.find("75.0 us on the GPU with attention by products"), std::string::npos);
  EXPECT_EQ(summary_text(Result{}).find("inductor"), std::string::npos);
}

}  // namespace
}  // namespace tandem
