// Results of many threads, in the order of their inputs.
#include "sim/cli/many/in_order.h"

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tandem {
namespace {

TEST(InOrder, ShowsInOrderHoweverLongEachTakes) {
  constexpr std::size_t count = 60;
  int cases = 0;
  for (const int threads : {0, 1, 2, 8}) {
    std::vector<std::size_t> shown;  // one at a time: no lock
    in_order(
        count, threads,
        [](std::size_t i) {
          std::this_thread::sleep_for(std::chrono::microseconds(i % 7 == 0 ? 3000 : 10));
          return i;
        },
        [&](std::size_t i) { shown.push_back(i); });
    ASSERT_EQ(shown.size(), count);
    for (std::size_t i = 0; i < count; ++i) EXPECT_EQ(shown[i], i);
    ++cases;
  }
  EXPECT_EQ(cases, 4);
}

TEST(InOrder, NoMoreResultsThanThreadsWait) {
  // The first is the last to be done: 4 results at most, with their own 4 threads, exist by then.
  std::atomic<int> done = 0;
  in_order(
      40, 4,
      [&](std::size_t i) {
        if (i == 0) {
          std::this_thread::sleep_for(std::chrono::milliseconds(50));
          EXPECT_LE(done, 8);
        }
        ++done;
        return i;
      },
      [](std::size_t) {});
  EXPECT_EQ(done, 40);
}

TEST(InOrder, AnErrorOfEitherEndsAll) {
  const auto fine = [](std::size_t i) { return i; };
  int cases = 0;
  for (const int threads : {1, 4}) {
    const auto no_fifth = [](std::size_t i) {
      if (i == 5) throw std::runtime_error("the fifth");
      return i;
    };
    std::size_t shown = 0;
    EXPECT_THROW(in_order(50, threads, no_fifth, [&](std::size_t) { ++shown; }),
                 std::runtime_error);
    EXPECT_LE(shown, 5u);
    EXPECT_THROW(in_order(50, threads, fine, no_fifth), std::runtime_error);
    ++cases;
  }
  EXPECT_EQ(cases, 2);
}

TEST(InOrder, NothingToDo) {
  in_order(
      0, 0, [](std::size_t i) { return i; }, [](std::size_t) { FAIL() << "nothing is shown"; });
}

}  // namespace
}  // namespace tandem
