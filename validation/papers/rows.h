// How rows of claims and of figures are read from JSON: what both have in common.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <vector>

#include "sim/core/fields/field.h"
#include "validation/papers/claim.h"

namespace tandem {

/// What rows of one file refer to.
struct RowReader {
  const GpuCatalogue& gpus;
  std::map<std::string, Grid> scenarios;  // by name
};

// Errors, of all: InputError at `place`, which says what was found and expected.

void allow_keys(const Json& json, const Place& place, std::initializer_list<std::string_view> keys);
/// The value of a key that must be there.
const Json& needed(const Json& json, const Place& place, const std::string& key);
std::string text_of(const Json& json, const Place& place, const std::string& key);
std::string text_or_nothing(const Json& json, const Place& place, const std::string& key);
/// Also below 0: claims state losses.
double number_of(const Json& json, const Place& place, const std::string& key);
/// A text or a list of texts; empty where the key is not there.
std::vector<std::string> names_of_metric(const Json& json, const Place& place,
                                         const std::string& key);
/// The name of a scenario of the file, or settings; "is" names one whose settings others replace.
Grid read_scenario(const Json& json, const Place& place, const RowReader& reader);
/// One, or a list of them.
std::vector<Grid> read_scenarios(const Json& json, const Place& place, const RowReader& reader);
/// The keys "over" and "by".
Combine read_combination(const Json& json, const Place& place, const RowReader& reader, Grid& over);

}  // namespace tandem
