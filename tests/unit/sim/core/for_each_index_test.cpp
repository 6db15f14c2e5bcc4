// Loops on many threads: each index once, the same outcome however many there are.
#include "sim/core/parallel/for_each_index.h"

#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace tandem {
namespace {

TEST(ForEachIndex, EachOnceOnAnyNumberOfThreads) {
  constexpr std::size_t count = 1000;
  int cases = 0;
  for (const int threads : {0, 1, 2, 3, 16}) {
    std::vector<int> seen(count);  // no two threads share an element
    for_each_index(count, threads, [&](std::size_t i) { seen[i] += static_cast<int>(i) + 1; });
    for (std::size_t i = 0; i < count; ++i) ASSERT_EQ(seen[i], static_cast<int>(i) + 1);
    ++cases;
  }
  EXPECT_EQ(cases, 5);
  for_each_index(0, 0, [](std::size_t) { FAIL() << "there is nothing to do"; });
}

TEST(ForEachIndex, NoMoreThreadsThanAsked) {
  std::mutex mutex;
  std::set<std::thread::id> threads;
  for_each_index(200, 1, [&](std::size_t) {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
  });
  EXPECT_EQ(threads, std::set{std::this_thread::get_id()});
}

TEST(ForEachIndex, ThrowsWhatTheLowestIndexThrew) {
  int cases = 0;
  for (int repeated = 0; repeated < 50; ++repeated) {
    for (const int threads : {0, 1, 4}) {
      std::atomic<int> below = 0;
      try {
        for_each_index(300, threads, [&](std::size_t i) {
          if (i < 37) ++below;
          if (i % 40 == 37) throw std::runtime_error(std::to_string(i));
        });
        FAIL() << "nothing is thrown";
      } catch (const std::runtime_error& error) {
        EXPECT_STREQ(error.what(), "37");
      }
      EXPECT_EQ(below, 37);  // what lies before it is done
      ++cases;
    }
  }
  EXPECT_EQ(cases, 150);
}

TEST(ForEachIndex, LoopsWithinLoops) {
  // 20 x 30 ones; a lock held over the inner loop would be taken twice by a thread that takes up
  // another outer index while it waits for its inner ones.
  std::vector<std::mutex> locks(4);
  std::atomic<int> sum = 0;
  for_each_index(20, 4, [&](std::size_t i) {
    const std::lock_guard lock(locks[i % locks.size()]);
    for_each_index(30, 0, [&](std::size_t) { ++sum; });
  });
  EXPECT_EQ(sum, 600);
}

}  // namespace
}  // namespace tandem
