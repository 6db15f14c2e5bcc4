#include "sim/diff/page.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/core/text/texts.h"
#include "sim/diff/diff_report.h"

namespace tandem {

namespace {

using html::BarChart, html::Figures, html::Section, html::Table;

/// Of a chart: more bars cannot be read.
constexpr std::size_t chart_rows = 16;

Section answer(const Diff& d) {
  const double a = to_us(d.a);
  const double b = to_us(d.b);
  const double factor = b > 0 ? a / b : 0;
  Section out{"What differs", "", {}};
  out.text = fmt::format(
      "A step of B takes {} where one of A takes {}: {:.2f} times as fast. {:.1f} % of the change "
      "is attributed.",
      time_text(b), time_text(a), factor, 100 * d.attributed_share);
  out.blocks.push_back(Figures{{{"A", time_text(a), d.path_a + ", " + d.scenario_a},
                                {"B", time_text(b), d.path_b + ", " + d.scenario_b},
                                {"B - A", fmt::format("{:+.3f} ms", (b - a) * 1e-3), ""}}});
  return out;
}

Table table_of(const char* title, const char* name, const std::vector<DiffRow>& rows) {
  Table table{title,
              {{name},
               {"A", "us"},
               {"B", "us"},
               {"B - A", "us"},
               {"number in A", "count"},
               {"number in B", "count"}},
              {}};
  for (const DiffRow& row : rows) {
    table.rows.push_back({row.name, to_us(row.a), to_us(row.b), to_us(row.change()),
                          static_cast<double>(row.count_a), static_cast<double>(row.count_b)});
  }
  return table;
}

BarChart chart_of(const char* title, const std::vector<DiffRow>& rows) {
  BarChart chart{title, "time", "us", {}, {{"A", {}}, {"B", {}}}};
  for (std::size_t i = 0; i < std::min(rows.size(), chart_rows); ++i) {
    chart.bars.push_back(rows[i].name);
    chart.series[0].values.push_back(to_us(rows[i].a));
    chart.series[1].values.push_back(to_us(rows[i].b));
  }
  return chart;
}

Table metrics_of(const Diff& d) {
  Table table{"Numbers of the step", {{"metric"}, {"A", "count"}, {"B", "count"}}, {}};
  for (const DiffMetric& m : d.metrics) table.rows.push_back({m.name, m.a, m.b});
  return table;
}

}  // namespace

html::Page diff_page(const Diff& d) {
  html::Page page{"Where two steps differ", d.path_a + " and " + d.path_b, {answer(d)}};
  const std::vector<DiffRow> kinds = named(d.kinds, describe).rows;
  page.sections.push_back(
      {"What the steps wait for",
       "Parts of the critical path; they sum to the step.",
       {chart_of("Critical path by kind", kinds), table_of("By kind", "what", kinds)}});
  page.sections.push_back({"Operations",
                           "On the critical path, by the size of their change.",
                           {chart_of("Operations", d.ops.rows),
                            table_of("Operations on the critical path", "operation", d.ops.rows),
                            table_of("Layers on the critical path", "layer", d.layers.rows),
                            table_of("Only A", "operation", d.only_a.rows),
                            table_of("Only B", "operation", d.only_b.rows)}});
  page.sections.push_back({"Device work",
                           "Whether or not anything waits for it.",
                           {table_of("Kernels", "kernel", d.device.kernels.rows),
                            table_of("Operations", "operation", d.device.ops.rows)}});
  page.sections.push_back({"Numbers", "", {metrics_of(d)}});
  return page;
}

}  // namespace tandem
