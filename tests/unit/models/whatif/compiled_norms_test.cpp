// What norms of rows keep for their gradients, and what is computed again.
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

/// A product in 16 bits, normalised and activated in FP32 in front of another product, as autocast
/// has it, and back.
Step normalised_product() {
  constexpr std::string_view half2 = R"(["c10::Half","c10::Half"])";
  constexpr std::string_view wider = R"(["float","c10::Half","Scalar"])";
  constexpr std::string_view narrower = R"(["c10::Half","float","Scalar"])";
  constexpr std::string_view rows = "[[256,64],[256,64],[]]";
  FlowMaker m;
  const auto op = [&](std::int64_t sequence, std::string_view path, std::string_view dims,
                      std::string_view types, std::string_view concrete = "",
                      std::string_view kernel = "vectorized") {
    m.sequence = sequence;
    m.op(path, dims, types, concrete, kernel);
  };
  op(1, "aten::mm", "[[256,32],[32,64]]", half2, "", "hgemm");
  op(2, "aten::copy_", rows, wider);
  op(3, "aten::native_layer_norm", "[[256,64],[],[64],[64],[]]",
     R"(["float","ScalarList","float","float","Scalar"])", R"(["","[64]","","","1e-05"])");
  op(4, "aten::gelu", "[[256,64],[]]", R"(["float",""])");
  op(5, "aten::copy_", rows, narrower);
  op(6, "aten::mm", "[[256,64],[64,16]]", half2, "", "hgemm");
  m.thread = 1;
  const auto back = [&](std::int64_t sequence, const std::string& node, std::string_view inner,
                        std::string_view dims, std::string_view types,
                        std::string_view concrete = "") {
    op(sequence,
       "autograd::engine::evaluate_function: " + node + ">" + node + ">" + std::string(inner), dims,
       types, concrete, inner == "aten::mm" ? "hgemm" : "vectorized");
  };
  back(6, "MmBackward0", "aten::mm", "[[256,16],[16,64]]", half2);
  back(5, "ToCopyBackward0", "aten::copy_", rows, wider);
  back(4, "GeluBackward0", "aten::gelu_backward", "[[256,64],[256,64],[]]",
       R"(["float","float",""])");
  back(3, "NativeLayerNormBackward0", "aten::native_layer_norm_backward",
       "[[256,64],[256,64],[],[256,1],[256,1],[64],[64],[]]",
       R"(["float","float","ScalarList","float","float","float","float","ScalarList"])",
       R"(["","","[64]","","","","","[True, True, True]"])");
  back(2, "ToCopyBackward0", "aten::copy_", rows, narrower);
  back(1, "MmBackward0", "aten::mm", "[[256,64],[64,32]]", half2);
  return m.step();
}

// 256 x 64 numbers are 32 KiB in 16 bits. Forward the product's are read and those of the next one
// written, with two statistics of each row; backward the gradient and the first product's are read,
// a gradient written. No tensor of the rows is kept in FP32 (64 KiB).
TEST(CompiledNorms, KeepWhatALibraryMadeIn16Bits) {
  constexpr double rows_bytes = 256 * 64 * 2;
  CompileBench s;
  s.compile(normalised_product());
  double forward = 0, backward = 0;
  for (const auto& kernel : s.report.kernels) {
    if (!kernel.name.starts_with("triton_per")) continue;  // sums over rows
    if (kernel.name.find("layer_norm_backward") != std::string::npos) {
      backward = std::max(backward, kernel.bytes);
    } else if (kernel.name.find("layer_norm") != std::string::npos) {
      forward = std::max(forward, kernel.bytes);
    }
  }
  EXPECT_GT(forward, 2 * rows_bytes);
  EXPECT_LT(forward, 2.2 * rows_bytes);
  EXPECT_GT(backward, 3 * rows_bytes);
  EXPECT_LT(backward, 3.2 * rows_bytes);
}

}  // namespace
}  // namespace tandem
