// Comparisons of any two steps: parts sum to the difference, and B to A is the negative of A to B.
#include <gtest/gtest.h>

#include <random>

#include "sim/diff/diff.h"
#include "sim/diff/diff_report.h"
#include "tests/unit/sim/diff/side_for_tests.h"

namespace tandem {
namespace {

using test::SideMaker;
using Random = std::mt19937;

std::int64_t whole(Random& random, std::int64_t from, std::int64_t to) {
  return std::uniform_int_distribution<std::int64_t>(from, to)(random);
}

std::string pick(Random& random, std::initializer_list<const char*> names) {
  return *(names.begin() + whole(random, 0, static_cast<std::int64_t>(names.size()) - 1));
}

DiffSide random_side(Random& random) {
  SideMaker side(static_cast<double>(whole(random, 0, 1'000'000)) / 1e3);
  for (std::int64_t n = whole(random, 0, 30); n > 0; --n) {
    const auto kind = static_cast<PathKind>(whole(random, 0, 7));
    const bool work = kind == PathKind::work;
    side.part(kind, pick(random, {"", "(no operation)", "aten::mm", "aten::add"}),
              pick(random, {"", "linear", "other"}), work ? pick(random, {"k1", "k2", "k3"}) : "",
              whole(random, 1, 9), static_cast<double>(whole(random, 0, 99'999)) / 1e3);
  }
  for (std::int64_t n = whole(random, 0, 3); n > 0; --n) {
    side.kernel("k" + std::to_string(n), pick(random, {"(no operation)", "aten::mm"}),
                pick(random, {"linear", "other"}), whole(random, 1, 9),
                static_cast<double>(whole(random, 0, 99'999)) / 1e3);
  }
  return side.side;
}

void expect_opposite(const DiffTable& x, const DiffTable& y) {
  ASSERT_EQ(x.rows.size(), y.rows.size());
  EXPECT_EQ(x.change, -y.change);
  Duration sum{};
  for (std::size_t i = 0; i < x.rows.size(); ++i) {
    EXPECT_EQ(x.rows[i].name, y.rows[i].name);
    EXPECT_EQ(x.rows[i].change(), -y.rows[i].change());
    EXPECT_EQ(x.rows[i].on_device, -y.rows[i].on_device);
    sum += x.rows[i].change();
  }
  EXPECT_EQ(sum, x.change);
}

TEST(DiffProperty, IsOppositeInTheOtherDirectionAndSums) {
  Random random(7);
  for (int round = 0; round < 500; ++round) {
    const DiffSide a = random_side(random);
    const DiffSide b = random_side(random);
    const Diff forth = diff(a, b);
    const Diff back = diff(b, a);
    EXPECT_EQ(forth.change(), -back.change());
    EXPECT_EQ(forth.remainder, -back.remainder);
    EXPECT_DOUBLE_EQ(forth.attributed_share, back.attributed_share);
    ASSERT_EQ(forth.parts.size(), back.parts.size());
    Duration sum{};
    for (std::size_t i = 0; i < forth.parts.size(); ++i) {
      EXPECT_EQ(forth.parts[i].row.change(), -back.parts[i].row.change());
      EXPECT_EQ(forth.parts[i].by_count(), -back.parts[i].by_count());
      sum += forth.parts[i].row.change();
    }
    EXPECT_EQ(sum + forth.remainder, forth.change());
    const DiffTable kinds = named(forth.kinds, to_string);
    expect_opposite(kinds, named(back.kinds, to_string));
    for (const auto table : {&Diff::layers, &Diff::ops, &Diff::kernels}) {
      expect_opposite(forth.*table, back.*table);
    }
    EXPECT_EQ(kinds.change, forth.ops.change);
    EXPECT_EQ(kinds.change, forth.layers.change);
    for (const auto table : {&DeviceDiff::layers, &DeviceDiff::ops, &DeviceDiff::kernels}) {
      expect_opposite(forth.device.*table, back.device.*table);
    }
    // What a graph hides moves between rows, and is neither lost nor made.
    EXPECT_EQ(forth.device.ops.change, forth.device.kernels.change);
    EXPECT_EQ(forth.device.layers.change, forth.device.kernels.change);
  }
}

}  // namespace
}  // namespace tandem
