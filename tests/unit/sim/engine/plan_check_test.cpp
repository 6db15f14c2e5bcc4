// A plan that cannot be simulated is refused before it runs, with the row that is to blame.
#include "sim/engine/plan_check.h"

#include <gtest/gtest.h>

#include <functional>

#include "sim/core/bounds/limits.h"
#include "sim/core/error.h"
#include "tests/unit/plan_for_tests.h"

namespace tandem {
namespace {

/// Launch 0, launch 1 that depends on it, a wait for both.
Plan good_plan() {
  test::PlanBuilder b;
  b.launch(1, 1, {.us = 10});
  b.launch(1, 1, {.us = 10, .edges = {{0, from_us(1)}}});
  b.sync(0, 1, 1, 1);
  return b.plan;
}

/// 400 kernels of 9000 s each: 41.7 days.
Plan long_plan() {
  test::PlanBuilder b;
  for (int i = 0; i < 400; ++i) b.launch(1, 1, {.us = 9e9});
  return b.plan;
}

TEST(PlanCheck, NamesTheRowThatCannotBe) {
  EXPECT_NO_THROW(check_plan(good_plan()));
  struct Case {
    std::function<void(Plan&)> spoil;
    const char* says;
  };
  const Case cases[] = {
      {[](Plan& p) { p.items[1].thread = 7; }, "host item 1: found thread 7"},
      {[](Plan& p) { p.items[1].first_work = 9; }, "host item 1: found works from 9"},
      {[](Plan& p) { p.items[1].after = 1; }, "host item 1: found a hand-off from item 1"},
      {[](Plan& p) { p.items[2].wait_work = 5; }, "host item 2: found a wait for work 5"},
      {[](Plan& p) { p.items[2].wait = WaitFor::own_work; },
       "host item 2: found a wait for work of its own that it does not have"},
      {[](Plan& p) { p.items[2].kind = ItemKind::launch; },
       "host item 2: found a launch without device work"},
      {[](Plan& p) { p.items[1].input = from_us(1.5); },
       "host item 1: found 1.5 us of waiting for input, expected a part of its gap, 1 us"},
      {[](Plan& p) { p.items[1].input = from_us(-1); }, "host item 1: found -1 us of waiting"},
      {[](Plan& p) { std::swap(p.items[0], p.items[2]); }, "which is launched later"},
      {[](Plan& p) { p.works[1].stream = 3; }, "device work 1: found stream 3"},
      {[](Plan& p) {
         p.items[2].wait = WaitFor::nothing;
         p.works[1].item = 8;
       },
       "device work 1: found host item 8"},
      {[](Plan& p) { p.works[1].first_edge = 4; }, "device work 1: found edges from 4"},
      {[](Plan& p) { p.works[1].meeting = 2; }, "device work 1: found meeting 2"},
      {[](Plan& p) { p.works[1].item = no_index; }, "found work that nothing launches"},
      {[](Plan& p) { p.meetings.push_back({2}); }, "meeting 0: found 0 works, expected 2"},
      {[](Plan& p) { p.edges[0].work = 6; }, "dependency 0: found work 6"},
      {[](Plan& p) { p.edges[0].previous_step = true; }, "dependency 0: found work 0"},
      {[](Plan& p) { p.works[0].duration = rounded_ps(1e30); },
       "device work 0: found 1e+10 us or more, expected less than 1e+10 us"},
      {[](Plan& p) { p.items[2].call = rounded_ps(1e30); }, "host item 2: found 1e+10 us"},
      {[](Plan& p) { p.edges[0].delay = rounded_ps(1e30); }, "dependency 0: found 1e+10 us"},
      {[](Plan& p) { p = long_plan(); }, "sum of all durations"},
  };
  for (const Case& c : cases) {
    Plan plan = good_plan();
    c.spoil(plan);
    try {
      check_plan(plan);
      ADD_FAILURE() << "not refused: " << c.says;
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(c.says), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace tandem
