// Types of operands of a trace that states their shapes alone.
#include "models/step/unrecorded/types.h"

#include <gtest/gtest.h>

#include <string>

#include "sim/core/tensors/data_type.h"
#include "sim/trace/links.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

constexpr std::string_view to_half =
    "void at::native::vectorized_elementwise_kernel<8, at::native::float16_copy_kernel_cuda(at::"
    "TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)";
constexpr std::string_view with_casts =
    "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctor_add<float>, "
    "std::array<char*, 3ul>, 4, at::native::memory::LoadWithCast<2> >(int)";
constexpr std::string_view half_product = "nvjet_sm90_hsh_192x32_64x7_4x1_v_bz_NTT";

/// Operations one after the other, 10 us each, of a kernel each.
class Untyped {
 public:
  std::uint32_t op(std::string_view name, std::string_view dims, std::string_view kernel) {
    const std::uint32_t row = m_.op(name, next_us(), 8, 0, dims);
    launch();
    m_.kernel(now_us_ + 4, 1, correlation_, 0, kernel);
    return row;
  }
  std::uint32_t copy(std::string_view dims, std::int64_t bytes) {
    const std::uint32_t row = m_.op("aten::copy_", next_us(), 8, 0, dims);
    launch();
    const std::uint32_t a = m_.activity(ActivityKind::memcpy, "Memcpy HtoD (Pinned -> Device)",
                                        now_us_ + 4, 1, correlation_);
    m_.trace.activities.bytes[a] = bytes;
    return row;
  }
  /// Around the next `count` operations.
  std::uint32_t around(std::string_view name, std::string_view dims, int count) {
    return m_.op(name, now_us_ + 10, 10.0 * count, 0, dims);
  }
  std::string types(std::uint32_t op) {
    if (!inferred_) infer_unrecorded_types(m_.trace, link_trace(m_.trace));
    inferred_ = true;
    std::string out;
    for (const TensorShape& t : operands_of(m_.trace, op).tensors.shapes) {
      out += (out.empty() ? "" : " ") + std::string(to_string(t.type));
    }
    return out;
  }

 private:
  double next_us() { return now_us_ += 10; }
  void launch() { m_.launch(now_us_ + 1, 2, ++correlation_); }

  test::TraceMaker m_;
  double now_us_ = 0;
  std::int64_t correlation_ = 0;
  bool inferred_ = false;
};

TEST(UnrecordedTypes, AreThoseThatKernelsName) {
  Untyped t;
  const auto product = t.op("aten::mm", "[[8,16],[16,32]]", half_product);
  const auto norm = t.op("aten::cudnn_batch_norm", "[[8,4,2,2],[4],[4],[4],[4]]",
                         "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, int, 512>(float)");
  const auto rows =
      t.op("aten::index_select", "[[100,8],[],[3]]",
           "void at::native::vectorized_gather_kernel<16, long>(char*, char*, long*)");
  EXPECT_EQ(t.types(product), "fp16 fp16");
  EXPECT_EQ(t.types(norm), "fp16 fp32 fp32 fp32 fp32");  // parameters stay in FP32
  EXPECT_EQ(t.types(rows), "fp32 int64");                // the index is one by its role
}

TEST(UnrecordedTypes, OfAConversionAreThoseOfItsSides) {
  Untyped t;
  const auto cast = t.op("aten::copy_", "[[8,16],[8,16]]", to_half);
  t.op("aten::mm", "[[8,16],[16,32]]", half_product);  // makes 8 x 32 elements of 16 bits
  const auto sum = t.op("aten::add", "[[8,32],[32]]", with_casts);
  EXPECT_EQ(t.types(cast), "fp16 fp32");
  EXPECT_EQ(t.types(sum), "fp16 fp32");  // nobody made 32 elements: that of the sum
}

TEST(UnrecordedTypes, OfCopiesFollowFromTheirBytes) {
  Untyped t;
  const auto tokens = t.copy("[[4,128],[4,128]]", 4L * 128 * 8);
  const auto images = t.copy("[[4,3,8,8],[4,3,8,8]]", 4L * 3 * 8 * 8 * 4);
  t.op("aten::mm", "[[8,16],[16,32]]", half_product);
  EXPECT_EQ(t.types(tokens), "int64 int64");
  EXPECT_EQ(t.types(images), "fp32 fp32");
}

TEST(UnrecordedTypes, OfOuterOperationsAreWhatTheirPartsReadFirst) {
  Untyped t;
  const auto layer = t.around("aten::linear", "[[8,16],[32,16]]", 2);
  t.op("aten::copy_", "[[32,16],[32,16]]", to_half);  // autocast's copy of the weight
  t.op("aten::mm", "[[8,16],[16,32]]", half_product);
  EXPECT_EQ(t.types(layer), "fp16 fp32");
}

TEST(UnrecordedTypes, StayWhereATraceStatesAny) {
  test::TraceMaker m;
  const auto typed = m.op("aten::relu", 0, 5);
  m.operands(typed, {"[[8]]", "[\"float\"]", "", ""});
  const auto list = m.op("aten::cat", 10, 5, 0, "[[8]]");
  m.launch(11, 1, 1);
  m.kernel(20, 1, 1, 0, half_product);
  infer_unrecorded_types(m.trace, link_trace(m.trace));
  EXPECT_EQ(operands_of(m.trace, list).tensors.shapes[0].type, DataType::unknown);
}

}  // namespace
}  // namespace tandem
