#include "validation/papers/draw.h"

#include <algorithm>
#include <cmath>

#include "models/whatif/transform.h"
#include "sim/core/parallel/for_each_index.h"
#include "sim/report/svg_chart.h"
#include "validation/papers/evaluate.h"

namespace tandem {

namespace {

double coordinate(const std::optional<Number>& number, const std::string& unit,
                  const Place& place) {
  const auto value = in_unit(*number, unit);
  if (value) return *value;
  place.fail("\"" + unit + "\"", "a unit that \"" + number->unit + "\" can be stated in");
}

/// A number of the outcome, or a setting of the scenario: "threads".
std::optional<Number> abscissa(const FigurePanel& panel, const Point& point,
                               const SimulationOutcome& outcome, std::string& lacking) {
  const auto number = sum_of(outcome.numbers, panel.x, lacking);
  if (number) return number;
  const std::string setting = panel.x.size() == 1 ? value_of(point, panel.x.front()) : "";
  if (setting.empty()) return {};
  return Number{parse_number(panel.x.front(), setting), panel.x_unit};
}

/// Nobody ran what does not fit.
bool is_too_large(const SimulationOutcome& outcome) {
  const auto it = outcome.numbers.find("fits");
  return it != outcome.numbers.end() && it->second.value == 0;
}

/// Why the scenario has no point; empty: it has.
std::string add_point(const FigurePanel& panel, const FigureSeries& series, const Point& one,
                      const std::optional<Point>& other, Simulations& simulations,
                      ChartSeries& out) {
  const SimulationOutcome& first = simulations.of(one);
  const SimulationOutcome* second = other ? &simulations.of(*other) : nullptr;
  if (!first.absent.empty()) return first.absent;
  if (second != nullptr && !second->absent.empty()) return second->absent;
  if (is_too_large(first) || (second != nullptr && is_too_large(*second))) {
    return to_text(one) + ", which is predicted not to fit";
  }
  std::string lacking;
  const auto x = abscissa(panel, one, first, lacking);
  const auto y = number_of_pair(first, second, series.by, panel.y, panel.y_per, lacking);
  if (!x || !y) return lacking;
  out.points.push_back({coordinate(x, panel.x_unit, panel.place / "x_unit"),
                        coordinate(y, panel.y_unit, panel.place / "y_unit"), to_text(one)});
  return "";
}

ChartSeries chart_series(const FigurePanel& panel, const FigureSeries& series,
                         Simulations& simulations, std::vector<std::string>& left_out) {
  ChartSeries out;
  out.name = series.name;
  if (!series.stated.empty()) {
    for (const StatedPoint& p : series.stated) out.points.push_back({p.x, p.y, "stated"});
    out.line = false;
    return out;
  }
  for (const Grid& grid : series.of) {
    for (const Point& point : scenarios_of(grid)) {
      std::optional<Point> other;
      if (series.by != Combine::none) {
        other = simulations.at_batch(scenarios_of(merged(grid_of(point), series.over)).front());
      }
      const std::string why =
          add_point(panel, series, simulations.at_batch(point), other, simulations, out);
      if (!why.empty()) left_out.push_back(series.name + ": " + why);
    }
  }
  std::stable_sort(out.points.begin(), out.points.end(),
                   [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  return out;
}

bool has_data(const Chart& chart) {
  return std::any_of(chart.series.begin(), chart.series.end(), [](const ChartSeries& s) {
    return s.line && !s.points.empty();  // stated points have no line
  });
}

DrawnFigure draw(const Figure& figure, Simulations& simulations) {
  DrawnFigure out;
  out.name = figure.name;
  std::vector<Chart> charts;
  for (const FigurePanel& panel : figure.panels) {
    Chart chart;
    chart.title = panel.title;
    chart.x_label = panel.x_label;
    chart.y_label = panel.y_label;
    chart.log_x = panel.log_x;
    for (const FigureSeries& series : panel.series) {
      ChartSeries drawn = chart_series(panel, series, simulations, out.left_out);
      if (!drawn.points.empty()) chart.series.push_back(std::move(drawn));
    }
    if (has_data(chart)) charts.push_back(std::move(chart));
  }
  std::sort(out.left_out.begin(), out.left_out.end());
  out.left_out.erase(std::unique(out.left_out.begin(), out.left_out.end()), out.left_out.end());
  if (!charts.empty()) out.svg = chart_svg(charts, 2);
  return out;
}

}  // namespace

std::vector<DrawnFigure> draw_figures(const std::vector<Figure>& figures,
                                      Simulations& simulations) {
  std::vector<DrawnFigure> out(figures.size());
  for_each_index(figures.size(), 0, [&](std::size_t i) { out[i] = draw(figures[i], simulations); });
  return out;
}

}  // namespace tandem
