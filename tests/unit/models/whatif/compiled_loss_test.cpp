// Which losses a compiler is given, and what it makes of one over the words of a language.
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;

constexpr std::string_view scores_in_fp32 = R"(["float","Scalar","Scalar"])";

void pad_words(FlowMaker& m) {
  m.sequence = -1;
  m.around_dims = "[[8,1024],[],[]]", m.around_types = R"(["long int","ScalarList","Scalar"])";
  m.op("aten::constant_pad_nd>aten::fill_", "[[8,1025],[]]", R"(["long int","Scalar"])");
  m.around_dims.clear();
}

/// What is done to numbers of words.
enum class Words : std::uint8_t { nothing, padded_before, padded_behind, overwritten, minus_one };

/// Scores of 16384 words at 8192 places, whose loss and gradient are computed in FP32.
Step language_step(Words words) {
  FlowMaker m;
  if (words == Words::padded_before) pad_words(m);
  m.sequence = 1;
  m.op("aten::linear>aten::mm", "[[8192,64],[64,16384]]", R"(["c10::BFloat16","c10::BFloat16"])",
       "", "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_TNT");
  m.sequence = 2;
  m.op("aten::_to_copy>aten::copy_", "[[8192,16384],[8192,16384],[]]",
       R"(["float","c10::BFloat16","Scalar"])");
  m.sequence = -1;
  if (words == Words::padded_behind) pad_words(m);
  if (words == Words::overwritten) {
    m.op("aten::masked_fill_", "[[8,1024],[8,1024],[]]", R"(["long int","bool","Scalar"])");
  }
  m.sequence = 3;
  m.op("aten::cross_entropy_loss>aten::_log_softmax", "[[8192,16384],[],[]]", scores_in_fp32,
       R"(["","1","False"])", "cunn_SoftMaxForward");
  m.sequence = 4;
  m.op("aten::cross_entropy_loss>aten::nll_loss_forward", "[[8192,16384],[8192],[],[],[]]",
       R"(["float","long int","","Scalar","Scalar"])",
       words == Words::minus_one ? R"(["","","","1","-1"])" : R"(["","","","1","-100"])",
       "nll_loss_forward_reduce_cuda_kernel_2d");
  m.thread = 1;
  const std::string nll =
      "autograd::engine::evaluate_function: NllLossBackward0>NllLossBackward0>"
      "aten::nll_loss_backward";
  m.op(nll + ">aten::zero_>aten::fill_", "[[8192,16384],[]]", R"(["float","Scalar"])");
  m.within_last = true;
  m.op(nll, "[[],[8192,16384],[8192],[],[],[],[]]",
       R"(["float","float","long int","","Scalar","Scalar","float"])", "",
       "nll_loss_backward_reduce_cuda_kernel_2d");
  m.within_last = false;
  m.sequence = 3;
  m.op(
      "autograd::engine::evaluate_function: LogSoftmaxBackward0>LogSoftmaxBackward0>"
      "aten::_log_softmax_backward_data",
      "[[8192,16384],[8192,16384],[],[]]", R"(["float","float","Scalar","Scalar"])",
      R"(["","","1","6"])", "cunn_SoftMaxBackward");
  m.sequence = 2;
  m.op(
      "autograd::engine::evaluate_function: ToCopyBackward0>ToCopyBackward0>aten::_to_copy>"
      "aten::copy_",
      "[[8192,16384],[8192,16384],[]]", R"(["c10::BFloat16","float","Scalar"])");
  m.sequence = 1;
  m.op("autograd::engine::evaluate_function: MmBackward0>MmBackward0>aten::mm",
       "[[8192,16384],[16384,64]]", R"(["c10::BFloat16","c10::BFloat16"])", "",
       "nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT");
  m.thread = 0;
  m.sequence = -1;
  m.op("aten::_foreach_add_", "[[],[]]", R"(["TensorList","Scalar"])", "", "multi_tensor_apply");
  return m.step();
}

std::size_t kernels_named(const Step& step, std::string_view part) {
  std::size_t count = 0;
  for (const std::string& name : test::kernel_names(step)) count += name.find(part) != name.npos;
  return count;
}

// Where the program computes its loss itself, the framework's kernels stay: also where words were
// padded before the layers that read them.
TEST(CompiledLoss, OneBehindTheModelStaysWithTheFramework) {
  for (const Words words : {Words::nothing, Words::padded_before}) {
    CompileBench s;
    const Step out = s.compile(language_step(words));
    EXPECT_EQ(kernels_named(out, "cunn_SoftMax"), 2U);
    EXPECT_EQ(kernels_named(out, "nll_loss_backward_reduce"), 1U);
  }
}

// Labels that are padded, or in which those that count for nothing get a word or are -1 (nanoGPT),
// are the model's own.
// Forward the rows of 16-bit scores are gone through once, for their largest and their sum: 43.5
// cycles of one of 132 x 128 lanes at 1.98 GHz for each of 134 million are 175 us, the loss a few
// more. Backward they are read once more (268 MB) and their gradients written (268 MB); neither the
// logarithms nor what the loss makes of the labels, 537 MB each, is kept.
TEST(CompiledLoss, OneWhoseLabelsTheModelMovesIsOfTheModel) {
  for (const Words words : {Words::padded_behind, Words::overwritten, Words::minus_one}) {
    CompileBench s;
    const Step out = s.compile(language_step(words));
    EXPECT_EQ(kernels_named(out, "cunn_SoftMax"), 0U);
    EXPECT_EQ(kernels_named(out, "nll_loss_backward_reduce"), 0U);
    ASSERT_EQ(kernels_named(out, "log_softmax"), 2U);
    double forward_us = 0, backward_bytes = 0;
    for (const FusedKernel& k : s.report.kernels) {
      if (k.name.find("log_softmax_backward") != k.name.npos) backward_bytes = k.bytes;
      if (k.name.find("nll_loss_forward") != k.name.npos) forward_us = k.us;
    }
    EXPECT_NEAR(forward_us, 180, 6);
    EXPECT_NEAR(backward_bytes, 2 * 268.4e6, 1e6);
  }
}

}  // namespace
}  // namespace tandem
