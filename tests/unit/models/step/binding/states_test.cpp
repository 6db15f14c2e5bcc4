// What a step writes into and has not made: caches of keys and values, kept from step to step.
#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "models/step/dataflow.h"
#include "models/step/memory/step_memory.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;
using test::maker_of;

constexpr std::string_view copied = R"(["c10::Half","Scalar","long int","c10::Half"])";
constexpr std::string_view two_halves = R"(["c10::Half","c10::Half","Scalar"])";
constexpr std::string_view one_word = "[[4,8,64,16],[],[1],[4,8,1,16]]";

/// A word's keys and values are written into their caches of 64 words.
void write_word(FlowMaker& m) {
  m.op("aten::index_copy_", one_word, copied);
  m.op("aten::index_copy_", one_word, copied);
}

bool written_state(const Dataflow& flow, std::size_t op) {
  return flow.tensors[flow.outputs_of(flow.ops[op])[0]].state;
}

// Both have 4 x 8 x 64 x 16 halves: each is written once a step.
TEST(States, CachesOfOneSizeAreTwo) {
  FlowMaker m;
  write_word(m);
  m.op("aten::scaled_dot_product_attention", "[[4,8,1,16],[4,8,64,16],[4,8,64,16],[],[],[],[],[]]",
       R"(["c10::Half","c10::Half","c10::Half","","Scalar","Scalar","Scalar","Scalar"])");
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  EXPECT_EQ(maker_of(flow, 0, 0), no_row);
  EXPECT_EQ(maker_of(flow, 1, 0), no_row);
  EXPECT_NE(flow.inputs_of(flow.ops[0])[0].tensor, flow.inputs_of(flow.ops[1])[0].tensor);
  EXPECT_TRUE(written_state(flow, 0));
  EXPECT_TRUE(written_state(flow, 1));
  const std::set<std::uint32_t> read{maker_of(flow, 2, 1), maker_of(flow, 2, 2)};
  EXPECT_EQ(read, (std::set<std::uint32_t>{0, 1}));
}

// Four heads that share keys and values read copies of them: one of each, though a copy alone would
// be one of the latest tensor.
TEST(States, EachIsReadOnceBeforeOneIsReadAgain) {
  FlowMaker m;
  write_word(m);
  m.strides = "[[32768,4096,1024,16,1],[8192,1024,0,16,1],[]]";
  m.op("aten::copy_", "[[4,8,4,64,16],[4,8,4,64,16],[]]", two_halves);
  m.op("aten::copy_", "[[4,8,4,64,16],[4,8,4,64,16],[]]", two_halves);
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 4U);
  EXPECT_EQ(maker_of(flow, 2, 1), 1U);
  EXPECT_EQ(maker_of(flow, 3, 1), 0U);
}

TEST(States, WhatTheStepHasMadeIsNone) {
  FlowMaker m;
  m.op("aten::tanh", "[[4,8,64,16]]", R"(["c10::Half"])");
  m.op("aten::index_copy_", one_word, copied);
  m.op("aten::index_copy", one_word, copied);  // makes another one
  const Dataflow flow = dataflow(m.step());
  ASSERT_EQ(flow.ops.size(), 3U);
  EXPECT_EQ(maker_of(flow, 1, 0), 0U);
  EXPECT_FALSE(written_state(flow, 1));
  EXPECT_FALSE(written_state(flow, 2));
}

// 4 x 8 x 64 x 16 halves are 65536 bytes each, there all along; the keys and values of a word are
// 1024 bytes, which both read as one input, and the word's index is a block of 512. Behind them a
// tanh of 32768 bytes reads an input of 32768 bytes.
TEST(States, TheyStayThroughoutTheStep) {
  FlowMaker m;
  write_word(m);
  m.op("aten::tanh", "[[4,2048]]", R"(["float"])");
  const auto live = live_tensors(m.step(), 4);
  ASSERT_FALSE(live.empty());
  EXPECT_EQ(live.back().bytes(), 2 * 65536 + 1024 + 2 * 32768);
}

// A generated kernel lists the cache last, where its results stand; it reads nothing as large.
TEST(States, GeneratedCodeFillsPlacesOfThem) {
  const auto kept = [](std::string_view kernel, std::string_view dims) {
    FlowMaker m;
    m.op("Torch-Compiled Region>" + std::string(kernel), dims,
         R"(["long int","c10::Half","c10::Half","Scalar"])");
    const Dataflow flow = dataflow(m.step());
    EXPECT_EQ(flow.ops.size(), 1U);
    return written_state(flow, 0);
  };
  constexpr std::string_view cache = "[[1],[4,128],[4,8,64,16],[]]";
  EXPECT_TRUE(kept("triton_poi_fused_add_index_copy_1", cache));
  EXPECT_TRUE(kept("triton_poi_fused_index_put_view_2", cache));
  EXPECT_FALSE(kept("triton_poi_fused_add_view_1", cache));
  EXPECT_FALSE(kept("triton_poi_fused_index_put_2", "[[1],[4,8,64,16],[4,8,64,16],[]]"));
}

}  // namespace
}  // namespace tandem
