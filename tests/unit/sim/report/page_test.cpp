// Pages: what of their blocks gets into the HTML, and that no text of theirs becomes markup.
#include "sim/report/html/page.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/engine/engine.h"
#include "sim/report/html/result_page.h"
#include "sim/report/html/result_sections.h"
#include "sim/sweep/page.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/sim/sweep/sweep_for_tests.h"
#include "tests/unit/trace_for_tests.h"
#include "validation/compare/page.h"

namespace tandem {
namespace {

using nlohmann::json;

constexpr std::string_view data_begin = R"(<script type="application/json" id="data">)";

/// The JSON in the page, as a browser cuts it out: up to the first end of a script element.
std::string data_text(const std::string& html) {
  const std::size_t from = html.find(data_begin) + data_begin.size();
  EXPECT_GT(from, data_begin.size());
  return html.substr(from, html.find("</script", from) - from);
}

json data_of(const html::Page& page, const html::PageLimits& limits = {}) {
  return json::parse(data_text(page_html(page, limits)));
}

std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) {
    ++count;
  }
  return count;
}

html::Page table_page(const std::string& name) {
  html::Table table{name, {{name}, {"time", "us"}}, {{name, 1.5}}};
  return {name, name, {{name, name, {std::move(table)}}}};
}

TEST(Page, NoTextEndsItsScriptOrBecomesMarkup) {
  const std::string plain = page_html(table_page("plain"));
  int seen = 0;
  for (const std::string name :
       {"</script><script>alert(1)</script>", "<!--<script>", "\"'`\\</style>", "{{data}}",
        "<img src=x onerror=alert(1)>", "]]>&amp;&lt;"}) {
    const std::string html = page_html(table_page(name));
    for (const char* tag : {"<script", "</script", "<!--", "<img", "</style", "<title"}) {
      EXPECT_EQ(count_of(html, tag), count_of(plain, tag)) << name << ": " << tag;
    }
    const json data = json::parse(data_text(html));
    EXPECT_EQ(data["title"], name);
    EXPECT_EQ(data["sections"][0]["blocks"][0]["rows"][0][0], name);
    ++seen;
  }
  EXPECT_EQ(seen, 6);
}

TEST(Page, ReplacesWhatIsNotUtf8) {
  const std::string html = page_html(table_page("a\xff\xfe\xc3 b\x01"));
  for (const char c : data_text(html)) ASSERT_LT(static_cast<unsigned char>(c), 0x80);
  const std::string name = json::parse(data_text(html))["title"];
  EXPECT_EQ(name, "a\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD b\x01");  // U+FFFD for each bad byte
  EXPECT_NE(html.find("<title>a??? b?</title>"), std::string::npos);
}

TEST(Page, NeedsNoNetworkAndNoOtherFile) {
  const std::string html = page_html(table_page("plain"));
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* const tag : {"<script", "<link", "<img"}) {
    for (auto at = html.find(tag); at != std::string::npos; at = html.find(tag, at + 1)) {
      const std::string opened = html.substr(at, html.find('>', at) - at);
      EXPECT_EQ(opened.find("src="), std::string::npos) << opened;
      EXPECT_EQ(opened.find("href="), std::string::npos) << opened;
    }
  }
  EXPECT_LT(html.size(), 300'000u);
  EXPECT_NE(html.find("Chart.js v3.9.1"), std::string::npos);
  EXPECT_NE(html.find("Permission is hereby granted"), std::string::npos);
}

TEST(Page, WritesWhatIsNotKnownAsNull) {
  html::Table table{"t", {{"a"}, {"b", "us"}}, {{std::monostate{}, html::page_unknown}}};
  html::XyChart chart;
  chart.series = {{"s", {{1, 2, "p"}, {html::page_unknown, 1, "left out"}, {3, 4, "q", 3.5, 4.5}}}};
  const json data = data_of({"t", "", {{"s", "", {std::move(table), std::move(chart)}}}});
  const json blocks = data["sections"][0]["blocks"];
  EXPECT_TRUE(blocks[0]["rows"][0][0].is_null());
  EXPECT_TRUE(blocks[0]["rows"][0][1].is_null());
  const json points = blocks[1]["series"][0]["points"];
  ASSERT_EQ(points.size(), 2u);
  EXPECT_TRUE(points[0][2].is_null());
  EXPECT_EQ(points[1], json::parse(R"([3, 4, 3.5, 4.5, 0, "q"])"));
}

TEST(Page, KeepsTheLongestSlicesAndTheFirstRows) {
  html::Tracks tracks{"", {"k"}, {{"t", {}}}};
  html::Table table{"", {{"n", "count"}}, {}};
  for (int i = 0; i < 10; ++i) {
    tracks.tracks[0].slices.push_back({100 * i, 10 + i, "same", "", 0});
    table.rows.push_back({double(i)});
  }
  const json data = data_of({"t", "", {{"s", "", {std::move(tracks), std::move(table)}}}}, {4, 3});
  const json cut = data["sections"][0]["blocks"][0];
  // Lengths are 10 to 19 ns: the four longest have 16 or more.
  EXPECT_EQ(cut["tracks"][0]["slices"].size(), 4u * 5u);
  EXPECT_EQ(cut["tracks"][0]["slices"][1], 16);
  EXPECT_EQ(cut["left_out"], 6);
  EXPECT_EQ(cut["texts"].size(), 2u);  // "same" and "", once each
  EXPECT_EQ(data["sections"][0]["blocks"][1]["rows"].size(), 3u);
  EXPECT_EQ(data["sections"][0]["blocks"][1]["all_rows"], 10);
}

TEST(Page, ThinsLongSeriesAlone) {
  html::XyChart chart;
  chart.log_x = true;
  chart.series = {{"short", {{1, 1, ""}, {2, 1, ""}}}, {"long", {}}};
  for (int i = 0; i < 100; ++i) chart.series[1].points.push_back({double(i), 1, ""});
  const json data = data_of({"t", "", {{"s", "", {std::move(chart)}}}}, {.points = 50});
  const json series = data["sections"][0]["blocks"][0]["series"];
  EXPECT_EQ(series[0]["points"].size(), 2u);
  // 25 points a series: of 0 to 99 every fifth stays, less 0, which a logarithmic axis lacks.
  EXPECT_EQ(series[1]["points"].size(), 19u);
  EXPECT_EQ(data["sections"][0]["blocks"][0]["left_out"], 80);
}

TEST(FlopRoofline, HasOperationsBelowThePeaksOfTheirArithmetic) {
  Result result;
  TimeShare op;
  op.name = "aten::linear";
  op.share = 0.5;
  op.levels.emplace();
  op.levels->metrics.tflops = 250;
  op.levels->metrics.mfu = 0.25;
  op.levels->metrics.intensity = 400;
  TimeShare other;  // without products
  other.name = "aten::relu";
  other.levels.emplace();
  result.ops = {op, other};
  const GpuScale gpu{100, 4, 64, 1500, 4000, 6000, 1};
  const html::XyChart chart = html::flop_roofline(result, gpu);
  ASSERT_EQ(chart.series.size(), 2u);
  EXPECT_EQ(chart.series[0].name, "aten::linear");
  EXPECT_DOUBLE_EQ(chart.series[0].points[0].x, 400);
  EXPECT_DOUBLE_EQ(chart.series[0].points[0].y, 250);
  // 250 / 0.25 = 1000 TFLOP/s; at 4000 GB/s from 250 FLOP a byte on.
  EXPECT_DOUBLE_EQ(chart.series[1].points[1].x, 250);
  EXPECT_DOUBLE_EQ(chart.series[1].points[1].y, 1000);
  EXPECT_DOUBLE_EQ(chart.series[1].points[0].x, 62.5);  // a quarter of that
  EXPECT_DOUBLE_EQ(chart.series[1].points[0].y, 250);
  EXPECT_TRUE(html::flop_roofline(result, {}).series.empty());
  EXPECT_TRUE(html::flop_roofline(Result{}, gpu).series.empty());
}

TEST(InstructionRoofline, HasFamiliesBelowWhatTheGpuCanDo) {
  Result result;
  FamilyShare family;
  family.family = KernelFamily::gemm;
  family.time_us = 10;
  family.metrics.smsp_issue_cycles = 2e6;
  family.metrics.dram_read_bytes = 3e6;
  family.metrics.dram_write_bytes = 1e6;
  result.families = {family};
  // 100 SMs x 4 sub-partitions x 1.5 GHz: 600 instructions a ns; 3000 bytes a ns: the knee at 0.2.
  const GpuScale gpu{100, 4, 64, 1500, 3000, 6000, 1};
  const html::XyChart chart = html::instruction_roofline(result, gpu);
  ASSERT_EQ(chart.series.size(), 2u);
  EXPECT_EQ(chart.series[0].name, "gemm");
  EXPECT_DOUBLE_EQ(chart.series[0].points[0].x, 0.5);  // 2e6 instructions / 4e6 bytes
  EXPECT_DOUBLE_EQ(chart.series[0].points[0].y, 200);  // 2e6 instructions / 10,000 ns
  EXPECT_DOUBLE_EQ(chart.series[1].points[1].x, 0.2);
  EXPECT_DOUBLE_EQ(chart.series[1].points[1].y, 600);
  EXPECT_TRUE(html::instruction_roofline(result, {}).series.empty());
}

TEST(StepTracks, ShowsHostStreamAndPath) {
  test::TraceMaker m;
  m.op("aten::add", 0, 30);
  m.launch(10, 5, 1);
  m.kernel(17, 10, 1, 0, "void adds<int>(int)");
  test::PlanBuilder b;
  b.launch(10, 5, {.us = 10});
  b.plan.items[0].source = b.plan.works[0].source = 0;
  const Timeline timeline = simulate(b.plan);
  const std::vector<PathLink> path =
      critical_path(b.plan, timeline, TimePoint{}, b.plan.items.size(), b.plan.works.size());
  const Result result;
  const SimulatedRun run{m.trace, b.plan, timeline};
  const std::vector<std::string_view> op{"aten::add"};
  const std::vector<std::string_view> layer{"add"};
  const html::Tracks tracks = html::step_tracks({result, run, {op, layer}, op, {}, path, {}});
  ASSERT_EQ(tracks.tracks.size(), 3u);  // path, thread, stream
  const html::Track& host = tracks.tracks[1];
  ASSERT_EQ(host.slices.size(), 2u);  // 10 us until the call, then the call of 5 us
  EXPECT_EQ(host.slices[0].name, "in or before aten::add");
  EXPECT_EQ(host.slices[0].length_ns, 10'000);
  EXPECT_EQ(host.slices[1].begin_ns, host.slices[0].begin_ns + 10'000);
  EXPECT_EQ(host.slices[1].length_ns, 5'000);
  const html::Track& stream = tracks.tracks[2];
  ASSERT_EQ(stream.slices.size(), 1u);
  EXPECT_EQ(stream.slices[0].name, "adds<int>(int)");
  EXPECT_EQ(stream.slices[0].detail, "aten::add, layer add");
  EXPECT_EQ(stream.slices[0].length_ns, 10'000);
}

TEST(SweepPage, CrossesPointsThatDoNotFitAndHasErrorBars) {
  Sweep sweep;
  sweep.experiment.name = "e";
  sweep.experiment.axes = {{"batch", {"1", "2"}}};
  sweep.points = grid_points(sweep.experiment.axes);
  for (const double fits : {1.0, 0.0}) {
    PointResult r = test::result_of(1000, 500);
    r.values[sweep_metric_index("fits")] = fits;
    r.values[sweep_metric_index("band_low_us")] = 800;
    r.values[sweep_metric_index("band_high_us")] = 2000;
    sweep.results.push_back(std::move(r));
  }
  const html::Page page = sweep_page(sweep);
  ASSERT_GE(page.sections.size(), 3u);
  EXPECT_EQ(page.sections[0].text,
            "Most throughput of the points that fit: batch=1 with 500.0 samples/s.");
  const auto& chart = std::get<html::XyChart>(page.sections[1].blocks[0]);
  ASSERT_EQ(chart.series[0].points.size(), 2u);
  EXPECT_FALSE(chart.series[0].points[0].crossed);
  EXPECT_TRUE(chart.series[0].points[1].crossed);
  // 500 samples/s in 1000 us; in 2000 us half of that, in 800 us 5 / 4.
  EXPECT_DOUBLE_EQ(chart.series[0].points[0].low, 250);
  EXPECT_DOUBLE_EQ(chart.series[0].points[0].high, 625);
}

TEST(ValidationPage, ListsSetsAndComparisonsLargestErrorFirst) {
  CaseResult r;
  r.what.question = "q";
  r.what.set = "s";
  r.what.kind = CaseKind::step_time;
  r.what.mean_limit = 0.2;
  r.rows = {{"small", 100, 101}, {"large", 100, 80}, {"banded", 100, 105}};
  r.rows[2].band = StatedBand{98, 99, {}};  // the measured 100 lies outside
  r.mean_error = 0.26 / 3;
  r.worst_error = 0.2;
  const html::Page page = validation_page({r});
  ASSERT_EQ(page.sections.size(), 4u);
  const auto& errors = std::get<html::XyChart>(page.sections[1].blocks[0]);
  ASSERT_EQ(errors.series.size(), 1u);
  EXPECT_EQ(errors.series[0].points.size(), 3u);
  EXPECT_TRUE(errors.series[0].points[2].crossed);
  const auto& sets = std::get<html::Table>(page.sections[2].blocks[0]);
  EXPECT_EQ(std::get<double>(sets.rows[0][2]), 3);  // n
  EXPECT_EQ(std::get<double>(sets.rows[0][7]), 0);  // inside
  EXPECT_EQ(std::get<double>(sets.rows[0][8]), 1);  // of
  const auto& rows = std::get<html::Table>(page.sections[3].blocks[0]);
  EXPECT_EQ(std::get<std::string>(rows.rows[0][2]), "large");
  EXPECT_EQ(std::get<std::string>(rows.rows[1][6]), "no");
}

}  // namespace
}  // namespace tandem
