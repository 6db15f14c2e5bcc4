// What norms and softmaxes of rows keep for their gradients, and what is computed again.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;

constexpr std::string_view halves = R"(["c10::Half","c10::Half"])";
constexpr std::string_view half_to_float = R"(["float","c10::Half","Scalar"])";
constexpr std::string_view float_to_half = R"(["c10::Half","float","Scalar"])";

/// One step, operations by the number of their gradient.
class Passes {
 public:
  void forward(std::int64_t sequence, std::string_view path, std::string_view dims,
               std::string_view types, std::string_view concrete = "") {
    maker_.sequence = sequence;
    maker_.op(path, dims, types, concrete, path.ends_with("mm") ? "hgemm" : "vectorized");
  }
  void backward(std::int64_t sequence, const std::string& node, const std::string& inner,
                std::string_view dims, std::string_view types, std::string_view concrete = "") {
    maker_.thread = 1;
    forward(sequence, "autograd::engine::evaluate_function: " + node + ">" + node + ">" + inner,
            dims, types, concrete);
  }
  Step step() { return maker_.step(); }

 private:
  FlowMaker maker_;
};

/// The most bytes that one kernel of rows of this name passes, forward and backward.
struct RowBytes {
  double forward = 0, backward = 0;
};
RowBytes row_bytes(const Step& step, std::string_view name) {
  CompileBench s;
  s.compile(step);
  RowBytes out;
  for (const auto& kernel : s.report.kernels) {
    if (!kernel.name.starts_with("triton_per")) continue;  // sums over rows
    if (kernel.name.find(name) == std::string::npos) continue;
    const bool back = kernel.name.find("backward") != std::string::npos;
    double& bytes = back ? out.backward : out.forward;
    bytes = std::max(bytes, kernel.bytes);
  }
  return out;
}

/// A product in 16 bits, normalised and activated in FP32 in front of another product, as autocast
/// has it, and back.
Step normalised_product() {
  constexpr std::string_view rows = "[[256,64],[256,64],[]]";
  Passes p;
  p.forward(1, "aten::mm", "[[256,32],[32,64]]", halves);
  p.forward(2, "aten::copy_", rows, half_to_float);
  p.forward(3, "aten::native_layer_norm", "[[256,64],[],[64],[64],[]]",
            R"(["float","ScalarList","float","float","Scalar"])", R"(["","[64]","","","1e-05"])");
  p.forward(4, "aten::gelu", "[[256,64],[]]", R"(["float",""])");
  p.forward(5, "aten::copy_", rows, float_to_half);
  p.forward(6, "aten::mm", "[[256,64],[64,16]]", halves);
  p.backward(6, "MmBackward0", "aten::mm", "[[256,16],[16,64]]", halves);
  p.backward(5, "ToCopyBackward0", "aten::copy_", rows, half_to_float);
  p.backward(4, "GeluBackward0", "aten::gelu_backward", "[[256,64],[256,64],[]]",
             R"(["float","float",""])");
  p.backward(3, "NativeLayerNormBackward0", "aten::native_layer_norm_backward",
             "[[256,64],[256,64],[],[256,1],[256,1],[64],[64],[]]",
             R"(["float","float","ScalarList","float","float","float","float","ScalarList"])",
             R"(["","","[64]","","","","","[True, True, True]"])");
  p.backward(2, "ToCopyBackward0", "aten::copy_", rows, float_to_half);
  p.backward(1, "MmBackward0", "aten::mm", "[[256,64],[64,32]]", halves);
  return p.step();
}

/// Scores in 16 bits, probabilities in FP32 and in 16 bits for another product, as autocast has it,
/// and back; `mixed`: the probabilities are doubled in between.
Step attention(bool mixed) {
  constexpr std::string_view rows = "[[4,256,64],[4,256,64],[]]";
  Passes p;
  p.forward(1, "aten::bmm", "[[4,256,32],[4,32,64]]", halves);
  p.forward(2, "aten::_softmax", "[[4,256,64],[],[]]", R"(["c10::Half","Scalar","Scalar"])",
            R"(["","-1","True"])");
  if (mixed) {
    p.forward(3, "aten::mul", "[[4,256,64],[4,256,64]]", R"(["float","float"])");
  }
  p.forward(4, "aten::copy_", rows, float_to_half);
  p.forward(5, "aten::bmm", "[[4,256,64],[4,64,16]]", halves);
  p.backward(5, "BmmBackward0", "aten::bmm", "[[4,256,16],[4,16,64]]", halves);
  p.backward(4, "ToCopyBackward0", "aten::copy_", rows, half_to_float);
  p.backward(2, "SoftmaxBackward0", "aten::_softmax_backward_data", "[[4,256,64],[4,256,64],[],[]]",
             R"(["float","float","Scalar","Scalar"])", R"(["","","-1","5"])");
  p.backward(1, "BmmBackward0", "aten::bmm", "[[4,256,64],[4,64,32]]", halves);
  return p.step();
}

// 256 x 64 numbers are 32 KiB in 16 bits. Forward the product's are read and those of the next one
// written, with two statistics of each row; backward the gradient and the first product's are read,
// a gradient written. No tensor of the rows is kept in FP32 (64 KiB).
TEST(CompiledNorms, KeepWhatALibraryMadeIn16Bits) {
  constexpr double rows_bytes = 256 * 64 * 2;
  const RowBytes bytes = row_bytes(normalised_product(), "layer_norm");
  EXPECT_GT(bytes.forward, 2 * rows_bytes);
  EXPECT_LT(bytes.forward, 2.2 * rows_bytes);
  EXPECT_GT(bytes.backward, 3 * rows_bytes);
  EXPECT_LT(bytes.backward, 3.2 * rows_bytes);
}

// Scores are read and 16-bit probabilities written; backward the gradient and the scores are read
// and the scores' gradient, in the type that the call states, is written. Probabilities that are
// mixed are kept in FP32, twice as wide.
TEST(CompiledNorms, ASoftmaxThatAttendsIsComputedAgain) {
  constexpr double rows_bytes = 4 * 256 * 64 * 2;
  const RowBytes bytes = row_bytes(attention(false), "softmax");
  EXPECT_EQ(bytes.forward, 2 * rows_bytes);
  EXPECT_EQ(bytes.backward, 3 * rows_bytes);
  EXPECT_GE(row_bytes(attention(true), "softmax").forward, 4 * rows_bytes);
}

}  // namespace
}  // namespace tandem
