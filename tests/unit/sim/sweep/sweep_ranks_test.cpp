// Points handed out over ranks that are threads of this process.
#include <gtest/gtest.h>

#include <atomic>
#include <deque>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "sim/sweep/ranks/messages.h"
#include "sim/sweep/ranks/share.h"
#include "sim/sweep/store.h"
#include "tests/unit/sim/sweep/sweep_for_tests.h"

namespace tandem {
namespace {

using std::chrono::milliseconds;

/// Mail between ranks.
class Post {
 public:
  explicit Post(int size) : boxes_(static_cast<std::size_t>(size)) {}
  int size() const { return static_cast<int>(boxes_.size()); }
  void put(int to, RankMessage message) {
    const std::lock_guard lock(mutex_);
    boxes_[static_cast<std::size_t>(to)].push_back(std::move(message));
  }
  std::optional<RankMessage> take(int rank) {
    const std::lock_guard lock(mutex_);
    auto& box = boxes_[static_cast<std::size_t>(rank)];
    if (box.empty()) return {};
    RankMessage first = std::move(box.front());
    box.pop_front();
    return first;
  }

 private:
  std::mutex mutex_;
  std::vector<std::deque<RankMessage>> boxes_;
};

class PostedRank : public Ranks {
 public:
  PostedRank(Post& post, int rank) : post_(post), rank_(rank) {}
  int rank() const override { return rank_; }
  int size() const override { return post_.size(); }
  int neighbours() const override { return post_.size(); }
  void send(int to, std::string_view bytes) override {
    if (lost_ != to) post_.put(to, {rank_, std::string(bytes)});
  }
  std::optional<RankMessage> receive() override { return post_.take(rank_); }
  void give_up(int rank) override { lost_ = rank; }
  std::optional<int> lost() const override { return lost_; }

 private:
  Post& post_;
  int rank_;
  std::optional<int> lost_;
};

/// A point takes a while, so that every rank gets some.
Outcome slow_square(std::size_t i) {
  std::this_thread::sleep_for(milliseconds(1));
  return {test::result_of(static_cast<double>(i * i)), true, {}};
}

std::vector<std::size_t> first_numbers(std::size_t n) {
  std::vector<std::size_t> numbers;
  for (std::size_t i = 0; i < n; ++i) numbers.push_back(i);
  return numbers;
}

/// What rank 0 took, by point; a point twice is a failure.
struct Taken {
  std::map<std::size_t, Outcome> outcomes;
  std::vector<std::string> notes;

  void share(PostedRank& rank, std::size_t points, ShareOptions options) {
    options.note = [this](const std::string& text) { notes.push_back(text); };
    const auto open = first_numbers(points);
    share_points(
        rank, open, slow_square,
        [this](std::size_t i, Outcome o) { EXPECT_TRUE(outcomes.emplace(i, std::move(o)).second); },
        options);
  }
  std::size_t failed() const {
    std::size_t n = 0;
    for (const auto& [point, outcome] : outcomes) n += outcome.result.failed() ? 1 : 0;
    return n;
  }
};

TEST(SweepRanks, EveryPointComesBackOnceFromWhicheverRank) {
  Post post(4);
  std::array<std::atomic<int>, 4> ran{};
  std::vector<std::thread> others;
  for (int r = 1; r < 4; ++r) {
    others.emplace_back([&, r] {
      PostedRank rank(post, r);
      const auto run = [&](std::size_t i) {
        ++ran[static_cast<std::size_t>(r)];
        return slow_square(i);
      };
      run_shared_points(rank, run, {r, 7});
    });
  }
  PostedRank rank(post, 0);
  Taken taken;
  taken.share(rank, 300, {1, 7});
  stop_ranks(rank);
  for (std::thread& other : others) other.join();
  ASSERT_EQ(taken.outcomes.size(), 300u);
  for (const auto& [i, outcome] : taken.outcomes) {
    ASSERT_FALSE(outcome.result.failed());
    EXPECT_EQ(outcome.result.values[sweep_metric_index("time_us")], static_cast<double>(i * i));
  }
  for (int r = 1; r < 4; ++r) EXPECT_GT(ran[static_cast<std::size_t>(r)], 0) << r;
  EXPECT_TRUE(taken.notes.empty());
}

TEST(SweepRanks, ALostRankCostsWhatItWasRunning) {
  // It takes 2 points a thread, runs 1 of each 2, and never says a word again.
  int cases = 0;
  for (const int threads : {1, 3}) {
    Post post(2);
    PostedRank dead(post, 1), rank(post, 0);
    dead.send(0, bytes_of({Told::hello, 7, std::to_string(threads)}));
    Taken taken;
    taken.share(rank, 20, {1, 7, milliseconds(50)});
    EXPECT_EQ(taken.outcomes.size(), 20u);
    EXPECT_EQ(taken.failed(), static_cast<std::size_t>(threads));
    for (const auto& [i, outcome] : taken.outcomes)
      EXPECT_NE(outcome.keep, outcome.result.failed());
    ASSERT_EQ(taken.notes.size(), 1u);
    EXPECT_EQ(taken.notes[0], "rank 1 is lost; a rerun fills its points");
    EXPECT_EQ(rank.lost(), 1);
    int handed = 0;
    while (dead.receive()) ++handed;
    EXPECT_EQ(handed, 2 * threads);
    ++cases;
  }
  EXPECT_EQ(cases, 2);
}

TEST(SweepRanks, ARankThatBeatsIsWaitedFor) {
  Post post(2);
  std::thread other([&] {
    PostedRank rank(post, 1);
    const auto run = [](std::size_t i) {
      std::this_thread::sleep_for(milliseconds(300));
      return slow_square(i);
    };
    run_shared_points(rank, run, {1, 7, milliseconds(100)});
  });
  PostedRank rank(post, 0);
  Taken taken;
  taken.share(rank, 10, {1, 7, milliseconds(100)});
  stop_ranks(rank);
  other.join();
  EXPECT_EQ(taken.outcomes.size(), 10u);
  EXPECT_EQ(taken.failed(), 0u);
  EXPECT_TRUE(taken.notes.empty());
}

TEST(SweepRanks, OtherInputsAndRefusalsTakeNoPart) {
  Post post(3);
  PostedRank stranger(post, 1), blind(post, 2), rank(post, 0);
  stranger.send(0, bytes_of({Told::hello, 8, "1"}));
  refuse(blind, "t.json: found No such file, expected a trace");
  Taken taken;
  taken.share(rank, 10, {1, 7, milliseconds(50)});
  EXPECT_EQ(taken.outcomes.size(), 10u);
  EXPECT_EQ(taken.failed(), 0u);
  ASSERT_EQ(taken.notes.size(), 2u);
  EXPECT_EQ(taken.notes[0], "rank 1 takes no part: its program, trace or configs are others");
  EXPECT_EQ(taken.notes[1], "rank 2 takes no part: t.json: found No such file, expected a trace");
  EXPECT_EQ(letter_of(stranger.receive().value().bytes).told, Told::stop);
  EXPECT_FALSE(blind.receive());
}

TEST(SweepRanks, WithoutRankZeroARankGivesUp) {
  Post post(2);
  post.put(1, {0, bytes_of({Told::beat})});
  PostedRank rank(post, 1);
  run_shared_points(rank, slow_square, {1, 7, milliseconds(10)});  // 60 ms of silence
  EXPECT_EQ(letter_of(post.take(0).value().bytes).told, Told::hello);
  EXPECT_EQ(rank.lost(), 0);
}

TEST(SweepRanks, WhatCannotBeKeptEndsTheSweepAndItsThreads) {
  Post post(1);
  PostedRank rank(post, 0);
  const auto open = first_numbers(50);
  const auto full = [](std::size_t, const Outcome&) { throw InputError("p", "", "no", "room"); };
  EXPECT_THROW(share_points(rank, open, slow_square, full, {2, 7}), InputError);
}

TEST(SweepRanks, RunsLikeOneProcess) {
  const auto predict = [](const Point& p) -> PointResult {
    if (value_of(p, "batch") == "2") throw InputError("f", "batch", "2", "another");
    if (value_of(p, "batch") == "4") throw std::logic_error("bug");
    return test::result_of(std::sqrt(3.0));
  };
  const std::vector<Point> points = grid_points(test::two_axes);
  const auto alone = run_points(points, predict, nullptr, {});
  Post post(1);
  PostedRank rank(post, 0);
  RunOptions options;
  options.ranks = &rank;
  PointStore store(test::scratch_folder("ranks") + "/points.jsonl", 7);
  const auto shared = run_points(points, predict, &store, options);
  ASSERT_EQ(shared.size(), alone.size());
  for (std::size_t i = 0; i < alone.size(); ++i) {
    EXPECT_EQ(shared[i].error, alone[i].error);
    EXPECT_EQ(shared[i].values.size(), alone[i].values.size());
  }
}

TEST(SweepRanks, MessagesAreReadBackAndNeverBeyondTheirEnd) {
  const Outcome outcome{{{1.5, -0.0, 1e300, NAN}, "no \x01 \xff"}, false, "{}\n"};
  const Outcome back = outcome_of(outcome_bytes(outcome));
  EXPECT_EQ(back.keep, outcome.keep);
  EXPECT_EQ(back.result.error, outcome.result.error);
  EXPECT_EQ(back.line, "{}\n");
  ASSERT_EQ(back.result.values.size(), 4u);
  EXPECT_EQ(back.result.values[2], 1e300);
  EXPECT_TRUE(std::isnan(back.result.values[3]));
  const std::string bytes = outcome_bytes(outcome);
  int cases = 0;
  for (std::size_t cut = 0; cut < 1 + 4 + 4 * 8 + 4 + 6; ++cut, ++cases) {
    EXPECT_THROW(outcome_of(std::string_view(bytes).substr(0, cut)), std::runtime_error) << cut;
  }
  EXPECT_EQ(cases, 47);
  const Letter letter = letter_of(bytes_of({Told::point, 12345678901234u, "rest"}));
  EXPECT_EQ(letter.told, Told::point);
  EXPECT_EQ(letter.number, 12345678901234u);
  EXPECT_EQ(letter.rest, "rest");
  EXPECT_THROW(letter_of("\x63 12345678"), std::runtime_error);
  EXPECT_THROW(letter_of(""), std::runtime_error);
}

TEST(Grid, PointsByNumberAreThePointsInOrder) {
  const std::vector<Axis> axes{{"a", {"1", "2"}}, {"b", {"x", "y", "z"}}};
  const std::vector<Point> points = grid_points(axes);
  ASSERT_EQ(points.size(), 6u);
  EXPECT_EQ(to_text(points[0]), "a=1 b=x");
  EXPECT_EQ(to_text(points[1]), "a=1 b=y");
  EXPECT_EQ(to_text(points[3]), "a=2 b=x");
  EXPECT_EQ(grid_size(axes), 6u);
  EXPECT_EQ(to_text(grid_point(axes, 5)), "a=2 b=z");
  EXPECT_EQ(grid_points({}).size(), 1u);
}

}  // namespace
}  // namespace tandem
