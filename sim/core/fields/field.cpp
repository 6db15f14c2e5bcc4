#include "sim/core/fields/field.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>

#include "sim/core/bounds/limits.h"
#include "sim/core/named.h"

namespace tandem {
namespace {

constexpr std::string_view kind_names[] = {"spec", "measured", "fitted"};
static_assert(std::size(kind_names) == values_up_to(ValueKind::fitted));
constexpr std::string_view part_names[] = {"value", "unit",      "source",
                                           "kind",  "fitted_on", "uncertainty"};

std::string_view expected_number(Range range) {
  return range == Range::positive ? "a number > 0" : "a number >= 0";
}

std::string expected_size() {
  return fmt::format("0, or a number from {} to {}", limits::smallest_number,
                     limits::largest_number);
}

bool in_range(double value, Range range) {
  return std::isfinite(value) && (range == Range::positive ? value > 0 : value >= 0);
}

template <class Int>
void read_whole(const Json& json, const Place& place, Range range, Int& out) {
  const std::string_view expected =
      range == Range::positive ? "a whole number > 0" : "a whole number >= 0";
  // Unsigned JSON numbers may exceed int64; get<> would wrap them silently.
  const bool fits = json.is_number_integer() &&
                    (!json.is_number_unsigned() ||
                     json.get<std::uint64_t>() <= std::uint64_t{std::numeric_limits<Int>::max()});
  constexpr Int most = std::numeric_limits<Int>::max();
  if (json.is_number() && json.get<double>() >= static_cast<double>(most)) {
    place.fail(describe_json(json), fmt::format("a whole number of at most {}", most));
  }
  if (!fits) {
    // 1e9 is whole, but written as a number that need not be.
    const bool written = json.is_number_float() && std::trunc(json.get<double>()) == json;
    place.fail(describe_json(json),
               fmt::format("{}{}", expected, written ? ", without point and exponent" : ""));
  }
  const auto value = json.get<std::int64_t>();
  if (!in_range(static_cast<double>(value), range)) place.fail(describe_json(json), expected);
  out = static_cast<Int>(value);
}

bool is_text(const Json& json) {
  return json.is_string() && !json.get_ref<const std::string&>().empty();
}

std::string read_text(const Json& json, const Place& place) {
  if (!is_text(json)) place.fail(describe_json(json), "a text");
  return json.get<std::string>();
}

// Thousands of values say where they come from at every start, so the place of a part is made only
// to complain about it.
std::string text_part(const Json& json, const Place& place, const char* name) {
  const Json& part = json[name];
  return is_text(part) ? part.get<std::string>() : read_text(part, place / name);
}

std::optional<std::size_t> find_choice(const Json& json,
                                       std::span<const std::string_view> choices) {
  if (!json.is_string()) return std::nullopt;
  const auto it = std::find(choices.begin(), choices.end(), json.get_ref<const std::string&>());
  if (it == choices.end()) return std::nullopt;
  return static_cast<std::size_t>(it - choices.begin());
}

std::size_t choice_part(const Json& json, const Place& place, const char* name,
                        std::span<const std::string_view> choices) {
  const auto found = find_choice(json[name], choices);
  return found ? *found : read_choice(json[name], place / name, choices);
}

void check_parts(const Json& json, const Place& place, bool fitted) {
  for (const auto& [key, value] : json.items()) {
    if (std::find(std::begin(part_names), std::end(part_names), key) == std::end(part_names)) {
      place.fail(fmt::format("unknown key \"{}\"", key),
                 fmt::format("one of: {}", fmt::join(part_names, ", ")));
    }
  }
  for (const std::string_view name : {"value", "unit", "source", "kind"}) {
    if (!json.contains(name)) {
      place.fail(fmt::format("no key \"{}\"", name), "all of: value, unit, source, kind");
    }
  }
  if (fitted != json.contains("fitted_on")) {
    place.fail(fitted ? "kind \"fitted\" without \"fitted_on\"" : "\"fitted_on\"",
               fitted ? "the data it was fitted on" : "it with kind \"fitted\" only");
  }
}

}  // namespace

std::string_view to_string(ValueKind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

Place Place::operator/(std::string_view child) const {
  return {file, key.empty() ? std::string(child) : key + "." + std::string(child)};
}

void Place::fail(std::string_view found, std::string_view expected) const {
  throw InputError(file, key, found, expected);
}

std::string describe_json(const Json& json) {
  constexpr std::size_t longest = 60;
  if (json.is_null()) return "null";
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > longest) text = text.substr(0, longest) + "...";
  const std::string type = json.is_string() ? "text" : json.type_name();
  return type + " " + text;
}

void read_json(const Json& json, const Place& place, Range range, int& out) {
  read_whole(json, place, range, out);
}

void read_json(const Json& json, const Place& place, Range range, std::int64_t& out) {
  read_whole(json, place, range, out);
}

void read_json(const Json& json, const Place& place, Range range, double& out) {
  if (!json.is_number() || !in_range(json.get<double>(), range)) {
    place.fail(describe_json(json), expected_number(range));
  }
  const auto value = json.get<double>();
  if (value != 0 && (value < limits::smallest_number || value > limits::largest_number)) {
    place.fail(describe_json(json), expected_size());
  }
  out = value;
}

void read_json(const Json& json, const Place& place, Range, std::string& out) {
  out = read_text(json, place);
}

void read_json(const Json& json, const Place& place, Range range, std::vector<std::int64_t>& out) {
  if (!json.is_array() || json.empty()) place.fail(describe_json(json), "a list of numbers");
  std::vector<std::int64_t> values(json.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    read_json(json[i], place / std::to_string(i), range, values[i]);
  }
  out = std::move(values);
}

void read_json(const Json& json, const Place& place, Range, std::vector<std::string>& out) {
  if (!json.is_array()) place.fail(describe_json(json), "a list of texts");
  std::vector<std::string> values(json.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = read_text(json[i], place / std::to_string(i));
  }
  out = std::move(values);
}

std::size_t read_choice(const Json& json, const Place& place,
                        std::span<const std::string_view> choices) {
  if (const auto found = find_choice(json, choices)) return *found;
  place.fail(describe_json(json), fmt::format("one of: {}", fmt::join(choices, ", ")));
}

std::string join(std::span<const std::string> names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

void require_object(const Json& json, const Place& place) {
  if (!json.is_object()) place.fail(describe_json(json), "an object {...}");
}

Provenance read_provenance(const Json& json, const Place& place, std::string_view unit) {
  if (!json.is_object()) {
    place.fail(describe_json(json),
               "{\"value\": ..., \"unit\": ..., \"source\": ..., \"kind\": ...}");
  }
  const std::string_view units[] = {unit};
  Provenance out;
  if (json.contains("kind")) {
    out.kind = static_cast<ValueKind>(choice_part(json, place, "kind", kind_names));
  }
  check_parts(json, place, out.kind == ValueKind::fitted);
  choice_part(json, place, "unit", units);
  out.source = text_part(json, place, "source");
  if (json.contains("fitted_on")) out.fitted_on = text_part(json, place, "fitted_on");
  if (json.contains("uncertainty")) {
    read_json(json["uncertainty"], place / "uncertainty", Range::positive, out.uncertainty);
  }
  return out;
}

Json write_sourced(const Json& value, std::string_view unit, const Provenance& provenance) {
  Json json = {{"value", value},
               {"unit", std::string(unit)},
               {"source", provenance.source},
               {"kind", std::string(to_string(provenance.kind))}};
  if (!provenance.fitted_on.empty()) json["fitted_on"] = provenance.fitted_on;
  if (provenance.uncertainty > 0) json["uncertainty"] = provenance.uncertainty;
  return json;
}

}  // namespace tandem
