// Reads the constants of a model from a file of configs/kernels.
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "sim/core/fields/field.h"

namespace tandem {

/// What a file holds beside its constants: a key of its own, and who reads it.
template <class T>
struct ExtraSection {
  std::string key;  // empty: none
  void (*read)(const Json& json, const Place& place, T& out) = nullptr;
};

/// Reads every one of `fields`, each with its source; `origins` are parallel to them. Errors:
/// InputError for unknown and missing keys and for values out of range.
template <class T>
void read_all_sourced(const Json& json, const Place& place,
                      std::type_identity_t<std::span<const Field<T>>> fields, T& out,
                      std::vector<Provenance>& origins) {
  const auto seen = read_sourced_fields(json, place, fields, out, origins);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!seen[i]) place.fail("no key \"" + fields[i].name + "\"", "all of: " + known_names(fields));
  }
}

/// Reads {"name": ..., "constants": {KEY: {value, unit, kind, source ...}}} into a T, which has
/// members `name` and `origins` beside those of `fields`, and the extra section if there is to be
/// one. Errors: InputError for a file that cannot be read, for unknown and missing keys and for
/// values out of range.
template <class T>
T load_constants(const std::string& path, const std::vector<Field<T>>& fields,
                 const ExtraSection<T>& extra = {}) {
  const Json json = read_json_file(path);
  const Place place{path, ""};
  require_object(json, place);
  T out;
  const Json none;
  const Json* constants = &none;
  const std::string known = "name, constants" + (extra.key.empty() ? "" : ", " + extra.key);
  for (const auto& [key, value] : json.items()) {
    if (key == "name") {
      read_json(value, place / key, Range::positive, out.name);
    } else if (key == "constants") {
      constants = &value;
    } else if (extra.read == nullptr || key != extra.key) {
      place.fail("unknown key \"" + key + "\"", "one of: " + known);
    }
  }
  if (extra.read != nullptr) {
    if (!json.contains(extra.key)) place.fail("no key \"" + extra.key + "\"", "all of: " + known);
    extra.read(json.at(extra.key), place / extra.key, out);
  }
  read_all_sourced(*constants, place / "constants", fields, out, out.origins);
  return out;
}

}  // namespace tandem
