// Parameters of which each rank keeps a part: units that are gathered and scattered.
#include "models/step/memory/sharded_parameters.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

/// A step of one rank that gathers units of parameters before it computes with them.
class ShardedStep {
 public:
  ShardedStep() { maker_.step(0, 0, 1000); }

  void collective(CollectiveKind kind, std::int64_t in_bytes, std::int64_t out_bytes) {
    const double at = 10.0 * ++count_;
    maker_.launch(at, 2, count_);
    const std::uint32_t a = maker_.kernel(at + 4, 5, count_);
    Collective c;
    c.kind = kind, c.in_bytes = in_bytes, c.out_bytes = out_bytes, c.ranks = 2;
    maker_.trace.activities.collective[a] = CollectiveId{maker_.trace.collectives.size()};
    maker_.trace.collectives.push_back(c);
  }
  void gather(std::int64_t whole) { collective(CollectiveKind::all_gather, whole / 2, whole); }
  void scatter(std::int64_t whole) { collective(CollectiveKind::reduce_scatter, whole, whole / 2); }
  void gradient(const std::string& elements) {
    const std::uint32_t op = maker_.op("torch::autograd::AccumulateGrad", 900 + grads_++, 0.5);
    maker_.operands(op, {"[[" + elements + "]]", R"(["float"])", "", ""});
  }
  ShardedParameters sharded() const {
    return sharded_parameters(maker_.trace, link_trace(maker_.trace));
  }

 private:
  TraceMaker maker_;
  std::int64_t count_ = 0;
  double grads_ = 0;
};

// A root of 8000 bytes, gathered and scattered once, and two blocks of 4000: the first is gathered
// for each pass, the second stays after the forward pass.
ShardedStep root_and_blocks() {
  ShardedStep s;
  for (const std::int64_t whole : {8000, 4000, 4000, 4000}) s.gather(whole);
  for (const std::int64_t whole : {4000, 4000, 8000}) s.scatter(whole);
  return s;
}

// Whole at once: the root, a block and the next one. All of the root's gradient lives on and half
// of the blocks': 8000 + 4000 of 16000 bytes.
TEST(ShardedParameters, UnitsGatheredForEachPassAreGivenBack) {
  ShardedStep s = root_and_blocks();
  s.gradient("2000");
  s.gradient("1000");
  s.gradient("1000");
  const ShardedParameters sharded = s.sharded();
  EXPECT_EQ(sharded.ranks, 2);
  EXPECT_DOUBLE_EQ(sharded.gathered_bytes, 8000 + 2 * 4000);
  EXPECT_DOUBLE_EQ(sharded.gradient_share, 12000.0 / 16000.0);
  EXPECT_EQ(sharded.unit_bytes, (std::set<std::int64_t>{2000, 4000, 8000}));
}

// 1000 parameters gathered in 16 bits whose gradients are scattered in FP32, and kept so: the unit
// stays whole, so that its gradient's 4000 bytes all live on, twice the 2000 that are gathered.
TEST(ShardedParameters, MayBeGatheredInANarrowType) {
  ShardedStep s;
  s.gather(2000);
  s.scatter(4000);
  s.gradient("1000");
  const ShardedParameters sharded = s.sharded();
  EXPECT_EQ(sharded.ranks, 2);
  EXPECT_EQ(sharded.width, 2);
  EXPECT_DOUBLE_EQ(sharded.gathered_bytes, 2000);
  EXPECT_DOUBLE_EQ(sharded.gradient_share, 2);
  EXPECT_TRUE(sharded.is_part(1000));
  EXPECT_TRUE(sharded.is_part(2000));  // of the gradient
  EXPECT_FALSE(sharded.is_part(4000));
}

// Gathers of activations: 16000 bytes where the gradients of 100000 parameters are stored.
TEST(ShardedParameters, OtherGathersAreNone) {
  ShardedStep s = root_and_blocks();
  s.gradient("100000");
  const ShardedParameters sharded = s.sharded();
  EXPECT_EQ(sharded.ranks, 1);
  EXPECT_EQ(sharded.gathered_bytes, 0);
  EXPECT_EQ(sharded.gradient_share, 1);
}

TEST(ShardedParameters, WithoutScattersEachRankHoldsAll) {
  ShardedStep s;
  s.gather(4000);
  s.gradient("1000");
  EXPECT_EQ(s.sharded().ranks, 1);
}

}  // namespace
}  // namespace tandem
