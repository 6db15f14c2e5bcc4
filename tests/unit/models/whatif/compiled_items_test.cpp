// Products that compiled code runs an item at a time, where the framework copies the items into one
// matrix.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "models/whatif/compile/products.h"
#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;

constexpr const char* item_halves = R"(["c10::Half","c10::Half"])";
constexpr const char* item_cast = R"(["c10::Half","float","Scalar"])";

struct Items {
  bool autocast = true;  // the weight is a cast that the step makes
  bool turned = true;    // positions of the batch lie apart
  bool trains = false;
};

/// A layer of 16 sequences of 197 positions, the positions first.
Step layer_of(const Items& items) {
  FlowMaker m;
  if (items.autocast) {
    m.op("aten::to>aten::_to_copy>aten::copy_", "[[2304,768],[2304,768],[]]", item_cast);
  }
  m.around_dims = "[[197,16,768],[768,2304]]", m.around_types = item_halves;
  m.around_strides = items.turned ? "[[768,151296,1],[1,768]]" : "[[12288,768,1],[1,768]]";
  m.sequence = items.trains ? 1 : -1;
  m.op("aten::matmul>aten::mm", "[[3152,768],[768,2304]]", item_halves, "",
       "nvjet_sm90_hsh_192x144_64x5_1x2_h_bz_coopB_TNT");
  m.around_dims.clear();
  if (items.trains) {
    m.thread = 1;
    m.op("autograd::engine::evaluate_function: MmBackward0>MmBackward0>aten::mm",
         "[[3152,2304],[2304,768]]", item_halves, "", "nvjet_sm90_hsh_192x144_64x5");
  }
  return m.step();
}

std::optional<ProductOperands> unfolded(const Items& items) {
  const Step step = layer_of(items);
  const Dataflow flow = dataflow(step);
  for (const FlowOp& op : flow.ops) {
    if (op.kind == OpKind::matmul) return unfolded_product(step.trace, flow, op);
  }
  return {};
}

TEST(CompiledItems, ACastDoesNotAskForAGradientInInference) {
  const auto product = unfolded({});
  ASSERT_TRUE(product);
  EXPECT_EQ(product->batch, 197);
  EXPECT_EQ(product->rows, 16);
  EXPECT_EQ(product->inner, 768);
  EXPECT_EQ(product->columns, 2304);
}

TEST(CompiledItems, OneMatrixStaysOne) {
  EXPECT_FALSE(unfolded({.autocast = false}));  // a parameter asks for a gradient
  EXPECT_FALSE(unfolded({.turned = false}));    // one matrix as it lies
  EXPECT_FALSE(unfolded({.trains = true}));
}

// 197 items read 768 x 2304 halves, 3.5 MB each: longer than the 8 us of the traced product.
TEST(CompiledItems, TakeThePlaceOfTheTracedProduct) {
  CompileBench bench;
  const Step out = bench.compile(layer_of({}));
  const auto names = test::kernel_names(out);
  const auto traced = [](const std::string& name) { return name.find("nvjet") == 0; };
  EXPECT_TRUE(std::none_of(names.begin(), names.end(), traced));
  double longest = 0;
  for (const DeviceWork& work : out.plan.works) longest = std::max(longest, to_us(work.duration));
  const GpuArch& gpu = bench.gpu();
  const double matrix = 2.0 * 768 * 2304;
  const double read_us = 197 * matrix / (gpu.sm_count * 48 * gpu.boost_clock_mhz);
  EXPECT_NEAR(longest, 1.75 + read_us, 0.1);
  const auto whole = test::kernel_names(bench.compile(layer_of({.autocast = false})));
  EXPECT_TRUE(std::any_of(whole.begin(), whole.end(), traced));
}

// XLA has an algebra of its own.
TEST(CompiledItems, AreOneMatrixUnderXla) {
  CompileBench bench;
  const auto names = test::kernel_names(bench.compile(layer_of({}), Compiler::xla));
  EXPECT_TRUE(std::any_of(names.begin(), names.end(),
                          [](const std::string& name) { return name.find("nvjet") == 0; }));
}

}  // namespace
}  // namespace tandem
