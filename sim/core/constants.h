// Reads the constants of a model from a file of configs/kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/core/field.h"

namespace tandem {

/// Reads {"name": ..., "constants": {KEY: {value, unit, kind, source ...}}} into a T, which has
/// members `name` and `origins` beside those of `fields`. Errors: InputError for a file that cannot
/// be read, for unknown and missing keys and for values out of range.
template <class T>
T load_constants(const std::string& path, const std::vector<Field<T>>& fields) {
  const Json json = read_json_file(path);
  const Place place{path, ""};
  require_object(json, place);
  T out;
  Json constants;
  for (const auto& [key, value] : json.items()) {
    if (key == "name") {
      read_json(value, place / key, Range::positive, out.name);
    } else if (key == "constants") {
      constants = value;
    } else {
      place.fail("unknown key \"" + key + "\"", "one of: name, constants");
    }
  }
  const Place below = place / "constants";
  const std::span<const Field<T>> view(fields);
  const auto seen = read_sourced_fields(constants, below, view, out, out.origins);
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (!seen[i]) below.fail("no key \"" + fields[i].name + "\"", "all of: " + known_names(view));
  }
  return out;
}

}  // namespace tandem
