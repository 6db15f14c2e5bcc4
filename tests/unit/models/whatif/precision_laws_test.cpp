// Laws of single kernels in another precision.
#include <gtest/gtest.h>

#include "models/whatif/precision/kernels.h"
#include "tests/unit/models/whatif/precision_for_tests.h"

namespace tandem {
namespace {

using test::precision_bench;

TensorShape shape(std::initializer_list<std::int64_t> dims, DataType type = DataType::fp32) {
  TensorShape t;
  for (const std::int64_t d : dims) t.dims[t.rank++] = d;
  t.type = type;
  return t;
}

OpTensors operands(std::initializer_list<TensorShape> list) {
  OpTensors out;
  for (const TensorShape& t : list) {
    out.arguments.push_back(static_cast<std::uint8_t>(out.shapes.size()));
    out.shapes.push_back(t);
  }
  return out;
}

TEST(PrecisionKernels, CastsMoveSixBytesAnElement) {
  const RetimeContext c = precision_bench().context();
  // 8e6 elements: 48e6 bytes over share x rate, behind the floor.
  const double rate = c.gpu.dram_peak_gbps * 1e3;
  EXPECT_NEAR(cast_us(c, 8'000'000, DataType::fp32, DataType::fp16),
              c.law.cast_down.floor_us + 48e6 / (c.law.cast_down.dram_share * rate), 1e-9);
  EXPECT_NEAR(cast_us(c, 8'000'000, DataType::bf16, DataType::fp32),
              c.law.cast_up.floor_us + 48e6 / (c.law.cast_up.dram_share * rate), 1e-9);
}

KernelTime matmul(const OpTensors& operands, DataType type) {
  static const LaunchGeometry none;
  return matmul_time(precision_bench().context(), OpContext{"aten::mm", operands, {}, none}, type);
}

TEST(PrecisionKernels, TensorCoreProductsAreFasterAndOddOnesLessSo) {
  const OpTensors even = operands({shape({2048, 1024}), shape({1024, 1024})});
  const OpTensors odd = operands({shape({2048, 1024}), shape({1024, 1023})});
  const double fp32 = matmul(even, DataType::fp32).time_us;
  const double tf32 = matmul(even, DataType::tf32).time_us;
  const double fp16 = matmul(even, DataType::fp16).time_us;
  EXPECT_LT(fp16, tf32);
  EXPECT_LT(tf32, fp32);
  EXPECT_GT(matmul(odd, DataType::fp16).time_us, 1.5 * fp16);
  EXPECT_EQ(matmul(operands({shape({4})}), DataType::fp16).time_us, 0);
}

// A compiler pads 1023 columns to the next multiple of 16 bytes, which are 1024.
TEST(PrecisionKernels, PaddedProductsAreThoseOfTheirPaddedSides) {
  const OpTensors even = operands({shape({2048, 1024}), shape({1024, 1024})});
  const OpTensors odd = operands({shape({2048, 1024}), shape({1024, 1023})});
  static const LaunchGeometry none;
  for (const DataType type : {DataType::bf16, DataType::tf32}) {
    const double padded =
        matmul_time(precision_bench().context(), {"aten::mm", odd, {}, none}, type, true).time_us;
    EXPECT_NEAR(padded, matmul(even, type).time_us, 1e-9);
  }
}

/// A matrix of rows x columns whose rows (or columns) are contiguous.
TensorShape matrix(std::int64_t rows, std::int64_t columns, bool rows_contiguous) {
  TensorShape t = shape({rows, columns});
  t.strides[0] = rows_contiguous ? columns : 1;
  t.strides[1] = rows_contiguous ? 1 : rows;
  return t;
}

TEST(PrecisionKernels, Tf32ProductsPayForOperandsWithoutKInnermost) {
  const auto us = [&](bool a_rows, bool b_rows, std::int64_t n, DataType type) {
    return matmul(operands({matrix(2048, 1024, a_rows), matrix(1024, n, b_rows)}), type).time_us;
  };
  // k runs along the rows of the first and down the columns of the second factor.
  const double none = us(true, false, 1024, DataType::tf32);
  const double one = us(true, true, 1024, DataType::tf32);
  const double both = us(false, true, 1024, DataType::tf32);
  EXPECT_LT(none, one);
  EXPECT_LT(one, both);
  // Rows of 1023 x 4 bytes go another way, and 16-bit operands are read either way round.
  EXPECT_EQ(us(true, false, 1023, DataType::tf32), us(false, true, 1023, DataType::tf32));
  EXPECT_EQ(us(true, false, 1024, DataType::fp16), us(false, true, 1024, DataType::fp16));
}

// Rows of 49 are 98 bytes in FP16, no multiple of 16 (nor of 4): with tiles of 64 x 64, 24 waves of
// 3072 products on 132 SMs, (4.8 x 4096 + 198 x 128) x (32 + 69) / 2048 cycles at 1980 MHz each are
// 27 us, and operands of rows of 49 take a few more. A GPU measured 29.2 us for 64 x 64 x 4.
TEST(PrecisionKernels, ManyProductsWithUnalignedRowsTakeLonger) {
  const auto time = [](std::int64_t columns) {
    const OpTensors factors = operands({shape({3072, columns, 32}), shape({3072, 32, columns})});
    static const LaunchGeometry none;
    return matmul_time(precision_bench().context(), OpContext{"aten::bmm", factors, {}, none},
                       DataType::fp16)
        .time_us;
  };
  EXPECT_NEAR(time(49), 34.9, 1);
  EXPECT_GT(time(49), 1.5 * time(56));
}

}  // namespace
}  // namespace tandem
