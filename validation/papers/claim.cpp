#include "validation/papers/claim.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>

namespace tandem {

namespace {

constexpr std::string_view combine_names[] = {"none", "ratio", "gain", "saving", "difference"};
constexpr std::string_view take_names[] = {"each",        "mean",           "least",      "most",
                                           "first_above", "first_reaching", "correlation"};
constexpr std::string_view relation_names[] = {"=", "~", "<", "<=", ">", ">=", "range"};

/// Scenarios that rows refer to by name.
using NamedGrids = std::map<std::string, Grid>;

struct Reader {
  const GpuCatalogue& gpus;
  NamedGrids scenarios;
};

void allow_keys(const Json& json, const Place& place,
                std::initializer_list<std::string_view> keys) {
  require_object(json, place);
  for (const auto& [key, value] : json.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    place.fail("unknown key \"" + key + "\"", fmt::format("one of: {}", fmt::join(keys, ", ")));
  }
}

const Json& needed(const Json& json, const Place& place, const std::string& key) {
  if (!json.contains(key)) place.fail("no key \"" + key + "\"", "it");
  return json[key];
}

std::string text_of(const Json& json, const Place& place, const std::string& key) {
  std::string text;
  read_json(needed(json, place, key), place / key, Range::positive, text);
  return text;
}

std::string text_or_nothing(const Json& json, const Place& place, const std::string& key) {
  return json.contains(key) ? text_of(json, place, key) : "";
}

/// Also below 0: claims state losses.
double number_of(const Json& json, const Place& place, const std::string& key) {
  const Json& value = needed(json, place, key);
  if (!value.is_number() || !std::isfinite(value.get<double>())) {
    (place / key).fail(describe_json(value), "a number");
  }
  return value.get<double>();
}

std::vector<std::string> names_of_metric(const Json& json, const Place& place,
                                         const std::string& key) {
  if (!json.contains(key)) return {};
  if (json[key].is_string()) return {text_of(json, place, key)};
  std::vector<std::string> names;
  read_json(json[key], place / key, Range::positive, names);
  if (names.empty()) (place / key).fail("an empty list", "names of numbers");
  return names;
}

/// The name of a scenario of the file, or settings; "is" names one whose settings others replace.
Grid read_scenario(const Json& json, const Place& place, const Reader& reader) {
  const auto named = [&](const Json& name, const Place& at) {
    std::string text;
    read_json(name, at, Range::positive, text);
    const auto it = reader.scenarios.find(text);
    if (it != reader.scenarios.end()) return it->second;
    std::vector<std::string> names;
    for (const auto& [known, grid] : reader.scenarios) names.push_back(known);
    at.fail("\"" + text + "\"", "one of the file's scenarios: " + join(names));
  };
  if (json.is_string()) return named(json, place);
  require_object(json, place);
  Json settings = json;
  Grid grid;
  if (json.contains("is")) {
    grid = named(json["is"], place / "is");
    settings.erase("is");
  }
  return merged(std::move(grid), read_grid(settings, place, reader.gpus));
}

std::vector<Grid> read_scenarios(const Json& json, const Place& place, const Reader& reader) {
  if (!json.is_array()) return {read_scenario(json, place, reader)};
  if (json.empty()) place.fail("an empty list", "scenarios");
  std::vector<Grid> grids;
  for (std::size_t i = 0; i < json.size(); ++i) {
    grids.push_back(read_scenario(json[i], place / std::to_string(i), reader));
  }
  return grids;
}

Combine read_combination(const Json& json, const Place& place, const Reader& reader, Grid& over) {
  if (json.contains("over") != json.contains("by")) {
    place.fail(json.contains("over") ? "\"over\" without \"by\"" : "\"by\" without \"over\"",
               "both or neither");
  }
  if (!json.contains("over")) return Combine::none;
  over = read_scenario(json["over"], place / "over", reader);
  return static_cast<Combine>(read_choice(json["by"], place / "by", combine_names));
}

void read_tolerance(const Json& json, const Place& place, Wanted& out) {
  struct Spelling {
    std::string key;
    ToleranceKind kind;
  };
  const Spelling spellings[] = {{"tolerance", ToleranceKind::absolute},
                                {"tolerance_percent", ToleranceKind::percent},
                                {"tolerance_factor", ToleranceKind::factor}};
  int found = 0;
  for (const auto& [key, kind] : spellings) {
    if (!json.contains(key)) continue;
    out.tolerance = number_of(json, place, key);
    out.tolerance_kind = kind;
    ++found;
    const double least = kind == ToleranceKind::factor ? 1 : 0;
    if (out.tolerance < least) (place / key).fail(describe_json(json[key]), "no less");
  }
  if (found > 1) place.fail("several tolerances", "one");
}

Wanted read_wanted(const Json& json, const Place& place) {
  allow_keys(json, place,
             {"is", "value", "high", "unit", "tolerance", "tolerance_percent", "tolerance_factor"});
  Wanted out;
  out.relation =
      static_cast<Relation>(read_choice(needed(json, place, "is"), place / "is", relation_names));
  out.value = number_of(json, place, "value");
  out.unit = text_of(json, place, "unit");
  read_tolerance(json, place, out);
  if (json.contains("high") != (out.relation == Relation::range)) {
    place.fail("\"high\" or a range without the other", "both or neither");
  }
  if (out.relation == Relation::range) {
    out.high = number_of(json, place, "high");
    if (out.high < out.value) (place / "high").fail(describe_json(json["high"]), "value or more");
  }
  return out;
}

Check read_check(const Json& json, const Place& place, const Reader& reader) {
  Check check;
  check.place = place;
  needed(json, place, "metric");
  check.metric = names_of_metric(json, place, "metric");
  check.per = names_of_metric(json, place, "per");
  check.with = names_of_metric(json, place, "with");
  check.of = read_scenarios(needed(json, place, "of"), place / "of", reader);
  check.by = read_combination(json, place, reader, check.over);
  if (json.contains("take")) {
    check.take = static_cast<Take>(read_choice(json["take"], place / "take", take_names));
  }
  if (check.with.empty() == (check.take == Take::correlation)) {
    place.fail("\"with\" or take \"correlation\" without the other", "both or neither");
  }
  const bool first = check.take == Take::first_above || check.take == Take::first_reaching;
  if (first != json.contains("threshold")) {
    place.fail("\"threshold\" or a take that needs it without the other", "both or neither");
  }
  if (first) check.threshold = number_of(json, place, "threshold");
  check.wanted = read_wanted(needed(json, place, "wanted"), place / "wanted");
  return check;
}

Claim read_claim(const Json& json, const Place& place, const Reader& reader) {
  require_object(json, place);
  Claim claim;
  claim.id = text_of(json, place, "id");
  claim.section = text_of(json, place, "section");
  claim.quantity = text_of(json, place, "quantity");
  claim.note = text_or_nothing(json, place, "note");
  claim.why = text_or_nothing(json, place, "why");
  const auto check_keys = {"metric", "per",  "with",      "of",    "over",
                           "by",     "take", "threshold", "wanted"};
  if (json.contains("metric")) {
    allow_keys(json, place,
               {"id", "section", "quantity", "note", "why", "metric", "per", "with", "of", "over",
                "by", "take", "threshold", "wanted"});
    claim.checks.push_back(read_check(json, place, reader));
    return claim;
  }
  allow_keys(json, place, {"id", "section", "quantity", "note", "why", "checks"});
  if (!json.contains("checks")) {
    if (claim.why.empty()) place.fail("neither checks nor why there are none", "one of them");
    return claim;
  }
  const Json& checks = json["checks"];
  const Place below = place / "checks";
  if (!checks.is_array() || checks.empty()) below.fail(describe_json(checks), "a list of checks");
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const Place at = below / std::to_string(i);
    require_object(checks[i], at);
    for (const auto& [key, value] : checks[i].items()) {
      if (std::find(check_keys.begin(), check_keys.end(), key) == check_keys.end()) {
        at.fail("unknown key \"" + key + "\"",
                fmt::format("one of: {}", fmt::join(check_keys, ", ")));
      }
    }
    claim.checks.push_back(read_check(checks[i], at, reader));
  }
  return claim;
}

FigureSeries read_series(const Json& json, const Place& place, const Reader& reader) {
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

FigurePanel read_panel(const Json& json, const Place& place, const Reader& reader) {
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

Figure read_figure(const Json& json, const Place& place, const Reader& reader) {
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

void load_file(const std::string& path, const GpuCatalogue& gpus, Claims& out) {
  const Json json = read_json_file(path);
  const Place place{path, ""};
  allow_keys(json, place, {"schema", "chapter", "source", "scenarios", "claims", "figures"});
  if (text_of(json, place, "schema") != claims_schema) {
    (place / "schema").fail(describe_json(json["schema"]), std::string(claims_schema));
  }
  const std::string chapter = text_of(json, place, "chapter");
  Reader reader{gpus, {}};
  if (json.contains("scenarios")) {
    require_object(json["scenarios"], place / "scenarios");
    for (const auto& [name, grid] : json["scenarios"].items()) {
      reader.scenarios[name] = read_scenario(grid, place / "scenarios" / name, reader);
    }
  }
  const auto list = [&](const std::string& key, const auto& read) {
    if (!json.contains(key)) return;
    const Place below = place / key;
    if (!json[key].is_array()) below.fail(describe_json(json[key]), "a list");
    for (std::size_t i = 0; i < json[key].size(); ++i) {
      read(json[key][i], below / std::to_string(i));
    }
  };
  list("claims", [&](const Json& row, const Place& at) {
    out.claims.push_back(read_claim(row, at, reader));
    out.claims.back().chapter = chapter;
  });
  list("figures", [&](const Json& row, const Place& at) {
    out.figures.push_back(read_figure(row, at, reader));
  });
}

void check_ids(const std::string& folder, const std::vector<Claim>& claims) {
  std::vector<std::string> ids;
  for (const Claim& claim : claims) ids.push_back(claim.id);
  std::sort(ids.begin(), ids.end());
  const auto twice = std::adjacent_find(ids.begin(), ids.end());
  if (twice != ids.end()) throw InputError(folder, *twice, "two rows", "one row an id");
}

}  // namespace

std::string_view to_string(Relation relation) {
  return relation_names[static_cast<std::size_t>(relation)];
}

bool is_met(const Wanted& w, double value) {
  const double sign = w.value < 0 ? -1 : 1;
  double low = w.value - w.tolerance, high = w.value + w.tolerance;
  if (w.tolerance_kind == ToleranceKind::percent) {
    constexpr double percent = 0.01;
    low = w.value * (1 - sign * w.tolerance * percent);
    high = w.value * (1 + sign * w.tolerance * percent);
  } else if (w.tolerance_kind == ToleranceKind::factor) {
    low = w.value / w.tolerance;
    high = w.value * w.tolerance;
  }
  switch (w.relation) {
    case Relation::equal:
    case Relation::about: return value >= low && value <= high;
    case Relation::below: return value < high;
    case Relation::at_most: return value <= high;
    case Relation::above: return value > low;
    case Relation::at_least: return value >= low;
    case Relation::range: return value >= low && value <= w.high + (high - w.value);
  }
  return false;
}

Claims load_claims(const std::string& folder, const std::string& configs) {
  std::vector<std::string> paths;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".json") paths.push_back(entry.path().string());
  }
  if (paths.empty()) throw InputError(folder, "", "no claims", "a folder with *.json claim files");
  std::sort(paths.begin(), paths.end());
  const GpuCatalogue gpus = load_catalogue(configs + "/gpus");
  Claims out;
  for (const std::string& path : paths) load_file(path, gpus, out);
  check_ids(folder, out.claims);
  return out;
}

}  // namespace tandem
