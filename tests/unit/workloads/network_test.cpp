#include <gtest/gtest.h>

#include "tests/unit/workloads/network_for_tests.h"
#include "workloads/memory.h"

namespace tandem {
namespace {

using test::network_of;
using test::small_network;

TEST(NetworkExpression, SumsOfProducts) {
  const std::vector<Symbol> symbols = {{"batch", {}, 1}, {"seq", {}, 1}};
  const std::vector<std::int64_t> values = {3, 5};
  const auto at = [&](std::string_view text) {
    std::string unknown;
    return Expression::parse(text, symbols, unknown).value().at(values);
  };
  EXPECT_EQ(at("12"), 12);
  EXPECT_EQ(at("batch*seq*seq"), 75);   // 3 x 5 x 5
  EXPECT_EQ(at("12*batch + seq"), 41);  // 36 + 5
  EXPECT_EQ(at("seq+-1"), 4);           // 5 - 1
  EXPECT_EQ(at("9223372036854775807*seq"), std::nullopt);
}

TEST(NetworkExpression, WhatIsNone) {
  const std::vector<Symbol> symbols = {{"batch", {}, 1}};
  std::string unknown;
  for (const char* text : {"", "batch*", "+1", "batch-1", "2 3", "1.5"}) {
    EXPECT_FALSE(Expression::parse(text, symbols, unknown)) << text;
    EXPECT_EQ(unknown, "") << text;
  }
  EXPECT_FALSE(Expression::parse("2*length", symbols, unknown));
  EXPECT_EQ(unknown, "length");
}

TEST(Network, SizesAtABatch) {
  const Network network = network_of(small_network());
  const SymbolValue batch{"batch", 16};
  const BoundNetwork bound = bind_network(network, {&batch, 1});
  ASSERT_EQ(bound.ops.size(), 2U);
  const OpTensors& tensors = bound.ops[0].operands.tensors;
  ASSERT_EQ(tensors.shapes.size(), 3U);  // bias, input, weight
  EXPECT_EQ(tensors.shapes[1].dims[0], 16);
  EXPECT_EQ(tensors.shapes[2].strides[0], 1);  // a transposed view of the weight
  EXPECT_EQ(bound.ops[0].outputs[0].elements(), 16 * 32);
  EXPECT_EQ(bound.value("batch", 0), 16);
  EXPECT_EQ(bound.value("seq", 7), 7);
  EXPECT_EQ(bound.storage_bytes[1], 32 * 64 * 4);  // both views of the weight
}

TEST(Network, DefaultSizes) {
  const Network network = network_of(small_network());
  EXPECT_EQ(bind_network(network, {}).value("batch", 0), 8);
}

TEST(NetworkMemory, ActivationsLiveFromWriterToLastReader) {
  const Network network = network_of(small_network());
  const SymbolValue batch{"batch", 16};
  const NetworkMemory memory = network_memory(bind_network(network, {&batch, 1}));
  // input 16 x 64 x 4 = 4096, weight 8192, bias 128 rounded to 512
  EXPECT_EQ(memory.kept_bytes, 4096 + 8192 + 512);
  // during the activation both 16 x 32 x 4 = 2048 are alive
  EXPECT_EQ(memory.peak_bytes, memory.kept_bytes + 2048 + 2048);
}

}  // namespace
}  // namespace tandem
