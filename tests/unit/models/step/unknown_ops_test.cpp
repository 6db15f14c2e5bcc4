// Operations that nobody described are a counted loss.
#include "models/step/unknown_ops.h"

#include <gtest/gtest.h>

#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

constexpr const char* dims = "[[64,256]]";
constexpr const char* one_float = R"(["float"])";

TEST(UnknownOperations, AreCountedOnceEachWithTheNameOfTheFirst) {
  test::FlowMaker m;
  m.op("aten::relu", dims, one_float);
  m.op("mylib::first", dims, one_float);
  m.op("mylib::second", dims, one_float);
  const LossList losses = unknown_operations(m.step());
  ASSERT_EQ(losses.all().size(), 1U);
  const Loss& loss = losses.all()[0];
  EXPECT_EQ(loss.code, "unknown_operation");
  EXPECT_EQ(loss.count, 2);
  EXPECT_EQ(loss.severity, Severity::warning);
  EXPECT_NE(loss.description.find("16.0 us (66.7 %"), std::string::npos) << loss.description;
  EXPECT_NE(loss.description.find("the first is mylib::first"), std::string::npos)
      << loss.description;
}

TEST(UnknownOperations, WithoutDeviceWorkOfTheirOwnAreNone) {
  test::FlowMaker m;
  m.idle("mylib::launches_nothing", dims, one_float);
  m.op("mylib::around>aten::relu", dims, one_float);
  EXPECT_TRUE(unknown_operations(m.step()).all().empty());
}

}  // namespace
}  // namespace tandem
