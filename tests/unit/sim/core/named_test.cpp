// What somebody may have meant.
#include "sim/core/named.h"

#include <gtest/gtest.h>

#include "models/whatif/aliases.h"
#include "models/whatif/transform.h"
#include "sim/predict/options.h"

namespace tandem {
namespace {

const std::vector<std::string> names{"replay", "run", "demo", "describe"};

TEST(NearestName, FewLettersOrAPart) {
  EXPECT_EQ(nearest_name(names, "replya"), 0u);  // two letters swapped
  EXPECT_EQ(nearest_name(names, "RUN"), 1u);
  EXPECT_EQ(nearest_name(names, "scri"), 3u);
  EXPECT_FALSE(nearest_name(names, "frobnicate"));
  EXPECT_FALSE(nearest_name(names, std::string(100, 'r')));
  EXPECT_EQ(expected_name(names, "dem"), "one of: replay, run, demo, describe; did you mean demo?");
}

TEST(Aliases, StandForNamesThatThereAre) {
  std::size_t modes_named = 0;
  for (const Alias& alias : aliases()) {
    if (alias.option == "mode") {
      ReplayOptions o;
      set_mode(alias.text, "", o.mode.mode, o.what_ifs);
      EXPECT_EQ(mode_text(o.mode.mode, o.what_ifs), alias.name);
      ++modes_named;
      continue;
    }
    const TransformOption* option = find_option(alias.option);
    ASSERT_NE(option, nullptr) << alias.option;
    const auto count = std::count(option->names.begin(), option->names.end(), alias.name);
    EXPECT_EQ(count, alias.name == asks_nothing ? 0 : 1) << alias.name;
    EXPECT_EQ(std::count(option->names.begin(), option->names.end(), alias.text), 0) << alias.text;
    EXPECT_EQ(canonical_value(*option, alias.text), alias.name);
  }
  EXPECT_GT(modes_named, 5u);
}

TEST(Aliases, NoneAsksForNothing) {
  for (const char* option : {"compile", "layout"}) {
    WhatIfs asked;
    asked.set(option, "none");
    EXPECT_FALSE(asked.has(option)) << option;
  }
  WhatIfs asked;
  asked.set("input", "none");  // a value of its own
  EXPECT_TRUE(asked.has("input"));
}

TEST(Aliases, CaseAndHyphensDoNotMatter) {
  EXPECT_EQ(canonical_mode("CUDA_Graph"), "cuda-graph");
  WhatIfs asked;
  asked.set("precision", "FP16");
  asked.set("compile", "Reduce_Overhead");
  EXPECT_EQ(asked.get("precision"), "amp");
  EXPECT_EQ(asked.get("compile"), "reduce-overhead");
  asked.set("precision", "fp8");
  EXPECT_EQ(asked.get("precision"), "fp8");  // for its own error
}

}  // namespace
}  // namespace tandem
