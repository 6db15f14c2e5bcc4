#include "sim/sweep/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "models/whatif/transform.h"
#include "sim/core/fields/field.h"
#include "sim/report/fields/published.h"
#include "sim/report/losses.h"

namespace tandem {

namespace {

constexpr FieldRow sweep_rows[] = {
    {"schema", "text", "name and version of this format"},
    {"experiment", "text", "name of the experiment, or of what was swept"},
    {"trace", "text", "file of the trace or network"},
    {"base", "text", "file of the second trace; empty: none"},
    {"points[].settings", "map", "of a point: axis and value as text"},
    {"points[].error", "text", "why the point failed", Presence::may_be_absent},
    {"points[].metrics", "object", "of a point that did not fail", Presence::may_be_absent},
    {"pareto", "object", "points that no other beats", Presence::may_be_absent},
    {"pareto.x", "text", "metric"},
    {"pareto.y", "text", "metric"},
    {"pareto.points[]", "count", "positions in points"},
    {"elasticity", "object", "d ln(metric) / d ln(parameter)", Presence::may_be_absent},
    {"elasticity.metric", "text", "that changes"},
    {"elasticity.step", "ratio", "relative change to both sides"},
    {"elasticity.at", "map", "the scenario around which it is taken"},
    {"elasticity.parameters[].parameter", "text", "number of the GPU"},
    {"elasticity.parameters[].elasticity", "ratio", "null: none", Presence::may_be_null},
    {"elasticity.parameters[].low", "any", "the parameter below"},
    {"elasticity.parameters[].high", "any", "and above"},
    {"elasticity.parameters[].metric_low", "any", "the metric there"},
    {"elasticity.parameters[].metric_high", "any", "and there"},
    {"elasticity.parameters[].error", "text", "why there is none", Presence::may_be_absent},
    {"data_loss[].code", "text", "kind of thing that was not read, not modelled or repaired"},
    {"data_loss[].severity", "text", "info, warning or data_loss"},
    {"data_loss[].count", "count", "how often"},
    {"data_loss[].description", "text", "what happened and what was done about it"},
};

/// Failed points of the text that are named; all are in CSV and JSON.
constexpr std::size_t max_failures_listed = 10;

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

Json number(double value) { return std::isnan(value) ? Json(nullptr) : Json(value); }

/// A number, a truth value, or null for what is not known.
Json shown(const SweepMetric& metric, double value) {
  if (metric.unit == "bool" && !std::isnan(value)) return value != 0;
  return number(value);
}

/// The axis with the unit of its values: "clock_mhz".
std::string axis_column(const std::string& axis) {
  const TransformOption* option = find_option(axis);
  if (option == nullptr || option->unit.empty()) return axis;
  return axis + "_" + std::string(option->unit);
}

/// Rows of cells as columns: the first `left` ones flush left, the others flush right.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left) {
  std::vector<std::size_t> width(rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t c = 0; c < row.size(); ++c) width[c] = std::max(width[c], row[c].size());
  }
  std::string text;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t c = 0; c < row.size(); ++c) {
      line += c < left ? fmt::format("{:<{}}  ", row[c], width[c])
                       : fmt::format("{:>{}}  ", row[c], width[c]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

/// A metric's name without the unit at its end: another one stands beside it.
std::string_view without_unit(std::string_view name) {
  for (const std::string_view end : {"_us", "_bytes", "_per_s", "_j", "_w"}) {
    if (name.ends_with(end)) return name.substr(0, name.size() - end.size());
  }
  return name;
}

std::string cell(double value, double factor) {
  return std::isnan(value) ? "-" : fmt::format("{:.4g}", value * factor);
}

std::vector<std::string> header(const Sweep& sweep) {
  std::vector<std::string> row;
  for (const Axis& axis : sweep.experiment.axes) row.push_back(axis.name);
  for (const std::string& name : sweep.experiment.metrics) {
    const auto unit = readable_unit(sweep_metrics()[sweep_metric_index(name)].unit).name;
    row.push_back(unit.empty() ? name : fmt::format("{} {}", without_unit(name), unit));
  }
  row.insert(row.end(), {"+-%", ""});
  return row;
}

bool on_front(const Sweep& sweep, std::size_t point) {
  return std::find(sweep.front.begin(), sweep.front.end(), point) != sweep.front.end();
}

std::string marks(const Sweep& sweep, std::size_t p) {
  const std::vector<double>& values = sweep.results[p].values;
  std::string text;
  if (values[sweep_metric_index("extrapolated")] == 1) text += "e";
  if (values[sweep_metric_index("fits")] == 0) text += "!";
  if (on_front(sweep, p)) text += "*";
  return text;
}

std::vector<std::string> row_of(const Sweep& sweep, std::size_t p) {
  const PointResult& result = sweep.results[p];
  std::vector<std::string> row;
  for (const Setting& s : sweep.points[p]) row.push_back(s.value);
  for (const std::string& name : sweep.experiment.metrics) {
    const std::size_t i = sweep_metric_index(name);
    row.push_back(result.failed()
                      ? "failed"
                      : cell(result.values[i], readable_unit(sweep_metrics()[i].unit).factor));
  }
  if (result.failed()) {
    row.insert(row.end(), {"", ""});
  } else {
    row.push_back(cell(result.values[sweep_metric_index("expected_error")], 100));
    row.push_back(marks(sweep, p));
  }
  return row;
}

std::string failures_text(const Sweep& sweep) {
  const std::size_t failed = failed_points(sweep);
  if (failed == 0) return "";
  std::string text = fmt::format("\nfailed points: {}\n", failed);
  std::size_t listed = 0;
  for (std::size_t p = 0; p < sweep.points.size() && listed < max_failures_listed; ++p) {
    if (!sweep.results[p].failed()) continue;
    text += fmt::format("  {}: {}\n", to_text(sweep.points[p]), sweep.results[p].error);
    ++listed;
  }
  if (listed < failed) text += fmt::format("  and {} more in the CSV\n", failed - listed);
  return text;
}

std::string elasticities_text(const Sweep& sweep) {
  if (sweep.elasticities.empty()) return "";
  const ElasticityQuestion& q = *sweep.experiment.elasticity;
  std::string text = fmt::format("\nelasticity of {} ({}, steps of {:g} %)\n", q.metric,
                                 to_text(grid_points(q.at).front()), 100 * q.step);
  std::vector<std::vector<std::string>> rows;
  for (const Elasticity& e : sweep.elasticities) {
    rows.push_back({e.parameter,
                    std::isnan(e.elasticity) ? "-" : fmt::format("{:+.3f}", e.elasticity),
                    e.error});
  }
  return text + aligned(rows, 1);
}

Json settings_json(const Point& point) {
  Json json = Json::object();
  for (const Setting& s : point) json[s.name] = s.value;
  return json;
}

Json point_json(const Sweep& sweep, std::size_t p) {
  const PointResult& result = sweep.results[p];
  Json json = {{"settings", settings_json(sweep.points[p])}};
  if (result.failed()) {
    json["error"] = result.error;
    return json;
  }
  Json values = Json::object();
  const auto metrics = sweep_metrics();
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    values[std::string(metrics[i].name)] = shown(metrics[i], result.values[i]);
  }
  json["metrics"] = std::move(values);
  return json;
}

std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace);
}

Json elasticities_json(const Sweep& sweep) {
  Json list = Json::array();
  for (const Elasticity& e : sweep.elasticities) {
    Json one = {{"parameter", e.parameter},
                {"elasticity", number(e.elasticity)},
                {"low", e.low},
                {"high", e.high},
                {"metric_low", e.metric_low},
                {"metric_high", e.metric_high}};
    if (!e.error.empty()) one["error"] = e.error;
    list.push_back(std::move(one));
  }
  return list;
}

/// All of sweep_json() but the points.
Json json_around_points(const Sweep& sweep) {
  const Experiment& e = sweep.experiment;
  Json units = Json::object();
  for (const SweepMetric& m : sweep_metrics()) units[std::string(m.name)] = std::string(m.unit);
  Json json = {{"schema", std::string(sweep_schema)},
               {"experiment", e.name},
               {"trace", e.trace},
               {"base", e.base},
               {"units", std::move(units)},
               {"points", Json::array()}};
  if (e.pareto) json["pareto"] = {{"x", e.pareto->x}, {"y", e.pareto->y}, {"points", sweep.front}};
  if (e.elasticity) {
    json["elasticity"] = {{"metric", e.elasticity->metric},
                          {"step", e.elasticity->step},
                          {"at", settings_json(grid_points(e.elasticity->at).front())},
                          {"parameters", elasticities_json(sweep)}};
  }
  json["data_loss"] = losses_json(sweep.losses);
  return json;
}

}  // namespace

std::vector<PublishedField> sweep_fields() {
  std::vector<PublishedField> out;
  add_rows(sweep_rows, out);
  for (const SweepMetric& m : sweep_metrics()) {
    out.push_back({"units." + std::string(m.name), "text", "unit of the metric"});
    out.push_back({"points[].metrics." + std::string(m.name), std::string(m.unit),
                   std::string(m.description), Presence::may_be_null});
  }
  return out;
}

std::size_t failed_points(const Sweep& sweep) {
  return static_cast<std::size_t>(std::count_if(sweep.results.begin(), sweep.results.end(),
                                                [](const PointResult& r) { return r.failed(); }));
}

std::size_t failed_elasticities(const Sweep& sweep) {
  return static_cast<std::size_t>(
      std::count_if(sweep.elasticities.begin(), sweep.elasticities.end(),
                    [](const Elasticity& e) { return !e.error.empty(); }));
}

std::vector<double> metric_column(const Sweep& sweep, std::string_view metric) {
  const std::size_t i = sweep_metric_index(metric);
  std::vector<double> column;
  column.reserve(sweep.results.size());
  for (const PointResult& r : sweep.results) {
    column.push_back(r.failed() ? std::numeric_limits<double>::quiet_NaN() : r.values[i]);
  }
  return column;
}

std::string sweep_text(const Sweep& sweep, std::size_t max_rows) {
  std::vector<std::vector<std::string>> rows{header(sweep)};
  const std::size_t shown = std::min(max_rows, sweep.points.size());
  for (std::size_t p = 0; p < shown; ++p) rows.push_back(row_of(sweep, p));
  std::string text = aligned(rows, sweep.experiment.axes.size());
  if (shown < sweep.points.size()) {
    text += fmt::format("... {} more points in the CSV\n", sweep.points.size() - shown);
  }
  text +=
      "+-%: error of the step time to be expected; e: outside the traced batches; !: does not "
      "fit; *: Pareto front\n";
  return text + losses_text(sweep.losses) + failures_text(sweep) + elasticities_text(sweep);
}

void write_sweep_csv(std::ostream& out, const Sweep& sweep) {
  for (const Axis& axis : sweep.experiment.axes) out << axis_column(axis.name) << ',';
  for (const SweepMetric& m : sweep_metrics()) out << m.name << ',';
  out << "pareto,error\n";
  std::vector<bool> front(sweep.points.size(), false);
  for (const std::size_t p : sweep.front) front[p] = true;
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    const PointResult& result = sweep.results[p];
    std::string line;
    for (const Setting& s : sweep.points[p]) line += quoted(s.value) + ",";
    for (std::size_t i = 0; i < sweep_metrics().size(); ++i) {
      const bool known = !result.failed() && !std::isnan(result.values[i]);
      if (known) line += shown(sweep_metrics()[i], result.values[i]).dump();
      line += ',';
    }
    out << line << (front[p] ? "true" : "false") << ',' << quoted(result.error) << '\n';
  }
}

Json sweep_json(const Sweep& sweep) {
  Json json = json_around_points(sweep);
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    json["points"].push_back(point_json(sweep, p));
  }
  return json;
}

void write_sweep_json(std::ostream& out, const Sweep& sweep) {
  const Published published(sweep_fields());
  const Json without_points = json_around_points(sweep);
  published.check(without_points);
  const std::string around = text_of(without_points);
  // No text of JSON holds a line break or a bare quote, so this is the one place.
  constexpr std::string_view list = "\n  \"points\": [";
  const std::size_t begin = around.find(list) + list.size();
  out << std::string_view(around).substr(0, begin);
  for (std::size_t p = 0; p < sweep.points.size(); ++p) {
    out << (p == 0 ? "\n    " : ",\n    ");
    const Json point = point_json(sweep, p);
    published.check_element("points", point);
    for (const char c : text_of(point)) {
      out << c;
      if (c == '\n') out << "    ";
    }
  }
  out << (sweep.points.empty() ? "" : "\n  ") << std::string_view(around).substr(begin) << '\n';
}

}  // namespace tandem
