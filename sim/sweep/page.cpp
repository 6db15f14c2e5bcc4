#include "sim/sweep/page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/sweep/lines.h"

namespace tandem {

namespace {

using html::BarChart, html::Figures, html::page_unknown, html::Section, html::Table,
    html::TableCell, html::XyChart, html::XySeries;

/// As many lines as there are colours; more cannot be read.
constexpr std::size_t page_lines = 8;

/// A metric over the axis or over another metric. Error bars: of the point, or unknown.
struct CurveOf {
  const char* title;
  const char* metric;
  const char* axis;
  const char* unit;
  std::function<std::pair<double, double>(const Sweep&, std::size_t)> bar;
};

/// The name of a metric without its unit, which the page adds as it shows it: "memory peak".
std::string spoken(std::string_view name) {
  for (const std::string_view unit : {"_us", "_bytes", "_per_s", "_j", "_w"}) {
    if (name.ends_with(unit)) name.remove_suffix(unit.size());
  }
  std::string text(name);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

double value_at(const Sweep& sweep, std::size_t p, std::string_view metric) {
  const PointResult& result = sweep.results[p];
  return result.failed() ? page_unknown : result.values[sweep_metric_index(metric)];
}

std::pair<double, double> time_bar(const Sweep& sweep, std::size_t p) {
  return {value_at(sweep, p, "band_low_us"), value_at(sweep, p, "band_high_us")};
}

/// Samples a second are as uncertain as the time that they take.
std::pair<double, double> rate_bar(const Sweep& sweep, std::size_t p) {
  const auto [low, high] = time_bar(sweep, p);
  const double samples = value_at(sweep, p, "throughput_per_s") * value_at(sweep, p, "time_us");
  return {samples / high, samples / low};
}

/// One standard deviation to both sides.
std::pair<double, double> energy_bar(const Sweep& sweep, std::size_t p) {
  const double each = value_at(sweep, p, "energy_per_sample_j");
  const double off = each * value_at(sweep, p, "energy_error_j") / value_at(sweep, p, "energy_j");
  return {each - off, each + off};
}

std::pair<double, double> memory_bar(const Sweep& sweep, std::size_t p) {
  const double peak = value_at(sweep, p, "memory_peak_bytes");
  const double off = peak * value_at(sweep, p, "memory_uncertainty");
  return {peak - off, peak + off};
}

std::pair<double, double> no_bar(const Sweep&, std::size_t) { return {page_unknown, page_unknown}; }

XyChart curve_chart(const Sweep& sweep, const std::vector<SweepLine>& lines, const Axis& axis,
                    const CurveOf& curve) {
  XyChart chart;
  chart.title = curve.title;
  chart.x_axis = axis.name;
  chart.y_axis = curve.axis;
  chart.y_unit = curve.unit;
  chart.log_x = true;
  chart.y_from_zero = true;
  chart.crossed_means = does_not_fit;
  for (std::size_t i = 0; i < std::min(lines.size(), page_lines); ++i) {
    XySeries series{lines[i].name, {}};
    for (const std::size_t p : lines[i].points) {
      const double x = coordinate(sweep.points[p], axis.name);
      chart.log_x = chart.log_x && x > 0;
      const auto [low, high] = curve.bar(sweep, p);
      series.points.push_back({x, value_at(sweep, p, curve.metric), to_text(sweep.points[p]), low,
                               high, fits_not(sweep, p)});
    }
    chart.series.push_back(std::move(series));
  }
  return chart;
}

Section curve_section(const Sweep& sweep, const Axis& axis) {
  const std::vector<SweepLine> lines = lines_along(sweep, axis.name);
  Section out{
      "Over " + axis.name,
      "Error bars: nine of ten measurements lie within; of energy one standard deviation, of "
      "memory its uncertainty.",
      {}};
  if (lines.size() > page_lines) {
    out.text += fmt::format(" {} of {} lines are drawn; the table has all points.", page_lines,
                            lines.size());
  }
  const CurveOf curves[] = {
      {"Throughput", "throughput_per_s", "throughput", "samples/s", rate_bar},
      {"Step time", "time_us", "step time", "us", time_bar},
      {"Energy per sample", "energy_per_sample_j", "energy per sample", "J", energy_bar},
      {"Peak memory", "memory_peak_bytes", "peak memory", "B", memory_bar},
      {"GPU busy", "gpu_utilization", "share of the step", "ratio", no_bar},
      {"SMSP active", "smsp_active_utilization", "share of the step", "ratio", no_bar},
      {"Issue slots", "smsp_issue_utilization", "share of the step", "ratio", no_bar},
      {"Tensor cores", "tc_active_utilization", "share of the step", "ratio", no_bar}};
  for (const CurveOf& curve : curves) {
    if (!any_known(metric_column(sweep, curve.metric))) continue;
    out.blocks.emplace_back(curve_chart(sweep, lines, axis, curve));
  }
  return out;
}

Section front_section(const Sweep& sweep) {
  const ParetoQuestion& q = *sweep.experiment.pareto;
  const SweepMetric& x = sweep_metrics()[sweep_metric_index(q.x)];
  const SweepMetric& y = sweep_metrics()[sweep_metric_index(q.y)];
  const auto goal = [](Goal g) { return g == Goal::min ? "least" : "most"; };
  XyChart chart;
  chart.x_axis = spoken(q.x);
  chart.y_axis = spoken(q.y);
  chart.x_unit = x.unit;
  chart.y_unit = y.unit;
  chart.crossed_means = does_not_fit;
  XySeries front{"Pareto front", {}};
  XySeries all{"other points", {}, false};
  const auto add = [&](XySeries& series, std::size_t p) {
    series.points.push_back({value_at(sweep, p, q.x), value_at(sweep, p, q.y),
                             to_text(sweep.points[p]), page_unknown, page_unknown,
                             fits_not(sweep, p)});
  };
  for (const std::size_t p : sweep.front) add(front, p);
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    if (std::find(sweep.front.begin(), sweep.front.end(), p) == sweep.front.end()) add(all, p);
  }
  chart.series = {std::move(front), std::move(all)};
  return {"Pareto front",
          fmt::format("Points that no other beats in both: {} {}, {} {}.", goal(q.x_goal),
                      spoken(q.x), goal(q.y_goal), spoken(q.y)),
          {std::move(chart)}};
}

Section elasticity_section(const Sweep& sweep) {
  const ElasticityQuestion& q = *sweep.experiment.elasticity;
  BarChart chart;
  chart.axis = fmt::format("d ln {} / d ln parameter", q.metric);
  chart.series.resize(1);
  for (const Elasticity& e : sweep.elasticities) {
    if (!std::isfinite(e.elasticity)) continue;
    chart.bars.push_back(e.parameter);
    chart.series[0].values.push_back(e.elasticity);
  }
  return {"Elasticities",
          fmt::format("How much {} follows each number of the GPU: -1 where doubling the number "
                      "halves it.",
                      q.metric),
          {std::move(chart)}};
}

/// The best point by `metric` among those that fit; none: no index.
std::size_t best_point(const Sweep& sweep, std::string_view metric, double sign) {
  std::size_t best = sweep.points.size();
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    const double value = value_at(sweep, p, metric);
    if (!std::isfinite(value) || fits_not(sweep, p)) continue;
    if (best == sweep.points.size() || sign * value > sign * value_at(sweep, best, metric)) {
      best = p;
    }
  }
  return best;
}

Section best_section(const Sweep& sweep) {
  std::size_t tight = 0;
  for (std::size_t p = 0; p < sweep.points.size(); ++p) tight += fits_not(sweep, p) ? 1 : 0;
  Section out{"Answer", "", {}};
  Figures figures;
  const std::size_t fast = best_point(sweep, "throughput_per_s", 1);
  const std::size_t frugal = best_point(sweep, "energy_per_sample_j", -1);
  if (fast < sweep.points.size()) {
    const auto [low, high] = rate_bar(sweep, fast);
    const double rate = value_at(sweep, fast, "throughput_per_s");
    out.text = fmt::format("Most throughput of the points that fit: {} with {:.1f} samples/s.",
                           to_text(sweep.points[fast]), rate);
    figures.figures.push_back({"Most throughput", fmt::format("{:.1f} /s", rate),
                               fmt::format("{:.1f} to {:.1f} in 9 of 10 cases; {}", low, high,
                                           to_text(sweep.points[fast]))});
  }
  if (frugal < sweep.points.size()) {
    figures.figures.push_back(
        {"Least energy a sample",
         fmt::format("{:.3g} J", value_at(sweep, frugal, "energy_per_sample_j")),
         to_text(sweep.points[frugal])});
  }
  figures.figures.push_back({"Points", std::to_string(sweep.points.size()),
                             fmt::format("{} failed", failed_points(sweep))});
  figures.figures.push_back({"Do not fit", std::to_string(tight), "the GPU's memory"});
  out.blocks.emplace_back(std::move(figures));
  html::Notes notes;
  for (const Loss& loss : sweep.losses.all()) {
    if (loss.severity == Severity::info) continue;
    notes.notes.push_back({std::string(to_string(loss.severity)),
                           fmt::format("{} ({} x)", loss.code, loss.count), loss.description});
  }
  if (!notes.notes.empty()) out.blocks.emplace_back(std::move(notes));
  return out;
}

Table point_table(const Sweep& sweep) {
  Table table{"", {}, {}};
  for (const Axis& axis : sweep.experiment.axes) table.columns.push_back({axis.name});
  std::vector<std::string> metrics = sweep.experiment.metrics;
  for (const char* more : {"band_low_us", "band_high_us", "memory_peak_bytes"}) {
    if (std::find(metrics.begin(), metrics.end(), more) == metrics.end())
      metrics.emplace_back(more);
  }
  for (const std::string& name : metrics) {
    const SweepMetric& m = sweep_metrics()[sweep_metric_index(name)];
    table.columns.push_back(
        {spoken(name), std::string(m.unit.empty() ? "count" : m.unit), std::string(m.description)});
  }
  table.columns.push_back({"remarks"});
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    std::vector<TableCell> row;
    for (const Setting& s : sweep.points[p]) row.emplace_back(s.value);
    for (const std::string& name : metrics) row.emplace_back(value_at(sweep, p, name));
    std::string remarks = sweep.results[p].error;
    if (fits_not(sweep, p)) remarks += "does not fit";
    if (value_at(sweep, p, "extrapolated") == 1) {
      remarks += remarks.empty() ? "outside the traced batches" : ", outside the traced batches";
    }
    row.emplace_back(std::move(remarks));
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

html::Page sweep_page(const Sweep& sweep) {
  html::Page page;
  page.title = fmt::format("Sweep {}: {} points", sweep.experiment.name, sweep.points.size());
  page.subtitle = sweep.experiment.trace.substr(sweep.experiment.trace.find_last_of('/') + 1);
  page.sections.push_back(best_section(sweep));
  if (const Axis* axis = line_axis(sweep.experiment)) {
    page.sections.push_back(curve_section(sweep, *axis));
  }
  if (sweep.experiment.pareto && !sweep.front.empty()) {
    page.sections.push_back(front_section(sweep));
  }
  if (sweep.experiment.elasticity && !sweep.elasticities.empty()) {
    page.sections.push_back(elasticity_section(sweep));
  }
  page.sections.push_back({"All points", "A column's head sorts by it.", {point_table(sweep)}});
  return page;
}

}  // namespace tandem
