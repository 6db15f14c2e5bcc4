#include "models/step/attribution.h"

#include <gtest/gtest.h>

#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

/// What a kernel launched in `outer` > `inner` is called.
struct AttributedNames {
  std::string op;
  std::string layer;
};
AttributedNames name(std::string_view outer, std::string_view inner,
                     std::string_view kernel = "k") {
  TraceMaker m;
  if (!outer.empty()) m.op(outer, 0, 100);
  if (!inner.empty()) m.op(inner, 5, 50);
  m.launch(10, 5, 1);
  m.kernel(20, 5, 1, 0, kernel);
  const Links links = link_trace(m.trace);
  const Attribution a = attribute(m.trace, links);
  return {std::string(a.op[0]), std::string(a.layer[0])};
}

TEST(Attribution, OpIsTheOutermostWithoutTheEnginePrefix) {
  EXPECT_EQ(name("aten::conv2d", "aten::cudnn_convolution").op, "aten::conv2d");
  EXPECT_EQ(name("autograd::engine::evaluate_function: ConvolutionBackward0", "").op,
            "ConvolutionBackward0");
  EXPECT_EQ(name("", "").op, "(no operation)");
}

TEST(Attribution, LayerGoesByInnermostThenOutermostThenKernel) {
  EXPECT_EQ(name("aten::conv2d", "aten::cudnn_convolution").layer, "convolution");
  EXPECT_EQ(name("aten::batch_norm", "aten::native_batch_norm").layer, "batch_norm");
  EXPECT_EQ(name("autograd::engine::evaluate_function: AddmmBackward0", "aten::mm").layer,
            "linear");
  EXPECT_EQ(name("aten::scaled_dot_product_attention", "aten::some_helper").layer, "attention");
  EXPECT_EQ(name("aten::_foreach_add_", "").layer, "optimizer");
  EXPECT_EQ(name("aten::relu", "aten::clamp_min").layer, "pointwise");
  EXPECT_EQ(name("", "", "sm90_xmma_fprop_implicit_gemm_conv").layer, "convolution");
  EXPECT_EQ(name("", "", "mystery").layer, "other");
  EXPECT_EQ(name("aten::add", "", "ncclDevKernel_AllReduce").layer, "collective");
}

// What launches a graph says nothing of its kernels: their families do.
TEST(Attribution, KernelsOfAGraphGoByTheirFamily) {
  const auto layer_of = [](std::string_view kernel) {
    TraceMaker m;
    m.op("aten::add", 0, 100);
    m.call("cudaGraphLaunch", 10, 5, 1);
    m.kernel(20, 5, 1, 0, kernel);
    return std::string(attribute(m.trace, link_trace(m.trace)).layer[0]);
  };
  EXPECT_EQ(layer_of("sm80_xmma_gemm_f16f16_f16f32_f32_tn_n_tilesize128x128x32_stage4"), "linear");
  EXPECT_EQ(layer_of("sm80_xmma_fprop_implicit_gemm_indexed_tf32f32"), "convolution");
  EXPECT_EQ(layer_of("triton_per_fused_native_layer_norm_3"), "layer_norm");
  EXPECT_EQ(layer_of("mystery"), "other");
}

TEST(Attribution, CopiesAreCopiesWhateverTheOperation) {
  TraceMaker m;
  m.op("aten::conv2d", 0, 100);
  m.call("cudaMemcpyAsync", 10, 5, 1);
  m.activity(ActivityKind::memcpy, "Memcpy HtoD", 20, 5, 1);
  const Links links = link_trace(m.trace);
  EXPECT_EQ(attribute(m.trace, links).layer[0], "copy");
}

TEST(Attribution, WorkWithoutItsCallIsFoundByExternalId) {
  TraceMaker m;
  m.op("aten::conv2d", 0, 50, 0, "", 77);
  m.op("aten::relu", 60, 5, 0, "", 78);
  m.kernel(20, 5, 999);
  m.trace.activities.external_id[0] = 77;
  m.kernel(30, 5, 998);
  m.trace.activities.external_id[1] = 1234;
  const Links links = link_trace(m.trace);
  const Attribution a = attribute(m.trace, links);
  EXPECT_EQ(a.op[0], "aten::conv2d");
  EXPECT_EQ(a.op[1], "(no operation)");
}

TEST(Attribution, OfACallIsEmptyOutsideOperations) {
  TraceMaker m;
  m.op("aten::conv2d", 0, 50);
  const auto within = m.launch(10, 5, 1);
  const auto after = m.launch(60, 5, 2);
  m.kernel(20, 5, 1);
  const Links links = link_trace(m.trace);
  const Attribution a = attribute(m.trace, links);
  EXPECT_EQ(a.op_of_call[within], "aten::conv2d");
  EXPECT_EQ(a.op_of_call[after], "");
}

}  // namespace
}  // namespace tandem
