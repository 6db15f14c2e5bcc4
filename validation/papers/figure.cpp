#include "validation/papers/figure.h"

#include "validation/papers/rows.h"

namespace tandem {

namespace {

FigureSeries read_series(const Json& json, const Place& place, const RowReader& reader) {
  allow_keys(json, place, {"name", "of", "over", "by", "stated"});
  FigureSeries series;
  series.name = text_of(json, place, "name");
  if (json.contains("of") == json.contains("stated")) {
    place.fail("neither or both of of and stated", "one of them");
  }
  if (json.contains("of")) series.of = read_scenarios(json["of"], place / "of", reader);
  series.by = read_combination(json, place, reader, series.over);
  if (!json.contains("stated")) return series;
  const Json& points = json["stated"];
  const Place below = place / "stated";
  if (!points.is_array() || points.empty()) below.fail(describe_json(points), "a list of [x, y]");
  for (const Json& point : points) {
    if (!point.is_array() || point.size() != 2 || !point[0].is_number() || !point[1].is_number()) {
      below.fail(describe_json(point), "[x, y]");
    }
    series.stated.push_back({point[0].get<double>(), point[1].get<double>()});
  }
  return series;
}

FigurePanel read_panel(const Json& json, const Place& place, const RowReader& reader) {
  allow_keys(
      json, place,
      {"title", "x", "x_label", "x_unit", "y", "y_per", "y_label", "y_unit", "log_x", "series"});
  FigurePanel panel;
  panel.place = place;
  panel.title = text_of(json, place, "title");
  panel.x_label = text_of(json, place, "x_label");
  panel.x_unit = text_of(json, place, "x_unit");
  panel.y_label = text_of(json, place, "y_label");
  panel.y_unit = text_of(json, place, "y_unit");
  panel.x = names_of_metric(json, place, "x");
  panel.y = names_of_metric(json, place, "y");
  panel.y_per = names_of_metric(json, place, "y_per");
  panel.log_x = json.contains("log_x") && json["log_x"] == true;
  const Json& series = needed(json, place, "series");
  if (panel.x.empty() || panel.y.empty() || !series.is_array() || series.empty()) {
    place.fail("no x, y or series", "all of them");
  }
  for (std::size_t i = 0; i < series.size(); ++i) {
    const Place at = place / "series" / std::to_string(i);
    panel.series.push_back(read_series(series[i], at, reader));
  }
  return panel;
}

}  // namespace

Figure read_figure(const Json& json, const Place& place, const RowReader& reader) {
  allow_keys(json, place, {"name", "panels"});
  Figure figure;
  figure.name = text_of(json, place, "name");
  const Json& panels = needed(json, place, "panels");
  const Place below = place / "panels";
  if (!panels.is_array() || panels.empty()) below.fail(describe_json(panels), "a list of panels");
  for (std::size_t i = 0; i < panels.size(); ++i) {
    figure.panels.push_back(read_panel(panels[i], below / std::to_string(i), reader));
  }
  return figure;
}

}  // namespace tandem
