#include "validation/compare/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace tandem {

namespace {

std::string data_name(const CaseResult& r) {
  return r.data ? std::string(to_string(*r.data)) : "not said";
}

std::string verdict_name(const CaseResult& r) {
  switch (r.verdict()) {
    case Verdict::missed: return "MISSED";
    case Verdict::accepted: return fmt::format("missed, deviation {}", r.what.deviation->number);
    case Verdict::gap_closed: return "gap closed";
    case Verdict::gap_grew: return "GAP GREW";
    case Verdict::no_data: return "no data";
    case Verdict::too_few: return "too few captures";
    case Verdict::ok: break;
  }
  return "ok";
}

/// What all rows of the sets that hold for it come to.
struct Totals {
  std::size_t rows = 0, inside = 0, banded = 0;
  double sum = 0, worst = 0;
  void add(const CaseResult& r) {
    rows += r.rows.size();
    inside += r.inside();
    banded += r.with_band();
    sum += r.mean_error * static_cast<double>(r.rows.size());
    worst = std::max(worst, r.worst_error);
  }
  double mean() const { return rows > 0 ? sum / static_cast<double>(rows) : html::page_unknown; }
};

html::Section verdict_section(const std::vector<CaseResult>& results) {
  Totals totals;
  std::size_t kept = 0;
  std::size_t accepted = 0;
  std::size_t failed = 0;
  for (const CaseResult& r : results) {
    totals.add(r);
    kept += r.verdict() == Verdict::ok ? 1 : 0;
    accepted += r.verdict() == Verdict::accepted ? 1 : 0;
    failed += r.passed() ? 0 : 1;
  }
  const std::size_t unjudged = results.size() - kept - accepted - failed;
  html::Section out{
      "Answer",
      fmt::format(
          "{} of {} sets of measured runs keep the limits on their mean and worst error, {} "
          "miss them as a known deviation says, {} have too few captures here to judge, {} "
          "FAIL.",
          kept, results.size(), accepted, unjudged, failed),
      {}};
  html::Figures figures;
  figures.figures = {
      {"Sets that fail", std::to_string(failed), fmt::format("of {}", results.size())},
      {"Comparisons", std::to_string(totals.rows), "a number each, predicted and measured"}};
  if (totals.banded > 0) {
    const double share = static_cast<double>(totals.inside) / static_cast<double>(totals.banded);
    figures.figures.push_back(
        {"Inside the stated band", fmt::format("{:.1f} %", 100 * share),
         fmt::format("{} of {}; nine of ten is what bands promise", totals.inside, totals.banded)});
  }
  out.blocks = {std::move(figures)};
  return out;
}

/// Mean and worst error of each question whose errors are relative.
html::BarChart question_chart(const std::vector<CaseResult>& results) {
  std::vector<std::pair<std::string, Totals>> questions;
  for (const CaseResult& r : results) {
    if (r.what.absolute || r.rows.empty()) continue;
    auto at = std::find_if(questions.begin(), questions.end(),
                           [&](const auto& q) { return q.first == r.what.question; });
    if (at == questions.end()) at = questions.insert(at, {r.what.question, {}});
    at->second.add(r);
  }
  html::BarChart chart;
  chart.title = "Mean and worst error by question";
  chart.axis = "relative error";
  chart.unit = "ratio";
  chart.series = {{"mean", {}}, {"worst", {}}};
  for (const auto& [question, totals] : questions) {
    chart.bars.push_back(question);
    chart.series[0].values.push_back(totals.mean());
    chart.series[1].values.push_back(totals.worst);
  }
  return chart;
}

/// Every relative error over its measured time, a series for each kind of data.
html::XyChart error_chart(const std::vector<CaseResult>& results) {
  html::XyChart chart;
  chart.title = "Errors of step and GPU times";
  chart.x_axis = "measured";
  chart.x_unit = "us";
  chart.y_axis = "predicted / measured - 1";
  chart.y_unit = "ratio";
  chart.log_x = true;
  chart.crossed_means = "outside its band";
  constexpr std::array timed{CaseKind::unprofiled, CaseKind::gpu_time, CaseKind::compute_time,
                             CaseKind::step_time, CaseKind::calibrated_host};
  for (const CaseResult& r : results) {
    if (std::find(timed.begin(), timed.end(), r.what.kind) == timed.end()) continue;
    auto at = std::find_if(chart.series.begin(), chart.series.end(),
                           [&](const html::XySeries& s) { return s.name == data_name(r); });
    if (at == chart.series.end()) at = chart.series.insert(at, {data_name(r), {}, false});
    for (const Comparison& row : r.rows) {
      if (!(row.measured > 0)) continue;
      at->points.push_back({row.measured, row.error(),
                            fmt::format("{}: {}", name_of(r.what), row.name), html::page_unknown,
                            html::page_unknown, row.band && !row.inside()});
    }
  }
  return chart;
}

html::Table set_table(const std::vector<CaseResult>& results) {
  html::Table table{"Sets",
                    {{"question"},
                     {"set"},
                     {"n", "count", "comparisons"},
                     {"mean error", "ratio"},
                     {"limit", "ratio", "of the mean error"},
                     {"worst error", "ratio"},
                     {"limit", "ratio", "of the worst error"},
                     {"inside", "count", "measurements inside the stated band"},
                     {"of", "count", "comparisons that state a band"},
                     {"verdict"},
                     {"data", "", "fitted: constants were fitted on it; holdout: nobody looked"},
                     {"worst"}},
                    {}};
  const auto limit = [](double value) { return value > 0 ? value : html::page_unknown; };
  for (const CaseResult& r : results) {
    const bool any = !r.rows.empty();
    const auto count = [&](std::size_t n) {
      return r.with_band() > 0 ? double(n) : html::page_unknown;
    };
    table.rows.push_back({r.what.question, r.what.set, double(r.rows.size()),
                          any ? r.mean_error : html::page_unknown, limit(r.what.mean_limit),
                          any ? r.worst_error : html::page_unknown, limit(r.what.worst_limit),
                          count(r.inside()), count(r.with_band()), verdict_name(r), data_name(r),
                          r.worst_name});
  }
  return table;
}

html::Table row_table(const std::vector<CaseResult>& results) {
  html::Table table{"Comparisons, the largest errors first",
                    {{"question"},
                     {"set"},
                     {"measured run"},
                     {"measured", "in the set's unit"},
                     {"predicted", "in the set's unit"},
                     {"error", "ratio"},
                     {"inside", "", "whether the measurement lies in the stated band"}},
                    {}};
  for (const CaseResult& r : results) {
    for (const Comparison& row : r.rows) {
      table.rows.push_back({r.what.question, r.what.set, row.name, row.measured, row.predicted,
                            row.error(),
                            std::string(!row.band      ? ""
                                        : row.inside() ? "yes"
                                                       : "no")});
    }
  }
  const auto size = [](const std::vector<html::TableCell>& row) {
    return std::abs(std::get<double>(row[5]));
  };
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [&](const auto& a, const auto& b) { return size(a) > size(b); });
  return table;
}

}  // namespace

html::Page validation_page(const std::vector<CaseResult>& results) {
  html::Page page;
  page.title = "tandem validate";
  page.subtitle = "Predictions against measured runs";
  page.sections = {
      verdict_section(results),
      {"Errors", "", {error_chart(results), question_chart(results)}},
      {"All sets", "Limits are enforced. A column's head sorts by it.", {set_table(results)}},
      {"All comparisons", "", {row_table(results)}}};
  return page;
}

}  // namespace tandem
