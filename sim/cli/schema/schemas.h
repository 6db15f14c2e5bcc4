// The formats of our JSON files: one table of names, from which `describe schema` makes the files
// of docs/schema.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/fields/fields.h"

namespace tandem {

struct PublishedSchema {
  std::string_view name;  // file of docs/schema without .schema.json
  std::string_view id;    // what "schema" says in the JSON itself
  std::string_view about;
  std::vector<PublishedField> (*fields)();
};
std::span<const PublishedSchema> published_schemas();

/// Of `square`, of `validate` and of `validate --claims`.
std::vector<PublishedField> square_fields();
std::vector<PublishedField> validation_fields();
std::vector<PublishedField> claims_fields();

}  // namespace tandem
