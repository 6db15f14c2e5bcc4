// The steps of small traces. Times in microseconds.
#include "sim/trace/step_search.h"

#include <gtest/gtest.h>

#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using test::TraceMaker;

constexpr double us = 100;  // of an iteration

/// An iteration at `begin` of four kernels, each launched within an operation, of which the last is
/// the optimizer's.
void iteration(TraceMaker& m, double begin, double stretch = 1, bool optimizer = false) {
  const char* const names[] = {"conv", "bn", "loss", "update"};
  for (int k = 0; k < 4; ++k) {
    const double at = begin + stretch * (5 + 20 * k);
    const std::int64_t correlation = 1000 + static_cast<std::int64_t>(m.trace.calls.size());
    m.op(std::string("aten::") + names[k], at, 10);
    m.launch(at + 2, 3, correlation);
    m.kernel(at + 8, 6, correlation, 0, names[k]);
  }
  if (!optimizer) return;
  m.note("Optimizer.step#SGD.step", begin + stretch * 64, stretch * 20);
}

TraceMaker iterations(int count, bool optimizer = false) {
  TraceMaker m;
  for (int i = 0; i < count; ++i) iteration(m, us * i, 1, optimizer);
  return m;
}

Links chosen(const TraceMaker& m, const StepChoice& choice = {}) {
  Links links = link_trace(m.trace);
  choose_steps(m.trace, choice, links);
  return links;
}

std::string error_of(const TraceMaker& m, const StepChoice& choice) {
  try {
    chosen(m, choice);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(StepSearch, MarksAreWhatTheySay) {
  TraceMaker m = iterations(4);
  m.step(7, 0, 400);
  const Links links = chosen(m);
  EXPECT_EQ(links.steps_by, StepsBy::marks);
  ASSERT_EQ(links.steps.size(), 1U);
  EXPECT_EQ(links.steps[0].name, "ProfilerStep#7");
}

// Steps begin with the operation around their first launch: at 5, 105 and 205; the last ends with
// the operation around its last launch, at 205 + 60 + 10.
TEST(StepSearch, FindsWhatRepeats) {
  const Links links = chosen(iterations(3));
  EXPECT_EQ(links.steps_by, StepsBy::repetition);
  ASSERT_EQ(links.steps.size(), 3U);
  EXPECT_EQ(links.steps[0].begin, TimePoint{from_us(5)});
  EXPECT_EQ(links.steps[0].end, TimePoint{from_us(105)});
  EXPECT_EQ(links.steps[2].end, TimePoint{from_us(275)});
  EXPECT_EQ(links.steps[1].name, "iteration 2");
  EXPECT_TRUE(links.losses.all().empty());
}

TEST(StepSearch, FindsTheOptimizer) {
  const Links links = chosen(iterations(3, true));
  EXPECT_EQ(links.steps_by, StepsBy::optimizer);
  EXPECT_EQ(links.steps.size(), 3U);
}

// One step of an optimizer is one iteration, whatever repeats inside.
TEST(StepSearch, OneOptimizerStepIsOneIteration) {
  TraceMaker m = iterations(2);
  iteration(m, 2 * us, 1, true);
  const Links links = chosen(m);
  EXPECT_EQ(links.steps_by, StepsBy::optimizer);
  EXPECT_EQ(links.steps.size(), 1U);
  EXPECT_EQ(links.losses.count("no_repetition"), 0);
}

TEST(StepSearch, LeavesOutASlowFirstIteration) {
  TraceMaker m;
  iteration(m, 0, 4);
  for (int i = 0; i < 3; ++i) iteration(m, 400 + us * i);
  const Links links = chosen(m);
  EXPECT_EQ(links.steps.size(), 3U);
  EXPECT_EQ(links.losses.count("warm_up_step"), 1);
}

TEST(StepSearch, WithoutHostOfTheDeviceAlone) {
  TraceMaker m = iterations(3);
  m.trace.ops = {};
  m.trace.calls = {};
  const Links links = chosen(m);
  EXPECT_EQ(links.steps_by, StepsBy::repetition);
  ASSERT_EQ(links.steps.size(), 3U);
  EXPECT_EQ(links.steps[0].begin, TimePoint{from_us(13)});
  EXPECT_EQ(links.steps[0].end, TimePoint{from_us(113)});
  EXPECT_EQ(links.steps[2].end, TimePoint{from_us(279)});
}

TEST(StepSearch, WhereNothingRepeatsTheTraceIsOneStepAndAWarning) {
  const Links links = chosen(iterations(1));
  EXPECT_EQ(links.steps_by, StepsBy::nothing);
  EXPECT_EQ(links.steps.size(), 1U);
  EXPECT_EQ(links.losses.count("no_repetition"), 1);
}

TEST(StepSearch, TheUserSaysHowMany) {
  EXPECT_EQ(chosen(iterations(4), {"", 4}).steps_by, StepsBy::repetition);
  EXPECT_EQ(chosen(iterations(4), {"", 1}).steps.size(), 1U);
  const Links parts = chosen(iterations(4), {"", 2});  // not alike what is found, but equally much
  EXPECT_EQ(parts.steps.size(), 2U);
  EXPECT_EQ(parts.steps_by, StepsBy::count);
  EXPECT_EQ(parts.losses.count("steps_not_alike"), 1);
  // Sixteen parts of one kernel each: the first, 60 to the next while others take 20, is one too.
  EXPECT_EQ(chosen(iterations(4), {"", 16}).steps.size(), 16U);
  EXPECT_NE(error_of(iterations(4), {"", 17}).find("found 17, expected 1 to 16"),
            std::string::npos);
  EXPECT_NE(error_of(iterations(4), {"", -1}).find("--steps"), std::string::npos);
}

TEST(StepSearch, TheUserNamesTheAnnotation) {
  TraceMaker m = iterations(3, true);
  const Links links = chosen(m, {"Optimizer.step#SGD.step", 0});
  EXPECT_EQ(links.steps_by, StepsBy::annotation);
  // Behind the mark of the last iteration stands its update alone, one kernel where steps have
  // four.
  ASSERT_EQ(links.steps.size(), 2U);
  EXPECT_EQ(links.steps[1].begin, TimePoint{from_us(164)});
  EXPECT_EQ(links.steps[1].end, TimePoint{from_us(264)});
  EXPECT_EQ(links.losses.count("rest_after_last_mark"), 1);
  EXPECT_NE(error_of(m, {"train_step", 0}).find("Optimizer.step#SGD.step"), std::string::npos);
  EXPECT_NE(error_of(iterations(2), {"x", 0}).find("of which there is none"), std::string::npos);
}

}  // namespace
}  // namespace tandem
