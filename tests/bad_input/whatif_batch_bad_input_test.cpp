#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "sim/core/fields/field.h"
#include "sim/predict/predict.h"
#include "tests/bad_input/messages.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/whatif/whatif_batch_for_tests.h"

namespace tandem {
namespace {

using test::has;
using test::message_of;

using test::BatchTraceMaker;
using test::options_for;

std::string error_of(const BatchTraceMaker& base, std::int64_t from, std::int64_t to) {
  return message_of([&] {
    LossList losses;
    with_batch(base.run(from), options_for(to), losses);
  });
}

TEST(WhatifBatchBadInput, ABatchIsAPositiveNumberOfItems) {
  const BatchTraceMaker base(64);
  for (const std::int64_t batch : {std::int64_t{0}, std::int64_t{-8}, std::int64_t{1} << 40}) {
    EXPECT_TRUE(has(error_of(base, 64, batch), "found " + std::to_string(batch))) << batch;
    EXPECT_TRUE(has(error_of(base, batch, 64), "found " + std::to_string(batch))) << batch;
  }
}

TEST(WhatifBatchBadInput, ATraceWithoutTheBatchNamesWhatItFound) {
  const std::string text = error_of(BatchTraceMaker(64), 37, 74);
  EXPECT_TRUE(has(text, "64 (")) << text;
  EXPECT_TRUE(has(text, "multiple of the traced batch 37")) << text;
}

TEST(WhatifBatchBadInput, GridsThatCudaCannotLaunch) {
  const std::string text = error_of(BatchTraceMaker(1), 1, (std::int64_t{1} << 31) - 1);
  EXPECT_TRUE(has(text, "blocks, expected a smaller batch: a grid has at most 2147483647")) << text;
}

TEST(WhatifBatchBadInput, TwoBasesOfOneModelAtTwoBatches) {
  const BatchTraceMaker a(64), b(128), wider(128, 1, 2048);
  const auto error = [&](const BatchTraceMaker& second, std::int64_t batch) {
    return message_of([&] {
      LossList losses;
      with_batch(a.run(64), second.run(batch), options_for(32), losses);
    });
  };
  EXPECT_EQ(error(b, 128), "no error");
  EXPECT_TRUE(has(error(wider, 128), "other parameter shapes"));
  EXPECT_TRUE(has(error(a, 64), "a batch that differs"));
  BatchTraceMaker other(128);
  for (std::uint32_t i = 0; i < other.trace.ops.size(); ++i) {
    other.trace.ops.name[i] = other.trace.strings.intern("other" + std::to_string(i));
  }
  EXPECT_TRUE(has(error(other, 128), "operations in common"));
}

TEST(WhatifBatchBadInput, ConstantsAreAllNamedAndAllThere) {
  const std::string source = source_path("configs/kernels/batch.json");
  const std::string path = testing::TempDir() + "/batch_law_test.json";
  const auto error = [&](const auto& change) {
    Json json = read_json_file(source);
    change(json);
    std::ofstream(path) << json.dump();
    return message_of([&] { load_batch_law(path); });
  };
  EXPECT_TRUE(has(error([](Json& j) { j["constants"].erase("dram_share"); }), "dram_share"));
  EXPECT_TRUE(has(error([](Json& j) { j["constants"]["typo"] = 1; }), "unknown key \"typo\""));
  EXPECT_TRUE(has(error([](Json& j) { j["constants"]["l2_gain"]["value"] = -1; }), "l2_gain"));
  EXPECT_TRUE(has(error([](Json& j) { j["extra"] = 1; }), "one of: name, constants"));
  std::remove(path.c_str());
}

// The same model in FP32 and in mixed precision: between them no law of the batch can be read off.
TEST(WhatifBatchBadInput, BasesOfTwoPrecisions) {
  const std::string traces =
      source_path("validation/captures/h200_2026-11-21_precisions_holdout/traces/");
  ReplayOptions o;
  o.configs = source_path("configs");
  o.trace_path = traces + "vit_b_16-train-fp32-eager-b16.json.zst";
  o.base_path = traces + "vit_b_16-train-amp-eager-b16.json.zst";
  o.what_ifs.set("batch", 64);
  const std::string text = message_of([&] { replay(o); });
  EXPECT_TRUE(has(text, "vit_b_16-train-amp-eager-b16.json.zst")) << text;
  EXPECT_TRUE(has(text, "a trace in amp, expected fp32")) << text;
}

}  // namespace
}  // namespace tandem
