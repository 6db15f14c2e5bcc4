// Layers of attention that are one call without autocast and pieces under it, exchanged.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "models/whatif/precision/precision.h"
#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/precision_for_tests.h"

namespace tandem {
namespace {

using test::FlowMaker;
using test::precision_bench;

constexpr const char* call_halves = R"(["c10::Half","c10::Half"])";
constexpr const char* call_copy = R"(["c10::Half","c10::Half","Scalar"])";
constexpr const char* call_bias = R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar"])";
constexpr const char* call_down = R"(["c10::Half","float","Scalar"])";
constexpr const char* call_turned = "[[64,512,1],[64,512,1],[]]";
constexpr const char* call_product = "nvjet_sm90_hsh_128x144_64x6_2x1_v_bz_coopA_bias_TNT";
constexpr const char* call_strided = "void at::native::elementwise_kernel<128, 4, copy>";
constexpr const char* call_dims = "[[8,4,128,16],[8,4,128,16],[8,4,128,16],[],[],[],[],[]]";
constexpr const char* call_types =
    R"(["c10::Half","c10::Half","c10::Half","","Scalar","Scalar","Scalar","Scalar"])";
constexpr const char* call_attention =
    "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16";

/// 8 sequences of 128 positions, four heads of 16: a layer in pieces under autocast, a sum that
/// finds its result turned, and a norm that copies the sum.
Step in_pieces() {
  FlowMaker m;
  m.op("aten::linear>aten::to>aten::_to_copy>aten::copy_", "[[192,64],[192,64],[]]", call_down);
  m.around_dims = "[[128,8,64],[64,192]]", m.around_types = call_halves;
  m.around_strides = "[[64,8192,1],[1,64]]";
  m.op("aten::matmul>aten::reshape>aten::clone>aten::copy_", "[[128,8,64],[128,8,64],[]]",
       call_copy, "", call_strided);
  m.within_last = true;
  m.op("aten::matmul>aten::mm", "[[1024,64],[64,192]]", call_halves, "", call_product);
  m.op("aten::matmul>aten::add_", "[[128,8,192],[192],[]]", call_copy, "", call_strided);
  m.within_last = false, m.around_dims.clear();
  m.idle("aten::unflatten", "[[128,8,192],[],[]]", R"(["c10::Half","Scalar","ScalarList"])");
  m.op("aten::contiguous>aten::clone>aten::copy_", "[[3,128,8,64],[3,128,8,64],[]]", call_copy, "",
       call_strided);
  m.op("aten::scaled_dot_product_attention>aten::_scaled_dot_product_cudnn_attention", call_dims,
       call_types, R"(["","","","","False","0.","False","False"])", call_attention);
  m.op("aten::linear>aten::addmm", "[[64],[1024,64],[64,64],[],[]]", call_bias, "", call_product);
  m.strides = "[[64,512,1],[8192,64,1],[]]";
  m.op("aten::add", "[[8,128,64],[8,128,64],[]]", R"(["c10::Half","float","Scalar"])", "",
       call_strided);
  m.strides = call_turned;
  m.op("aten::layer_norm>aten::native_layer_norm>aten::contiguous>aten::clone>aten::copy_",
       "[[8,128,64],[8,128,64],[]]", R"(["float","float","Scalar"])", "", call_strided);
  m.strides.clear();
  m.op("aten::layer_norm>aten::native_layer_norm", "[[8,128,64],[],[64],[64],[]]",
       R"(["float","ScalarList","float","float","Scalar"])", "", "vectorized_layer_norm_kernel");
  return m.step();
}

/// The same layer in one call, of weights in 16 bits.
Step in_one_call() {
  FlowMaker m;
  const std::string call = "aten::_native_multi_head_attention>";
  m.around_dims = "[[8,128,64],[8,128,64],[8,128,64]]";
  m.around_types = R"(["c10::Half","c10::Half","c10::Half"])";
  m.op(call + "aten::linear>aten::addmm", "[[192],[1024,64],[64,192],[],[]]", call_bias, "",
       call_product);
  m.within_last = true;
  m.op(call + "aten::_scaled_dot_product_cudnn_attention", call_dims, call_types,
       R"(["","","","","False","0.","False","False"])", call_attention);
  m.op(call + "aten::linear>aten::addmm", "[[64],[1024,64],[64,64],[],[]]", call_bias, "",
       call_product);
  m.within_last = false, m.around_dims.clear();
  m.op("aten::add", "[[8,128,64],[8,128,64],[]]", call_copy, "", "vectorized_elementwise_kernel");
  m.op("aten::layer_norm>aten::native_layer_norm", "[[8,128,64],[],[64],[64],[]]",
       R"(["c10::Half","ScalarList","c10::Half","c10::Half","Scalar"])", "",
       "vectorized_layer_norm_kernel");
  return m.step();
}

constexpr const char* call_norm = R"(["c10::Half","ScalarList","c10::Half","c10::Half","Scalar"])";

constexpr const char* call_norm_kernel =
    "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::Half, float, false>";

/// A block of torch.nn.TransformerEncoder in one call, of weights in 16 bits; `gelu`: "True" or
/// "False", for ReLU.
Step block_in_one_call(const char* gelu) {
  FlowMaker m;
  const std::string block = "aten::_transformer_encoder_layer_fwd>";
  const std::string call = block + "aten::_native_multi_head_attention>";
  const char* const norm_dims = "[[8,128,64],[],[64],[64],[]]";
  m.op("aten::embedding>aten::gather", "[[100,64],[],[1024,64],[],[1024,64]]",
       R"(["c10::Half","Scalar","long","Scalar","c10::Half"])", "", "vectorized_gather_kernel");
  m.op(call + "aten::linear>aten::addmm", "[[192],[1024,64],[64,192],[],[]]", call_bias, "",
       call_product);
  m.within_last = true;
  m.op(call + "aten::_scaled_dot_product_cudnn_attention", call_dims, call_types,
       R"(["","","","","False","0.","False","False"])", call_attention);
  m.op(call + "aten::linear>aten::addmm", "[[64],[1024,64],[64,64],[],[]]", call_bias, "",
       call_product);
  m.within_last = false;
  m.op(block + "aten::add_", "[[8,128,64],[8,128,64],[]]", call_copy, "",
       "vectorized_elementwise_kernel");
  m.op(block + "aten::layer_norm>aten::native_layer_norm", norm_dims, call_norm, "",
       call_norm_kernel);
  m.op(block + "aten::_addmm_activation", "[[256],[1024,64],[64,256],[],[],[]]",
       R"(["c10::Half","c10::Half","c10::Half","Scalar","Scalar","Scalar"])",
       std::string(R"(["","","","1","1",")") + gelu + R"("])", call_product);
  m.op(block + "aten::linear>aten::addmm", "[[64],[1024,256],[256,64],[],[]]", call_bias, "",
       call_product);
  m.op(block + "aten::add_", "[[8,128,64],[8,128,64],[]]", call_copy, "",
       "vectorized_elementwise_kernel");
  m.op(block + "aten::layer_norm>aten::native_layer_norm", norm_dims, call_norm, "",
       call_norm_kernel);
  return m.step();
}

/// The block behind in_pieces(), whose norm comes after the sum with what attention was asked of.
Step block_in_pieces() {
  FlowMaker m;
  const char* const floats = R"(["float","float","Scalar"])";
  m.op("aten::mul", "[[8,128,64],[8,128,64]]", R"(["float","float"])", "", "mul");
  m.op("aten::linear>aten::to>aten::_to_copy>aten::copy_", "[[128,8,64],[128,8,64],[]]", call_down);
  m.op("aten::matmul>aten::reshape>aten::clone>aten::copy_", "[[128,8,64],[128,8,64],[]]",
       call_copy, "", call_strided);
  m.around_dims = "[[128,8,64],[64,192]]", m.around_types = call_halves;
  m.around_strides = "[[64,8192,1],[1,64]]";
  m.within_last = true;
  m.op("aten::matmul>aten::mm", "[[1024,64],[64,192]]", call_halves, "", call_product);
  m.op("aten::matmul>aten::add_", "[[128,8,192],[192],[]]", call_copy, "", call_strided);
  m.within_last = false, m.around_dims.clear();
  m.idle("aten::unflatten", "[[128,8,192],[],[]]", R"(["c10::Half","Scalar","ScalarList"])");
  m.op("aten::contiguous>aten::clone>aten::copy_", "[[3,128,8,64],[3,128,8,64],[]]", call_copy, "",
       call_strided);
  m.op("aten::scaled_dot_product_attention>aten::_scaled_dot_product_cudnn_attention", call_dims,
       call_types, R"(["","","","","False","0.","False","False"])", call_attention);
  m.op("aten::linear>aten::addmm", "[[64],[1024,64],[64,64],[],[]]", call_bias, "", call_product);
  m.op("aten::add", "[[8,128,64],[8,128,64],[]]", floats, "", call_strided);
  m.op("aten::layer_norm>aten::native_layer_norm", "[[8,128,64],[],[64],[64],[]]",
       R"(["float","ScalarList","float","float","Scalar"])", "", "vectorized_layer_norm_kernel");
  m.op("aten::linear>aten::to>aten::_to_copy>aten::copy_", "[[8,128,64],[8,128,64],[]]", call_down);
  m.op("aten::linear>aten::addmm", "[[256],[1024,64],[64,256],[],[]]", call_bias, "", call_product);
  m.op("aten::gelu", "[[8,128,256],[]]", R"(["c10::Half","Scalar"])", "", "GeluCUDAKernelImpl");
  m.op("aten::linear>aten::addmm", "[[64],[1024,256],[256,64],[],[]]", call_bias, "", call_product);
  m.op("aten::add", "[[8,128,64],[8,128,64],[]]", floats, "", call_strided);
  return m.step();
}

Step exchanged_to(Step step, Precision to, bool compiled, LossList& losses) {
  const test::PrecisionBench& m = precision_bench();
  return with_precision(std::move(step), to, m.h200(), m.law, m.time, m.names, m.layers, m.host,
                        losses, nullptr, compiled);
}

std::size_t strided_kernels(const Step& step) {
  const auto names = test::kernel_names(step);
  return static_cast<std::size_t>(
      std::count_if(names.begin(), names.end(), [](const std::string& name) {
        return name.find("::elementwise_kernel") != std::string::npos;
      }));
}

// The cast of the weight, the copies of the input, of queries, keys and values and of the sum, and
// the bias vanish; the product, attention, the layer behind it, the sum and the norm stay.
TEST(PrecisionCalls, PiecesBecomeOneCall) {
  LossList losses;
  const Step before = in_pieces();
  const Step after = exchanged_to(before, Precision::fp16w, false, losses);
  EXPECT_EQ(before.plan.works.size(), 10U);
  EXPECT_EQ(after.plan.works.size(), 5U);
  EXPECT_TRUE(losses.all().empty());
}

// Copies of 64 K halves, a bias and a copy of 192 K, and a copy before the norm, of which the sum
// lies turned; five weights, biases and the layer's input are cast besides.
TEST(PrecisionCalls, OneCallBecomesPieces) {
  LossList losses;
  const Step after = exchanged_to(in_one_call(), Precision::amp, false, losses);
  EXPECT_EQ(strided_kernels(after), 4U);
  EXPECT_TRUE(losses.all().empty());
}

std::size_t kernels_with(const Step& step, std::string_view part) {
  const auto names = test::kernel_names(step);
  return static_cast<std::size_t>(
      std::count_if(names.begin(), names.end(),
                    [&](const std::string& name) { return name.find(part) != std::string::npos; }));
}

// The function of the product's result becomes a kernel. Under autocast sums are new tensors, in
// FP32 as the block's input is: no norm needs a cast, as it would of sums in place in 16 bits.
TEST(PrecisionCalls, BlocksInOneCallBecomePieces) {
  LossList losses;
  const Step gelu = exchanged_to(block_in_one_call("True"), Precision::amp, false, losses);
  const Step relu = exchanged_to(block_in_one_call("False"), Precision::amp, false, losses);
  EXPECT_EQ(kernels_with(gelu, "Gelu"), 1U);
  EXPECT_EQ(kernels_with(relu, "Gelu"), 0U);
  EXPECT_EQ(kernels_with(relu, "clamp"), 1U);
  EXPECT_EQ(kernels_with(gelu, "vectorized_layer_norm_kernel<float, float"), 2U);
  EXPECT_EQ(kernels_with(gelu, "unrolled_elementwise_kernel<at::native::direct_copy"), 0U);
}

// The product behind the norm applies GELU itself.
TEST(PrecisionCalls, PiecesBecomeABlockInOneCall) {
  LossList losses;
  const Step after = exchanged_to(block_in_pieces(), Precision::fp16w, false, losses);
  EXPECT_EQ(kernels_with(after, "Gelu"), 0U);
  const Step full = exchanged_to(block_in_pieces(), Precision::fp32, false, losses);
  EXPECT_EQ(kernels_with(full, "Gelu"), 1U);
}

// A compiler takes the call apart by itself.
TEST(PrecisionCalls, StayForACompiler) {
  LossList losses;
  EXPECT_EQ(strided_kernels(exchanged_to(in_one_call(), Precision::amp, true, losses)), 0U);
}

}  // namespace
}  // namespace tandem
