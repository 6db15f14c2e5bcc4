#include <gtest/gtest.h>

#include "sim/trace/importers/step_marks.h"
#include "tests/import_files.h"

namespace tandem {
namespace {

TEST(StepMarks, TheNumberStandsBehindTheNameOrInAnArgument) {
  EXPECT_EQ(step_number("ProfilerStep#12", ""), "12");
  EXPECT_EQ(step_number("train", "7"), "7");
  EXPECT_EQ(step_number("train", ""), "");
  EXPECT_EQ(step_number("ProfilerStep#", ""), "");
  EXPECT_EQ(step_number("ProfilerStep#one", ""), "");
  EXPECT_EQ(step_number("aten::add", ""), "");
}

TEST(StepMarks, EveryMarkCanBeReached) {
  std::size_t reached = 0;
  for (const StepMark& mark : step_marks) {
    const std::string name(mark.prefix);
    const bool by_argument = is_step_argument(mark.argument);
    EXPECT_EQ(step_number(by_argument ? name : name + "3", by_argument ? "3" : ""), "3") << name;
    ++reached;
  }
  EXPECT_GE(reached, 2u);
}

// A mark is a mark in every format: PyTorch's annotation with the argument of a TensorFlow trace.
TEST(StepMarks, HoldInEveryFormat) {
  const Trace t = test::import_text(test::kineto(
      test::kernel_event() +
      R"(,{"ph":"X","cat":"user_annotation","name":"train","pid":1,"tid":1,"ts":0,"dur":9,)"
      R"("args":{"step_num":"4"}})"));
  ASSERT_EQ(t.annotations.size(), 1u);
  EXPECT_EQ(t.annotations.step[0], 4);
}

}  // namespace
}  // namespace tandem
