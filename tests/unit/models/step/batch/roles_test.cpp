// Which dimension of an operand grows with the batch.
#include "models/step/batch/roles.h"

#include <gtest/gtest.h>

#include <string_view>
#include <vector>

#include "tests/operands_for_tests.h"

namespace tandem {
namespace {

std::vector<std::int8_t> axes_of(std::string_view name, const std::string& dims) {
  return growing_axes(op_row(name), test::parse_tensors(dims), {}, 8, false, false);
}

// 1280 is a multiple of 8, but the scale of a norm stands beside the last dimension of its rows.
TEST(BatchRoles, AnOperandBesideTheLastDimensionsDoesNotGrowWithTheFirst) {
  EXPECT_EQ(axes_of("aten::mul", "[[1280],[8,512,1280]]"), (std::vector<std::int8_t>{-1, 0}));
  EXPECT_EQ(axes_of("aten::add", "[[8,16,64],[16,64]]"), (std::vector<std::int8_t>{0, -1}));
  EXPECT_EQ(axes_of("aten::mul", "[[8,512,1280],[8,512,1]]"), (std::vector<std::int8_t>{0, 0}));
}

TEST(BatchRoles, ALayerAloneDecidesByItsLeadingDimension) {
  EXPECT_EQ(axes_of("aten::mul", "[[1280]]"), (std::vector<std::int8_t>{0}));
}

}  // namespace
}  // namespace tandem
