#include <gtest/gtest.h>

#include <array>
#include <type_traits>

#include "sim/core/error.h"
#include "sim/core/ids.h"
#include "sim/core/tensors/tensor.h"
#include "sim/core/time.h"

namespace tandem {
namespace {

TEST(InputError, NamesFilePlaceFoundExpected) {
  EXPECT_STREQ(InputError("a.json", "byte 3", "'x'", "'{'").what(),
               "a.json:byte 3: found 'x', expected '{'");
  EXPECT_STREQ(InputError("a.json", "", "nothing", "a file").what(),
               "a.json: found nothing, expected a file");
}

TEST(LossList, CountsByCodeInOrderOfAppearance) {
  LossList losses;
  losses.add("b", Severity::info, "first text");
  losses.add("a", Severity::warning, "text of a", 3);
  losses.add("b", Severity::info, "second text", 2);
  losses.add("never", Severity::data_loss, "no case", 0);
  ASSERT_EQ(losses.all().size(), 2u);
  EXPECT_EQ(losses.all()[0].code, "b");
  EXPECT_EQ(losses.all()[0].count, 3);
  EXPECT_EQ(losses.all()[0].description, "first text");
  EXPECT_EQ(losses.count("a"), 3);
  EXPECT_EQ(losses.count("never"), 0);
}

TEST(LossList, KnowsTheWorstSeverity) {
  LossList losses;
  losses.add("a", Severity::warning, "");
  EXPECT_TRUE(losses.any(Severity::info));
  EXPECT_TRUE(losses.any(Severity::warning));
  EXPECT_FALSE(losses.any(Severity::data_loss));
  LossList other;
  other.add("c", Severity::data_loss, "", 2);
  losses.merge(other);
  EXPECT_TRUE(losses.any(Severity::data_loss));
  EXPECT_EQ(losses.count("c"), 2);
}

TEST(Severity, HasStableNames) {
  EXPECT_EQ(to_string(Severity::info), "info");
  EXPECT_EQ(to_string(Severity::warning), "warning");
  EXPECT_EQ(to_string(Severity::data_loss), "data_loss");
}

TEST(Id, IsInvalidUnlessGivenAValue) {
  EXPECT_FALSE(StringId{}.valid());
  EXPECT_TRUE(StringId{std::size_t{0}}.valid());
  EXPECT_LT(StringId{std::size_t{0}}, StringId{std::size_t{1}});
  static_assert(!std::is_convertible_v<StreamId, ThreadId>);
  static_assert(!std::is_constructible_v<ThreadId, StreamId>);
}

TEST(Time, ConvertsBetweenUnitsExactly) {
  EXPECT_EQ(microseconds(3), nanoseconds(3'000));
  EXPECT_EQ(nanoseconds(1), picoseconds(1'000));
  EXPECT_EQ(from_us(2.15), picoseconds(2'150'000));
  EXPECT_EQ(from_us(-0.0000016), picoseconds(-2));
  EXPECT_DOUBLE_EQ(to_us(picoseconds(1'500'000)), 1.5);
}

TEST(Time, ScalesWithOneRounding) {
  EXPECT_EQ(scale(picoseconds(10), 0.25), picoseconds(3));
  EXPECT_EQ(scale(picoseconds(-10), 0.25), picoseconds(-3));
  EXPECT_EQ(scale(microseconds(1), 1.0), microseconds(1));
}

// [8,16,4,4]: rows of 16 channels, of 16 among 48, and whole planes.
TEST(TensorShape, ImagesInNhwcOrderMayBeSomeOfTheirChannels) {
  const auto is = [](std::array<std::int64_t, 6> strides) {
    TensorShape t;
    t.dims = {8, 16, 4, 4}, t.rank = 4, t.strides = strides;
    return has_channels_last(t);
  };
  EXPECT_TRUE(is({256, 1, 64, 16}));
  EXPECT_TRUE(is({768, 1, 192, 48}));
  EXPECT_FALSE(is({256, 16, 4, 1}));
}

}  // namespace
}  // namespace tandem
