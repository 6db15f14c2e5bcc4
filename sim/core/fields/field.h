// A struct that is read from or written to JSON is described once, as a list of fields. Reader,
// writer, template and description all derive from that list.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "sim/core/fields/json_fwd.h"
#include "sim/core/fields/provenance.h"

namespace tandem {

/// Where in the input a value stands; the first two parts of an InputError.
struct Place {
  std::string file;
  std::string key;
  Place operator/(std::string_view child) const;
  [[noreturn]] void fail(std::string_view found, std::string_view expected) const;
};

/// What a JSON value is, for the `found` part of an error: `text "abc"`, `null`, `number -3`.
std::string describe_json(const Json& json);

/// The numbers a field accepts. Every number must be finite.
enum class Range : std::uint8_t { positive, non_negative };

// One reader for each type a member may have. Errors: InputError for a wrong type or range.
void read_json(const Json& json, const Place& place, Range range, int& out);
void read_json(const Json& json, const Place& place, Range range, std::int64_t& out);
void read_json(const Json& json, const Place& place, Range range, double& out);
void read_json(const Json& json, const Place& place, Range range, std::string& out);
void read_json(const Json& json, const Place& place, Range range, std::vector<std::int64_t>& out);
void read_json(const Json& json, const Place& place, Range range, std::vector<std::string>& out);

/// One described member of T.
template <class T>
struct Field {
  std::string name;  // JSON key
  std::string unit;  // "" for texts
  std::string doc;
  std::function<void(T&, const Json&, const Place&)> read;
  std::function<Json(const T&)> write;
};

/// Describes a number, text or list member.
template <class T, class M>
Field<T> field(std::string_view name, std::string_view unit, std::string_view doc, M T::*member,
               Range range = Range::positive) {
  return {std::string(name), std::string(unit), std::string(doc),
          [=](T& object, const Json& json, const Place& place) {
            read_json(json, place, range, object.*member);
          },
          [=](const T& object) { return Json(object.*member); }};
}

/// Describes numbers of one unit, each at the end of `out`: add(name, doc, member).
template <class T>
auto field_adder(std::vector<Field<T>>& out, std::string_view unit) {
  return [&out, unit](std::string_view name, std::string_view doc, double T::*member) {
    out.push_back(field(name, unit, doc, member));
  };
}

/// Adds the fields of a part to those of the whole.
template <class T, class Part>
void add_fields(std::vector<Field<T>>& out, Part T::*part, const std::vector<Field<Part>>& fields) {
  for (const Field<Part>& f : fields) {
    out.push_back({f.name, f.unit, f.doc,
                   [=](T& object, const Json& json, const Place& place) {
                     f.read(object.*part, json, place);
                   },
                   [=](const T& object) { return f.write(object.*part); }});
  }
}

/// Position of the text `json` in `choices`. Errors: InputError that lists the choices.
std::size_t read_choice(const Json& json, const Place& place,
                        std::span<const std::string_view> choices);

/// Describes an enum member; `choices[i]` is the text of the enumerator with value i.
template <class T, class E, std::size_t N>
Field<T> choice_field(std::string_view name, std::string_view doc, E T::*member,
                      const std::string_view (&choices)[N]) {
  const std::span<const std::string_view> texts(choices);
  return {std::string(name), "name", std::string(doc),
          [=](T& object, const Json& json, const Place& place) {
            object.*member = static_cast<E>(read_choice(json, place, texts));
          },
          [=](const T& object) {
            return Json(std::string(texts[static_cast<std::size_t>(object.*member)]));
          }};
}

/// Names of all fields, for error texts: "a, b, c".
std::string join(std::span<const std::string> names);
template <class T>
std::string known_names(std::span<const Field<T>> fields) {
  std::vector<std::string> names;
  for (const Field<T>& f : fields) names.push_back(f.name);
  return join(names);
}

/// The field called `name`. Errors: InputError at `place` that lists the known names.
template <class T>
const Field<T>& find_field(std::span<const Field<T>> fields, std::string_view name,
                           const Place& place) {
  for (const Field<T>& f : fields) {
    if (f.name == name) return f;
  }
  place.fail("unknown key \"" + std::string(name) + "\"", "one of: " + known_names(fields));
}

/// Errors: InputError if `json` is not an object.
void require_object(const Json& json, const Place& place);

/// Reads a file of plain values: {"batch": 32, ...}. Each field must be there and no other.
template <class T>
void read_fields(const Json& json, const Place& place, std::span<const Field<T>> fields, T& out) {
  require_object(json, place);
  for (const auto& [key, value] : json.items()) {
    find_field(fields, key, place).read(out, value, place / key);
  }
  for (const Field<T>& f : fields) {
    if (!json.contains(f.name)) {
      place.fail("no key \"" + f.name + "\"", "all of: " + known_names(fields));
    }
  }
}

template <class T>
Json write_fields(const T& object, std::span<const Field<T>> fields) {
  Json json = Json::object();
  for (const Field<T>& f : fields) json[f.name] = f.write(object);
  return json;
}

/// A value with its unit and origin: {"value": 132, "unit": "count", "source": "...", "kind":
/// "spec"}, optionally "uncertainty" and, for kind "fitted" only, "fitted_on".
/// Checks everything but the value itself. Errors: InputError for unknown, missing or wrong parts.
Provenance read_provenance(const Json& json, const Place& place, std::string_view unit);
Json write_sourced(const Json& value, std::string_view unit, const Provenance& provenance);

/// Reads an object of sourced values; `origins` stands parallel to `fields`. Fields that are not
/// named keep their value: the caller decides whether that is an error.
/// Returns which fields were read.
template <class T>
std::vector<bool> read_sourced_fields(const Json& json, const Place& place,
                                      std::span<const Field<T>> fields, T& out,
                                      std::vector<Provenance>& origins) {
  require_object(json, place);
  std::vector<bool> seen(fields.size(), false);
  origins.resize(fields.size());
  for (const auto& [key, value] : json.items()) {
    const Field<T>& f = find_field(fields, key, place);
    const auto i = static_cast<std::size_t>(&f - fields.data());
    const Place at = place / key;
    origins[i] = read_provenance(value, at, f.unit);
    f.read(out, value.at("value"), at / "value");
    seen[i] = true;
  }
  return seen;
}

/// Reads and parses a whole JSON file. Errors: InputError if it cannot be read or is not JSON, or
/// if an object names a key twice.
Json read_json_file(const std::string& path);
Json parse_json(std::string_view text, const std::string& file);

}  // namespace tandem
