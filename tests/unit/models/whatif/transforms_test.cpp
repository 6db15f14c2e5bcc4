// The table of what-ifs: what may be asked, and that nothing asked is passed over.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "models/arch/gpu_config.h"
#include "models/whatif/transform.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

TEST(Transforms, HaveNamesThatOccurOnce) {
  std::set<std::string_view> names, json, options;
  for (const Transform& t : transforms()) {
    EXPECT_TRUE(names.insert(t.name).second) << t.name;
    EXPECT_TRUE(json.insert(t.json).second) << t.json;
    EXPECT_NE(t.apply, nullptr);
    EXPECT_FALSE(t.doc.empty());
    ASSERT_FALSE(t.options.empty());
    EXPECT_TRUE(t.options.front().asks);
    for (const TransformOption& o : t.options) {
      EXPECT_TRUE(options.insert(o.name).second) << o.name;
      EXPECT_EQ(o.kind == OptionKind::name || o.kind == OptionKind::flag, !o.names.empty())
          << o.name;
      EXPECT_EQ(find_option(o.name), &o);
    }
  }
  EXPECT_GE(names.size(), 4U);
  EXPECT_EQ(find_option("no such"), nullptr);
}

TEST(Transforms, AskByOption) {
  WhatIfs asked;
  asked.set("batch", 64);
  asked.set("precision", "amp");
  asked.set("precision", "bf16");
  EXPECT_EQ(asked.get("batch"), "64");
  EXPECT_EQ(asked.all("precision"), std::vector<std::string>{"bf16"});
  asked.add("set", "gpu.sm_count=1");
  asked.add("set", "gpu.l2_bytes=1");
  EXPECT_EQ(asked.all("set").size(), 2U);
  asked.set("precision", asks_nothing);
  asked.set("batch", "");
  EXPECT_FALSE(asked.has("precision"));
  EXPECT_FALSE(asked.has("batch"));
}

TEST(Transforms, AnOptionThatOnlySaysHowAsksForNothing) {
  WhatIfs asked;
  asked.set("attention", "math");
  for (const Transform& t : transforms()) EXPECT_FALSE(is_asked(t, asked)) << t.name;
  asked.set("compile", "inductor");
  int found = 0;
  for (const Transform& t : transforms()) found += is_asked(t, asked);
  EXPECT_EQ(found, 1);
}

std::string error_of(std::string_view option, const std::string& value) {
  static const GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  try {
    check_option(*find_option(option), value, gpus);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Transforms, ValuesAreChecked) {
  EXPECT_EQ(error_of("precision", "amp"), "no error");
  EXPECT_EQ(error_of("precision", "as-traced"), "no error");
  EXPECT_NE(error_of("precision", "fp8").find("fp32, tf32, amp, bf16"), std::string::npos);
  EXPECT_EQ(error_of("batch", "64"), "no error");
  EXPECT_NE(error_of("batch", "64k").find("--batch: found \"64k\""), std::string::npos);
  EXPECT_NE(error_of("gpu", "h201").find("h201"), std::string::npos);
  EXPECT_NE(error_of("compile", "tvm").find("inductor, reduce-overhead, xla, torchscript"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem
