#include "sim/sweep/pictures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "sim/report/svg_chart.h"
#include "sim/sweep/lines.h"

namespace tandem {

namespace {

/// More lines or panels than this cannot be read in one picture; the CSV has all.
constexpr std::size_t max_series = 12;
constexpr std::size_t max_panels = 12;

std::string note_of(std::size_t all, std::size_t shown, const char* what) {
  return all <= shown ? ""
                      : fmt::format("{} of {} {} shown; all are in sweep.csv", shown, all, what);
}

/// The note, and what a cross means where there are any.
std::string with_crosses(const Chart& chart, std::string note) {
  const bool any = std::any_of(chart.series.begin(), chart.series.end(), [](const ChartSeries& s) {
    return std::any_of(s.points.begin(), s.points.end(),
                       [](const ChartPoint& p) { return p.crossed; });
  });
  if (!any) return note;
  return fmt::format("\u2715 {}{}{}", does_not_fit, note.empty() ? "" : "; ", note);
}

/// One series for each line; x and y give a point's coordinates.
Chart chart_of_lines(const Sweep& sweep, const std::vector<SweepLine>& lines,
                     const std::function<double(std::size_t)>& x,
                     const std::function<double(std::size_t)>& y) {
  Chart chart;
  const std::size_t shown = std::min(lines.size(), max_series);
  for (std::size_t i = 0; i < shown; ++i) {
    ChartSeries s;
    s.name = lines[i].name;
    for (const std::size_t p : lines[i].points) {
      s.points.push_back({x(p), y(p), to_text(sweep.points[p]), fits_not(sweep, p)});
    }
    chart.series.push_back(std::move(s));
  }
  chart.note = with_crosses(chart, note_of(lines.size(), max_series, "lines"));
  return chart;
}

/// Thesis figure 4.1.
void add_memory_picture(const Sweep& sweep, const std::vector<SweepLine>& lines,
                        std::vector<Picture>& out) {
  const std::vector<double> memory = metric_column(sweep, "memory_peak_bytes");
  const std::vector<double> speed = metric_column(sweep, "throughput_per_s");
  if (!any_known(memory)) return;
  Chart chart = chart_of_lines(
      sweep, lines, [&](std::size_t p) { return memory[p] * 1e-9; },
      [&](std::size_t p) { return speed[p]; });
  chart.title = "Throughput against peak memory";
  chart.x_label = "peak memory (GB)";
  chart.y_label = "throughput (samples/s)";
  chart.x_from_zero = true;
  out.push_back({"throughput_memory", chart_svg({&chart, 1})});
}

/// Thesis figures 4.4 and 4.5: one panel for each line.
void add_utilization_picture(const Sweep& sweep, const std::vector<SweepLine>& lines,
                             const Axis& axis, std::vector<Picture>& out) {
  constexpr std::pair<const char*, const char*> levels[] = {
      {"gpu_utilization", "GPU"},
      {"smsp_active_utilization", "SMSP active"},
      {"smsp_issue_utilization", "SMSP issue"},
      {"tc_active_utilization", "tensor core active"},
      {"tc_issue_utilization", "tensor core issue"}};
  std::vector<Chart> panels;
  for (std::size_t i = 0; i < lines.size() && i < max_panels; ++i) {
    Chart chart;
    chart.title = lines[i].name.empty() ? "Utilization" : lines[i].name;
    chart.x_label = axis.name;
    chart.y_label = "utilization (%)";
    chart.log_x = true;
    chart.y_max = 100;
    for (const auto& [metric, name] : levels) {
      const std::vector<double> column = metric_column(sweep, metric);
      if (!any_known(column)) continue;
      ChartSeries s;
      s.name = name;
      for (const std::size_t p : lines[i].points) {
        s.points.push_back(
            {coordinate(sweep.points[p], axis.name), column[p] * 100, to_text(sweep.points[p])});
      }
      chart.series.push_back(std::move(s));
    }
    if (i + 1 == max_panels) chart.note = note_of(lines.size(), max_panels, "scenarios");
    panels.push_back(std::move(chart));
  }
  out.push_back({"utilization", chart_svg(panels, 2)});
}

struct Curve {
  const char* file;
  const char* title;
  const char* metric;
  const char* label;
  double factor;
};

void add_curve(const Sweep& sweep, const std::vector<SweepLine>& lines, const Axis& axis,
               const Curve& curve, std::vector<Picture>& out) {
  const std::vector<double> column = metric_column(sweep, curve.metric);
  if (!any_known(column)) return;
  Chart chart = chart_of_lines(
      sweep, lines, [&](std::size_t p) { return coordinate(sweep.points[p], axis.name); },
      [&](std::size_t p) { return column[p] * curve.factor; });
  chart.title = curve.title;
  chart.x_label = axis.name;
  chart.y_label = curve.label;
  chart.log_x = true;
  out.push_back({curve.file, chart_svg({&chart, 1})});
}

std::string label_of(std::string_view metric, const ReadableUnit& unit) {
  return unit.name.empty() ? std::string(metric) : fmt::format("{} ({})", metric, unit.name);
}

void add_pareto_picture(const Sweep& sweep, std::vector<Picture>& out) {
  if (!sweep.experiment.pareto || sweep.front.empty()) return;
  const ParetoQuestion& q = *sweep.experiment.pareto;
  const auto unit_of = [](std::string_view metric) {
    return readable_unit(sweep_metrics()[sweep_metric_index(metric)].unit);
  };
  const ReadableUnit of_x = unit_of(q.x), of_y = unit_of(q.y);
  const std::vector<double> x = metric_column(sweep, q.x), y = metric_column(sweep, q.y);
  ChartSeries all{"all points", {}, false, true, false, -2};
  ChartSeries front{"Pareto front", {}, true, true, sweep.front.size() <= max_series, 0};
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    all.points.push_back(
        {x[p] * of_x.factor, y[p] * of_y.factor, to_text(sweep.points[p]), fits_not(sweep, p)});
  }
  for (std::size_t i = 0; i < sweep.front.size(); ++i) {
    const std::size_t p = sweep.front[i];
    front.points.push_back({x[p] * of_x.factor, y[p] * of_y.factor, std::to_string(i + 1)});
  }
  Chart chart;
  const auto goal = [](Goal g) { return g == Goal::min ? "least" : "most"; };
  chart.title = fmt::format("{} {}, {} {}", goal(q.x_goal), q.x, goal(q.y_goal), q.y);
  chart.x_label = label_of(q.x, of_x);
  chart.y_label = label_of(q.y, of_y);
  chart.x_from_zero = true;
  chart.series = {std::move(all), std::move(front)};
  for (std::size_t i = 0; i < sweep.front.size() && i < max_series; ++i) {
    const Point& point = sweep.points[sweep.front[i]];
    chart.series.push_back(
        {fmt::format("{}: {}", i + 1, line_name(sweep, point, "")), {}, false, false});
  }
  chart.note = with_crosses(chart, note_of(sweep.front.size(), max_series, "points of the front"));
  out.push_back({"pareto", chart_svg({&chart, 1})});
}

void add_elasticity_picture(const Sweep& sweep, std::vector<Picture>& out) {
  std::vector<Bar> bars;
  for (const Elasticity& e : sweep.elasticities) {
    if (std::isfinite(e.elasticity)) bars.push_back({e.parameter, e.elasticity});
  }
  if (bars.empty()) return;
  const ElasticityQuestion& q = *sweep.experiment.elasticity;
  out.push_back({"elasticity", bars_svg(fmt::format("Elasticity of {}", q.metric),
                                        fmt::format("d ln {} / d ln parameter", q.metric), bars)});
}

}  // namespace

std::vector<Picture> sweep_pictures(const Sweep& sweep) {
  std::vector<Picture> out;
  if (const Axis* axis = line_axis(sweep.experiment)) {
    const std::vector<SweepLine> lines = lines_along(sweep, axis->name);
    constexpr Curve curves[] = {
        {"throughput", "Throughput", "throughput_per_s", "throughput (samples/s)", 1},
        {"energy", "Energy per sample", "energy_per_sample_j", "energy (J/sample)", 1}};
    for (const Curve& c : curves) add_curve(sweep, lines, *axis, c, out);
    if (axis->name == "batch") add_memory_picture(sweep, lines, out);
    add_utilization_picture(sweep, lines, *axis, out);
  }
  add_pareto_picture(sweep, out);
  add_elasticity_picture(sweep, out);
  return out;
}

}  // namespace tandem
