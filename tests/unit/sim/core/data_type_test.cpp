#include "sim/core/data_type.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

constexpr DataType all_types[] = {
    DataType::unknown, DataType::fp32,  DataType::tf32,  DataType::fp16, DataType::bf16,
    DataType::fp64,    DataType::int64, DataType::int32, DataType::int8, DataType::boolean};

TEST(DataTypeNames, OfTheFrameworkLeadBack) {
  int named = 0;
  for (const DataType type : all_types) {
    EXPECT_FALSE(to_string(type).empty());
    if (framework_name(type).empty()) continue;
    EXPECT_EQ(parse_framework_type(framework_name(type)), type);
    ++named;
  }
  EXPECT_EQ(named, 8);  // all but `unknown` and TF32, which no tensor has
  EXPECT_EQ(parse_framework_type("long"), DataType::int64);
  EXPECT_EQ(parse_framework_type("Scalar"), DataType::unknown);
  EXPECT_EQ(parse_framework_type(""), DataType::unknown);
}

TEST(DataTypeNames, DoublesAreFloatingToo) {
  EXPECT_TRUE(is_floating(DataType::fp64));
  EXPECT_FALSE(is_floating(DataType::boolean));
  EXPECT_FALSE(is_half(DataType::fp32));
}

}  // namespace
}  // namespace tandem
