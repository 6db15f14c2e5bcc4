// What the framework does for its own kernels and compiled code does otherwise: caches, statistics,
// layers in one call, inputs of CUDA graphs.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>

#include "models/whatif/compile/host/graph_inputs.h"
#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;

/// Bytes of the generated kernels whose names hold a word, and their number.
struct Passed {
  double bytes = 0;
  int kernels = 0;
};
Passed passed(const CompileBench& bench, std::string_view word) {
  Passed out;
  for (const FusedKernel& kernel : bench.report.kernels) {
    if (kernel.name.find(word) == std::string::npos) continue;
    out.bytes += kernel.bytes, ++out.kernels;
  }
  return out;
}

// A word of 32 x 12 heads of 64: 24576 halves are read and written, 98304 bytes, and 8 of the
// index; the cache of 1024 words has 50 MB. A table that the step made is copied whole.
TEST(CompiledPieces, AWordIsWrittenIntoACacheInPlace) {
  const auto bytes = [](bool made) {
    FlowMaker m;
    m.op("aten::tanh", "[[32,12,1,64]]", R"(["c10::Half"])");
    if (made) m.op("aten::sigmoid", "[[32,12,1024,64]]", R"(["c10::Half"])");
    m.op("aten::index_copy_", "[[32,12,1024,64],[],[1],[32,12,1,64]]",
         R"(["c10::Half","Scalar","long int","c10::Half"])");
    m.op("aten::mm", "[[8,16],[16,4]]", R"(["c10::Half","c10::Half"])", "", "hgemm");
    CompileBench bench;
    bench.compile(m.step());
    return passed(bench, "index_copy").bytes;
  };
  EXPECT_LE(bytes(false), 2 * 2 * 24576 + 8);
  EXPECT_GT(bytes(false), 0);
  EXPECT_GE(bytes(true), 2 * 2 * 32 * 12 * 1024 * 64);
}

// The framework's kernel wants a mean of each channel in FP32, generated code converts as it reads.
TEST(CompiledPieces, StatisticsOfANormAreNotConvertedByAKernelOfTheirOwn) {
  FlowMaker m;
  m.op(
      "aten::batch_norm>aten::native_batch_norm", "[[8,64,16,16],[64],[64],[64],[64],[],[],[]]",
      R"(["c10::Half","c10::Half","c10::Half","c10::Half","c10::Half","Scalar","Scalar","Scalar"])",
      R"(["","","","","","False","0.1","1e-05"])",
      "void at::native::batch_norm_transform_input_channels_last_kernel");
  m.op("aten::batch_norm>aten::native_batch_norm>aten::copy_", "[[64],[64],[]]",
       R"(["float","c10::Half","Scalar"])");
  m.op("aten::mm", "[[8,16],[16,4]]", R"(["c10::Half","c10::Half"])", "", "hgemm");
  CompileBench bench;
  bench.compile(m.step());
  EXPECT_EQ(passed(bench, "batch_norm").kernels, 1);
  EXPECT_EQ(passed(bench, "copy").kernels, 0);
}

// torch.nn.MultiheadAttention in one call: of its projection, query, key and value are copied when
// the bias is added, 2 x 4 x 128 x 64 halves each, read and written.
TEST(CompiledPieces, ALayerInOneCallIsTakenApart) {
  const auto copies = [](const std::string& around) {
    FlowMaker m;
    m.op(around + "aten::_scaled_dot_product_cudnn_attention",
         "[[2,4,128,64],[2,4,128,64],[2,4,128,64],[],[],[],[],[]]",
         R"(["c10::Half","c10::Half","c10::Half","","Scalar","Scalar","Scalar","Scalar"])",
         R"(["","","","","False","0.","False","False"])",
         "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16");
    CompileBench bench;
    bench.compile(m.step());
    return passed(bench, "add_clone");
  };
  EXPECT_EQ(copies("aten::scaled_dot_product_attention>").kernels, 0);
  const Passed apart = copies("aten::_native_multi_head_attention>");
  EXPECT_EQ(apart.kernels, 3);
  EXPECT_EQ(apart.bytes, 3 * 2 * 2 * 2 * 4 * 128 * 64);
}

// A block of torch.nn.TransformerEncoder is one call of the framework for compiled code, too: the
// norm in it stays a kernel, one beside it does not.
TEST(CompiledPieces, ABlockInOneCallStaysTheFrameworks) {
  const auto norms = [](const std::string& around) {
    FlowMaker m;
    m.op(around + "aten::layer_norm>aten::native_layer_norm", "[[8,128,64],[],[64],[64],[]]",
         R"(["c10::Half","ScalarList","c10::Half","c10::Half","Scalar"])", "",
         "vectorized_layer_norm_kernel");
    CompileBench bench;
    const auto names = test::kernel_names(bench.compile(m.step()));
    return std::count(names.begin(), names.end(), "vectorized_layer_norm_kernel");
  };
  EXPECT_EQ(norms(""), 0);
  EXPECT_EQ(norms("aten::_transformer_encoder_layer_fwd>"), 1);
}

// 10 images of 3 x 64 x 64 floats, 491520 bytes, are copied into a CUDA graph; a layer's weight and
// what the graph itself makes lie where they are. Without CUDA graphs nothing is copied.
TEST(CompiledPieces, InputsAreCopiedIntoACudaGraph) {
  const auto copies = [](Compiler compiler) {
    FlowMaker m;
    m.op("aten::copy_", "[[10,3,64,64],[10,3,64,64],[]]", R"(["c10::Half","float","Scalar"])");
    m.op("aten::cudnn_convolution", "[[10,3,64,64],[8,3,3,3],[],[],[],[]]",
         R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])",
         R"(["","","[1, 1]","[1, 1]","[1, 1]","1"])", "sm80_xmma_fprop_implicit_gemm_f16f16");
    CompileBench bench;
    const auto names = test::kernel_names(bench.compile(m.step(), compiler));
    return std::count_if(names.begin(), names.end(), [](const std::string& name) {
      return name.find("multi_tensor_apply") != std::string::npos;
    });
  };
  EXPECT_EQ(copies(Compiler::inductor), 0);
  EXPECT_EQ(copies(Compiler::reduce_overhead), 1);
}

// Without bytes a block takes 16 us for the 65536 elements of its chunk, or its part of them; of
// 640 chunks a launch takes 320.
TEST(CompiledPieces, ACopyOfInputsTakesAChunkABlock) {
  const CompileBench bench;
  const FloorAndShare moving{0, 1};
  const auto us = [&](double elements, double bytes) {
    return input_copy_us(bench.gpu(), moving, 16, {0, bytes, elements, elements / 65536});
  };
  EXPECT_NEAR(us(32768, 0), 8, 1e-9);
  EXPECT_NEAR(us(65536 * 320.0, 0), 16, 1e-9);
  EXPECT_NEAR(us(65536 * 640.0, 0), 32, 1e-9);
  const double moved_us = 2 * 3e8 / (bench.gpu().dram_peak_gbps * 1e3);
  EXPECT_NEAR(us(65536, 3e8), std::hypot(16, moved_us), 1e-6);
}

}  // namespace
}  // namespace tandem
