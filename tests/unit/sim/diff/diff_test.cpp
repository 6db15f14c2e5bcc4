// Where two steps differ: sums by hand.
#include "sim/diff/diff.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "sim/core/fields/field.h"
#include "sim/diff/diff_report.h"
#include "sim/diff/page.h"
#include "tests/unit/sim/diff/side_for_tests.h"

namespace tandem {
namespace {

using test::SideMaker;

/// 100 us: host 60, call 10, two kernels 20, a gap 10.
DiffSide eager() {
  return SideMaker(100, 50)
      .part(PathKind::host, "aten::conv2d", "", "", 2, 60)
      .part(PathKind::call, "aten::conv2d", "", "cudaLaunchKernel", 2, 10)
      .part(PathKind::work, "aten::conv2d", "convolution", "fprop", 2, 20)
      .part(PathKind::device_gap, "aten::conv2d", "convolution", "", 1, 10)
      .kernel("fprop", "aten::conv2d", "convolution", 3, 30)
      .kernel("relu", "aten::relu", "pointwise", 1, 20)
      .side;
}

/// 70 us: the same kernels of a graph, which does not know whose they are, and another one.
DiffSide graph() {
  return SideMaker(70, 55)
      .part(PathKind::work, "(no operation)", "other", "fprop", 3, 36)
      .part(PathKind::work, "(no operation)", "other", "relu", 1, 21)
      .part(PathKind::work, "(no operation)", "other", "new", 1, 9)
      .part(PathKind::device_gap, "(no operation)", "other", "", 4, 4)
      .kernel("fprop", "(no operation)", "other", 3, 36)
      .kernel("new", "(no operation)", "other", 1, 19)
      .side;
}

const DiffRow& row(const DiffTable& table, std::string_view name) {
  const auto it = std::find_if(table.rows.begin(), table.rows.end(),
                               [&](const DiffRow& r) { return r.name == name; });
  if (it == table.rows.end()) throw std::runtime_error("no row " + std::string(name));
  return *it;
}

TEST(Diff, SumsToTheDifferenceOfTheSteps) {
  const Diff d = diff(eager(), graph());
  EXPECT_EQ(d.change(), from_us(-30));
  EXPECT_EQ(d.remainder, Duration{});
  EXPECT_EQ(d.attributed_share, 1);
  const DiffTable kinds = named(d.kinds, to_string);
  for (const DiffTable* table : {&kinds, &d.layers, &d.ops}) {
    EXPECT_EQ(table->change, from_us(-30));
  }
  EXPECT_EQ(d.kernels.change, row(kinds, "kernel").change());
}

TEST(Diff, SaysWhatTheStepWaitsFor) {
  const Diff d = diff(eager(), graph());
  const DiffTable kinds = named(d.kinds, to_string);
  EXPECT_EQ(row(kinds, "host").change(), from_us(-60));
  EXPECT_EQ(row(kinds, "call").change(), from_us(-10));
  EXPECT_EQ(row(kinds, "kernel").change(), from_us(66 - 20));
  EXPECT_EQ(row(kinds, "device_gap").change(), from_us(4 - 10));
  EXPECT_EQ(d.kinds.front().kind, PathKind::host);  // the largest change first
}

TEST(Diff, TakesKernelsOfAGraphForThoseOfTheOperationThatRunsThem) {
  const Diff d = diff(eager(), graph());
  // conv2d: host 60, call 10, kernels 20, gap 10 before; kernels 36 after.
  const DiffRow& conv = row(d.ops, "aten::conv2d");
  EXPECT_EQ(conv.a, from_us(100));
  EXPECT_EQ(conv.b, from_us(36));
  EXPECT_EQ(conv.on_device, from_us(36 - 30));
  EXPECT_EQ(row(d.ops, "aten::relu").b, from_us(21));
  EXPECT_EQ(row(d.ops, "(no operation)").b, from_us(9 + 4));
  EXPECT_EQ(row(d.layers, "convolution").change(), from_us(36 - 30));
  EXPECT_EQ(row(d.device.ops, "aten::conv2d").change(), from_us(6));
  EXPECT_EQ(row(d.device.ops, "(no operation)").b, from_us(19));
  EXPECT_EQ(d.device.layers.change, from_us(5));
  EXPECT_EQ(d.device.change, from_us(5));
}

TEST(Diff, AKernelThatRunsPartlyOutsideOperationsLeavesNoRowBelowZero) {
  // "k" ran for 30: 20 of it in no operation, 10 in aten::mul; on the other side all in aten::add.
  DiffSide partly = SideMaker(50, 35).side;
  partly.kernels = {{"k", 3, from_us(30), "(no operation)", "other"},
                    {"new", 1, from_us(5), "(no operation)", "other"}};
  partly.ops = {{"(no operation)", 3, from_us(25), {}, {}}, {"aten::mul", 1, from_us(10), {}, {}}};
  partly.layers = {{"other", 3, from_us(25), {}, {}}, {"pointwise", 1, from_us(10), {}, {}}};
  const DiffSide whole = SideMaker(40, 30).kernel("k", "aten::add", "pointwise", 3, 30).side;
  const Diff d = diff(partly, whole);
  for (const DiffTable* table : {&d.device.ops, &d.device.layers, &d.device.kernels}) {
    EXPECT_EQ(table->change, from_us(-5));  // 30 less 35
    for (const DiffRow& r : table->rows) {
      EXPECT_GE(r.a, Duration{}) << r.name;
      EXPECT_GE(r.count_a, 0) << r.name;
    }
  }
  EXPECT_EQ(row(d.device.ops, "aten::add").a, from_us(25));
  EXPECT_EQ(row(d.device.ops, "aten::mul").a, from_us(10));
}

TEST(Diff, CountsWhatIsInNoPart) {
  DiffSide b = graph();
  b.step = from_us(80);  // 10 us more than its parts
  const Diff d = diff(eager(), b);
  EXPECT_EQ(d.remainder, from_us(10));
  EXPECT_DOUBLE_EQ(d.attributed_share, 0.5);  // of 20 us
}

TEST(Diff, OfASideWithItselfIsNothing) {
  const Diff d = diff(eager(), eager());
  EXPECT_EQ(d.change(), Duration{});
  EXPECT_EQ(d.attributed_share, 1);
  for (const DiffPart& p : d.parts) EXPECT_EQ(p.row.change(), Duration{});
}

TEST(Diff, TellsMoreFromLonger) {
  // Two of 10 us, then three of 12: one more at their mean of 11, the rest longer.
  const Diff d = diff(eager(), graph());
  const auto it = std::find_if(d.parts.begin(), d.parts.end(),
                               [](const DiffPart& p) { return p.part.name == "fprop"; });
  ASSERT_NE(it, d.parts.end());
  EXPECT_EQ(it->row.change(), from_us(16));
  EXPECT_EQ(it->by_count(), from_us(11));
}

TEST(DiffText, SaysTheAnswerFirst) {
  const std::string text = diff_text(diff(eager(), graph()));
  EXPECT_NE(text.find("B - A      -0.030 ms = -30.0 %, a step 1.43 times as fast"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("attributed 100.0 %"), std::string::npos);
  EXPECT_NE(text.find("only B     1 operations, 0.013 ms: (no operation) 0.013\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("host: operations and Python"), std::string::npos);
}

TEST(DiffPage, HasBothSidesAndEveryOperation) {
  const Diff d = diff(eager(), graph());
  const html::Page page = diff_page(d);
  ASSERT_GE(page.sections.size(), 4u);
  EXPECT_NE(page.subtitle.find(d.path_a), std::string::npos);
  const auto& table = std::get<html::Table>(page.sections[2].blocks[1]);
  ASSERT_EQ(table.rows.size(), d.ops.rows.size());
  ASSERT_FALSE(table.rows.empty());
  EXPECT_EQ(std::get<std::string>(table.rows[0][0]), d.ops.rows[0].name);
  EXPECT_DOUBLE_EQ(std::get<double>(table.rows[0][3]), to_us(d.ops.rows[0].change()));
}

TEST(DiffJson, HoldsBothSidesOfEveryRow) {
  const Json json = diff_json(diff(eager(), graph()));
  EXPECT_EQ(json["schema"], "tandem.diff/1");
  EXPECT_EQ(json["change_us"], -30);
  double sum = 0;
  for (const Json& part : json["parts"]) {
    EXPECT_NEAR(part["b_us"].get<double>() - part["a_us"].get<double>(),
                part["change_us"].get<double>(), 1e-9);
    sum += part["change_us"].get<double>();
  }
  EXPECT_NEAR(sum, -30, 1e-9);
}

}  // namespace
}  // namespace tandem
