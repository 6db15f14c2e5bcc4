#include "sim/core/tensors/data_type.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

TEST(DataTypeNames, OfTheFrameworkTellTheType) {
  EXPECT_EQ(parse_framework_type("float"), DataType::fp32);
  EXPECT_EQ(parse_framework_type("c10::Half"), DataType::fp16);
  EXPECT_EQ(parse_framework_type("c10::BFloat16"), DataType::bf16);
  EXPECT_EQ(parse_framework_type("unsigned char"), DataType::int8);
  EXPECT_EQ(parse_framework_type("bool"), DataType::boolean);
  EXPECT_EQ(parse_framework_type("long"), DataType::int64);
  EXPECT_EQ(parse_framework_type("c10::complex<float>"), DataType::complex64);
  EXPECT_EQ(element_bytes(DataType::complex64), 8);
  EXPECT_EQ(parse_framework_type("Scalar"), DataType::unknown);
  EXPECT_EQ(parse_framework_type(""), DataType::unknown);
}

TEST(DataTypeNames, DoublesAreFloatingToo) {
  EXPECT_TRUE(is_floating(DataType::fp64));
  EXPECT_TRUE(is_floating(DataType::complex64));
  EXPECT_FALSE(is_floating(DataType::boolean));
  EXPECT_FALSE(is_half(DataType::fp32));
}

}  // namespace
}  // namespace tandem
