#include "sim/report/svg_chart.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tandem {
namespace {

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(SvgChart, TicksAreRoundAndCoverTheRange) {
  EXPECT_EQ(round_ticks(0, 100, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  const std::vector<double> t = round_ticks(0.13, 0.31, 4);  // step 0.05
  ASSERT_FALSE(t.empty());
  EXPECT_NEAR(t.front(), 0.1, 1e-12);
  EXPECT_NEAR(t.back(), 0.35, 1e-12);
  EXPECT_GE(round_ticks(5, 5, 6).size(), 2u);  // one value still has an axis
  EXPECT_GE(round_ticks(0, 0, 6).size(), 2u);
}

TEST(SvgChart, LeavesOutWhatIsNotFiniteAndEscapesTexts) {
  Chart chart;
  chart.title = "a < b & c";
  chart.x_label = "x";
  chart.series.push_back({"s", {{1, 2, "p"}, {2, NAN, "q"}, {4, 3, "r\"<"}}});
  const std::string svg = chart_svg({&chart, 1});
  EXPECT_TRUE(svg.starts_with("<svg "));
  EXPECT_NE(svg.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_NE(svg.find("r&quot;&lt;"), std::string::npos);
  EXPECT_EQ(count(svg, "<title>"), 2u);  // p and r
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(svg.find("script"), std::string::npos);
}

TEST(SvgChart, ACrossedPointIsNoDot) {
  Chart chart;
  chart.series.push_back({"", {{1, 2, "dot"}, {2, 3, "cross", true}}});
  const std::string svg = chart_svg({&chart, 1});
  EXPECT_EQ(count(svg, "<circle"), 1u);
  EXPECT_EQ(count(svg, "l9 9m0 -9l-9 9"), 1u);
  EXPECT_EQ(count(svg, "<title>"), 2u);
}

TEST(SvgChart, LogAxisSpacesFactorsEqually) {
  Chart chart;
  chart.log_x = true;
  chart.series.push_back({"s", {{8, 1, "a"}, {16, 1, "b"}, {32, 1, "c"}, {0, 1, "not on it"}}});
  const std::string svg = chart_svg({&chart, 1});
  // The plot area is x = 70 to 536; 16 lies in the middle, 303.
  EXPECT_NE(svg.find("cx=\"70.0\""), std::string::npos);
  EXPECT_NE(svg.find("cx=\"303.0\""), std::string::npos);
  EXPECT_NE(svg.find("cx=\"536.0\""), std::string::npos);
  EXPECT_EQ(count(svg, "<title>"), 3u);
}

TEST(SvgChart, EmptyAndBars) {
  const Chart chart;
  EXPECT_EQ(chart_svg({&chart, 1}).find("nan"), std::string::npos);
  EXPECT_EQ(chart_svg({}).find("nan"), std::string::npos);
  const std::vector<Bar> bars{{"up", 0.5}, {"down", -1}, {"unknown", NAN}};
  const std::string svg = bars_svg("t", "v", bars);
  EXPECT_EQ(count(svg, "<rect x="), 2u);
  EXPECT_NE(svg.find("+0.50"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace tandem
