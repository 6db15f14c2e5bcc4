// Copies of a convolution's tensors in the order of its kernels.
#include "models/step/memory/workspace.h"

#include <gtest/gtest.h>

#include <array>
#include <initializer_list>
#include <string>
#include <string_view>

#include "models/runtime/device_timing.h"
#include "models/runtime/measured_plan.h"
#include "models/step/memory/step_memory.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/whatif/flow_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

struct Launch {
  std::string_view name;
  std::array<std::uint32_t, 3> grid;
};

constexpr std::string_view to_nhwc = "void cudnn::nchwToNhwcKernel<float, float, float>";
constexpr std::string_view to_nchw = "void cudnn::nhwcToNchwKernel<float, float, float>";
constexpr std::string_view product =
    "sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc";

/// 2 images of 32 channels and 32 x 32 pixels, 3 x 3 taps, 32 channels again. `layer`: operands of
/// the operation around the library's call.
Step convolution(std::initializer_list<Launch> launches, std::string_view layer = "") {
  test::TraceMaker m;
  m.step(0, 0, 400);
  if (!layer.empty()) {
    m.operands(m.op("aten::convolution", 5, 310, 0), {layer, R"(["float","float"])", "", ""});
  }
  const std::uint32_t op = m.op("aten::cudnn_convolution", 10, 300, 0);
  m.operands(op, {"[[2,32,32,32],[32,32,3,3],[],[],[],[]]",
                  R"(["float","float","ScalarList","ScalarList","ScalarList","Scalar"])", "",
                  R"(["","","[1, 1]","[1, 1]","[1, 1]","1"])"});
  double at = 20;
  int n = 0;
  for (const Launch& launch : launches) {
    m.launch(at, 4, 100 + n, 0);
    const std::uint32_t a = m.kernel(at + 6, 8, 100 + n, 0, launch.name);
    LaunchGeometry geometry;
    geometry.grid = launch.grid;
    m.trace.activities.geometry[a] = GeometryId{m.trace.geometries.size()};
    m.trace.geometries.push_back(geometry);
    at += 20, ++n;
  }
  const HostModel host = load_host_model(source_path("configs/hosts/default.json"));
  const Links links = link_trace(m.trace);
  const DeviceTiming timing(m.trace, links, host);
  const MeasuredPlan measured = measured_plan(m.trace, links, host, timing);
  return cut_step(m.trace, links, step_plan(m.trace, measured, host, Profiler::keep));
}

constexpr double image = 2 * 32 * 32 * 32 * 4;
constexpr double weight = 32 * 32 * 3 * 3 * 4;

// Products of matrices have a library of their own, each thread that runs one a handle of it.
TEST(Workspace, AStepOfConvolutionsHasNoHandleOfProducts) {
  const Step alone = convolution({{product, {8, 1, 1}}});
  EXPECT_EQ(product_handles(alone, dataflow(alone), true), 0);
  for (const bool trains : {false, true}) {
    test::FlowMaker m;
    m.sequence = 1;
    m.op("aten::mm", "[[8,16],[16,16]]", R"(["float","float"])");
    m.thread = 1;
    const std::string node = "autograd::engine::evaluate_function: MmBackward0>aten::mm";
    if (trains) m.op(node, "[[8,16],[16,16]]", R"(["float","float"])");
    const Step step = m.step();
    EXPECT_EQ(product_handles(step, dataflow(step), trains), trains ? 2 : 1);
  }
}

TEST(Workspace, NothingBesideOperandsAndResultWithoutCopies) {
  const Step step = convolution({{product, {8, 1, 1}}});
  EXPECT_EQ(worst_bytes(live_tensors(step, 2)), 2 * image);
}

// 32 x 1 tiles of 32 pixels and 32 channels for each of 2 images, 1 x 1 for each of 32 filters: the
// image, the filters and the result are there twice.
TEST(Workspace, CopiesLiveWhileTheConvolutionRuns) {
  const Step step = convolution(
      {{to_nhwc, {32, 1, 2}}, {to_nhwc, {1, 1, 32}}, {product, {8, 1, 1}}, {to_nchw, {32, 1, 2}}});
  const auto live = live_tensors(step, 2);
  ASSERT_FALSE(live.empty());
  EXPECT_EQ(live.back().growing_bytes, 4 * image);
  EXPECT_EQ(live.back().fixed_bytes, weight);
}

// What follows a product belongs to the next one, which has a workspace of its own.
TEST(Workspace, OfTwoProductsTheLargerOne) {
  const Step step = convolution(
      {{to_nhwc, {1, 1, 32}}, {product, {8, 1, 1}}, {to_nhwc, {32, 1, 2}}, {product, {8, 1, 1}}});
  const Dataflow flow = dataflow(step);
  ASSERT_EQ(flow.ops.size(), 1U);
  const auto copies = reordered_tensors(step, flow, flow.ops[0]);
  ASSERT_EQ(copies.size(), 1U);
  EXPECT_EQ(copies[0].bytes, image);
}

// Lines come to the library as images of one row, or as here of some: a compiler leaves them, and
// keeps images in the order of the kernels.
TEST(Workspace, ACompilerTurnsImagesAndLeavesLines) {
  const auto peak = [](std::string_view layer) {
    const Step step = convolution({{to_nhwc, {32, 1, 2}}, {product, {8, 1, 1}}}, layer);
    const auto moments = compiled_tensors(step, dataflow(step), 2, Saving::cheapest);
    return moments.empty() ? 0 : moments.back().bytes();
  };
  const double lines = peak("[[2,32,1024],[32,32,9]]");
  EXPECT_EQ(lines - peak("[[2,32,32,32],[32,32,3,3]]"), image);
}

}  // namespace
}  // namespace tandem
