#include "validation/papers/rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tandem {

namespace {

constexpr std::string_view combine_names[] = {"none", "ratio", "gain", "saving", "difference"};

}  // namespace

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

Grid read_scenario(const Json& json, const Place& place, const RowReader& reader) {
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

std::vector<Grid> read_scenarios(const Json& json, const Place& place, const RowReader& reader) {
  if (!json.is_array()) return {read_scenario(json, place, reader)};
  if (json.empty()) place.fail("an empty list", "scenarios");
  std::vector<Grid> grids;
  for (std::size_t i = 0; i < json.size(); ++i) {
    grids.push_back(read_scenario(json[i], place / std::to_string(i), reader));
  }
  return grids;
}

Combine read_combination(const Json& json, const Place& place, const RowReader& reader,
                         Grid& over) {
  if (json.contains("over") != json.contains("by")) {
    place.fail(json.contains("over") ? "\"over\" without \"by\"" : "\"by\" without \"over\"",
               "both or neither");
  }
  if (!json.contains("over")) return Combine::none;
  over = read_scenario(json["over"], place / "over", reader);
  return static_cast<Combine>(read_choice(json["by"], place / "by", combine_names));
}

}  // namespace tandem
