// Finished points on disk: what survives a killed run, and that resuming changes no result.
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "sim/sweep/run.h"
#include "sim/sweep/store.h"
#include "tests/unit/sim/sweep/sweep_for_tests.h"

namespace tandem {
namespace {

using test::result_of;
using test::scratch_folder;

std::string read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::size_t lines(const std::string& text) {
  return static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
}

/// A number that no short decimal text holds.
PointResult predicted(const Point& p) {
  const double batch = std::stod(value_of(p, "batch"));
  if (batch == 4 && value_of(p, "mode") == "graph") {
    throw InputError("f", "batch", "4", "less than 4");
  }
  return result_of(std::sqrt(batch) / 3, 1e300 * batch);
}

bool same(const std::vector<PointResult>& a, const std::vector<PointResult>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (a[i].error != b[i].error || a[i].values.size() != b[i].values.size()) return false;
    for (std::size_t m = 0; m < a[i].values.size(); ++m) {
      const double x = a[i].values[m], y = b[i].values[m];
      if (x != y && !(std::isnan(x) && std::isnan(y))) return false;
    }
  }
  return true;
}

TEST(SweepStore, ReadsBackExactlyWhatWasWritten) {
  const std::string path = scratch_folder("store") + "/points.jsonl";
  const std::vector<Point> points = grid_points(test::two_axes);
  const std::vector<PointResult> direct = run_points(points, predicted, nullptr, {});
  {
    PointStore store(path, 7);
    EXPECT_EQ(store.size(), 0u);
    EXPECT_TRUE(same(run_points(points, predicted, &store, {}), direct));
  }
  EXPECT_EQ(lines(read(path)), 6u);
  {
    PointStore store(path, 7);
    EXPECT_EQ(store.size(), 6u);
    const auto never = [](const Point&) -> PointResult { throw std::logic_error("run again"); };
    EXPECT_TRUE(same(run_points(points, never, &store, {}), direct));
  }
  EXPECT_EQ(lines(read(path)), 6u);           // nothing was appended
  EXPECT_EQ(PointStore(path, 8).size(), 0u);  // other inputs
}

TEST(SweepStore, ATornLineIsRunAgainWhereverItWasTorn) {
  const std::string path = scratch_folder("torn") + "/points.jsonl";
  const std::vector<Point> points = grid_points(test::two_axes);
  std::vector<PointResult> direct;
  {
    PointStore store(path, 7);
    direct = run_points(points, predicted, &store, {1, {}});
  }
  const std::string whole = read(path);
  int cases = 0;
  for (std::size_t cut = 0; cut < whole.size(); cut += 97) {
    std::ofstream(path, std::ios::binary) << whole.substr(0, cut);
    {
      PointStore store(path, 7);
      EXPECT_EQ(store.size(), lines(whole.substr(0, cut)));
      EXPECT_TRUE(same(run_points(points, predicted, &store, {2, {}}), direct)) << cut;
    }
    EXPECT_EQ(PointStore(path, 7).size(), 6u) << cut;
    ++cases;
  }
  EXPECT_GT(cases, 10);
}

/// What a store says of a file with this content; "": nothing.
std::string refusal(const std::string& path, const std::string& content) {
  std::ofstream(path, std::ios::binary) << content;
  try {
    PointStore(path, 7);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(SweepStore, ALineThatWasChangedIsRefused) {
  const std::string path = scratch_folder("changed") + "/points.jsonl";
  const std::string first = point_line(7, {{"batch", "1"}}, result_of(1.25));
  const std::string second = point_line(7, {{"batch", "2"}}, result_of(2.5));
  EXPECT_EQ(refusal(path, first + second), "");
  EXPECT_EQ(refusal(path, second + first), "");  // the order says nothing
  // Each byte but the end of the line, one after the other, is another digit or letter.
  int changes = 0;
  for (std::size_t at = 0; at + 1 < second.size(); ++at) {
    std::string changed = second;
    changed[at] = changed[at] == '3' ? '4' : '3';
    const std::string text = refusal(path, first + changed);
    EXPECT_EQ(text.find(path + ":line 2: found "), 0u) << at << text;
    EXPECT_NE(text.find(", expected "), std::string::npos);
    EXPECT_EQ(read(path), first + changed) << "a refusal changes nothing";
    ++changes;
  }
  EXPECT_GT(changes, 500);
}

TEST(SweepStore, LinesThatNoSweepWroteAreRefused) {
  const std::string path = scratch_folder("garbage") + "/points.jsonl";
  const std::string good = point_line(7, {{"batch", "1"}}, {{}, "no"});
  // The last is how lines were before they had a hash.
  const std::vector<std::string> lines{"",
                                       "null",
                                       "[]",
                                       "{}",
                                       "\xff\xfe",
                                       R"({"hash":")",
                                       R"({"hash":"0123456789abcdef",)",
                                       good.substr(0, 40),
                                       R"({"inputs":"0000000000000007","point":"a","error":"b"})"};
  for (const std::string& line : lines) {
    EXPECT_NE(refusal(path, good + line + "\n").find(":line 2: found "), std::string::npos) << line;
    // Without its end it is what a killed run left.
    EXPECT_EQ(refusal(path, good + line), "") << line;
    EXPECT_EQ(read(path), good);
  }
}

TEST(SweepStore, PointsOfOtherInputsStayAndCountAsNotThere) {
  const std::string path = scratch_folder("versions") + "/points.jsonl";
  {
    PointStore store(path, 7);
    store.append(point_line(8, {{"batch", "1"}}, {{}, "of other inputs"}));
    store.append(point_line(7, {{"batch", "2"}}, {{}, "no"}));
  }
  const PointStore store(path, 7);
  EXPECT_EQ(store.size(), 1u);
  ASSERT_NE(store.find({{"batch", "2"}}), nullptr);
  EXPECT_EQ(store.find({{"batch", "2"}})->error, "no");
}

TEST(SweepStore, OneSweepAtATime) {
  const std::string path = scratch_folder("alone") + "/points.jsonl";
  {
    PointStore store(path, 7);
    store.append(store.line({{"batch", "1"}}, result_of(1)));
    EXPECT_THROW(PointStore(path, 7), InputError);
    EXPECT_THROW(PointStore(path, 7, true), InputError);
  }
  EXPECT_EQ(PointStore(path, 7).size(), 1u);  // who was refused emptied nothing
  EXPECT_EQ(PointStore(path, 7, true).size(), 0u);
  EXPECT_EQ(read(path), "");
}

TEST(SweepStore, WhatIsNoFileIsNotReadForEver) {
  const std::string folder = scratch_folder("device");
  std::filesystem::create_symlink("/dev/full", folder + "/points.jsonl");
  EXPECT_THROW(PointStore(folder + "/points.jsonl", 7), InputError);
  EXPECT_THROW(PointStore(folder, 7), InputError);
}

TEST(SweepStore, FolderThatIsNotThere) {
  EXPECT_THROW(PointStore(scratch_folder("none") + "/no/points.jsonl", 1), InputError);
}

TEST(SweepRun, SameResultForEveryThreadCount) {
  std::vector<Axis> axes{{"batch", {}}, {"mode", {"eager", "graph"}}};
  for (int b = 1; b <= 200; ++b) axes[0].values.push_back(std::to_string(b));
  const std::vector<Point> points = grid_points(axes);
  const std::vector<PointResult> one = run_points(points, predicted, nullptr, {1, {}});
  int cases = 0;
  for (const int threads : {2, 3, 8}) {
    EXPECT_TRUE(same(run_points(points, predicted, nullptr, {threads, {}}), one));
    ++cases;
  }
  EXPECT_EQ(cases, 3);
}

TEST(SweepRun, AFailedPointStopsNoOther) {
  const std::vector<Point> points = grid_points(test::two_axes);
  const std::vector<PointResult> results = run_points(points, predicted, nullptr, {});
  for (std::size_t i = 0; i + 1 < results.size(); ++i) EXPECT_FALSE(results[i].failed());
  EXPECT_EQ(results.back().error, "f:batch: found 4, expected less than 4");
}

TEST(SweepRun, InternalErrorsAreNotKept) {
  const std::string path = scratch_folder("internal") + "/points.jsonl";
  const auto broken = [](const Point&) -> PointResult { throw std::logic_error("bug"); };
  PointStore store(path, 7);
  const auto results = run_points(grid_points(test::two_axes), broken, &store, {});
  EXPECT_EQ(results.front().error, "internal error: bug");
  EXPECT_EQ(read(path), "");
}

TEST(SweepRun, ProgressEndsAtAll) {
  std::atomic<std::size_t> last = 0;
  RunOptions options;
  options.progress = [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(all, 6u);
    last = done;
  };
  run_points(grid_points(test::two_axes), predicted, nullptr, options);
  EXPECT_EQ(last, 6u);
}

TEST(ContentHash, TellsBoundariesApart) {
  ContentHash a, b;
  a.add("ab"), a.add("c");
  b.add("a"), b.add("bc");
  EXPECT_NE(a.value(), b.value());
  EXPECT_THROW(ContentHash().add_file("no/such/file", "f"), InputError);
}

}  // namespace
}  // namespace tandem
