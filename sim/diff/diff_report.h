// A comparison as text and as JSON. Nothing here computes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/core/fields/json_fwd.h"
#include "sim/diff/diff.h"
#include "sim/report/fields/fields.h"

namespace tandem {

inline constexpr std::string_view diff_schema = "tandem.diff/1";

/// The answer first, then what the difference consists of, and what only one side has.
std::string diff_text(const Diff& diff);

/// One object of schema diff_schema.
Json diff_json(const Diff& diff);
std::vector<PublishedField> diff_fields();

/// What a PathKind is to a reader who never saw one.
std::string_view describe(PathKind kind);

/// The kinds as a table whose rows have the names that `name` gives them.
DiffTable named(const std::vector<DiffKind>& kinds, std::string_view (*name)(PathKind));

}  // namespace tandem
