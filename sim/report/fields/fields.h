// What each published field of our JSON is: `describe metric`, the schemas of docs/schema and the
// tests that hold real output against both read these rows.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/fields/json_fwd.h"

namespace tandem {

/// Whether a field is there, and holds a value.
enum class Presence : std::uint8_t { always, may_be_null, may_be_absent, may_be_both };

/// A value, or with the unit "object" what its own fields stand in. Lists have no row: they are the
/// "[]" of their elements' paths.
struct PublishedField {
  std::string path;  // "kernels[].time_us"
  std::string unit;  // of numbers; "text", "bool", "object", "map" of texts, "any"
  std::string doc;
  Presence presence = Presence::always;
};

/// A row as it stands in a table: const char* only.
struct FieldRow {
  const char* path;
  const char* unit;
  const char* doc;
  Presence presence = Presence::always;
};
void add_rows(std::span<const FieldRow> rows, std::vector<PublishedField>& out);

/// Of fields that hold a PathKind.
inline constexpr const char* path_kind_doc =
    "host, call, kernel, launch_latency, device_gap, stream_wait, queue_full or host_return";

/// Of `replay`, `run` and `demo`.
std::vector<PublishedField> result_fields();
std::vector<PublishedField> check_fields();
std::vector<PublishedField> match_fields();
std::vector<PublishedField> advice_fields();

/// A JSON Schema (2020-12) of objects whose key "schema" holds `id`.
Json json_schema(std::string_view id, std::string_view title,
                 std::span<const PublishedField> fields);

}  // namespace tandem
