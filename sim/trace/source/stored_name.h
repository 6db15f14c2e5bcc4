// Names of files that may be stored plain or compressed: "x.json", "x.json.gz", "x.json.zst".
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace tandem {

/// `path` without `ending` and what a compression appends to it: stem_of("a/x.json.zst", ".json")
/// is "a/x". Nothing if the path does not end so.
std::optional<std::string_view> stem_of(std::string_view path, std::string_view ending);

/// stem_of(path, ".json"), but nothing for the `.meta.json` that a capture keeps beside its trace.
std::optional<std::string_view> trace_stem(std::string_view path);

/// The file at `path` as it is stored: itself, or with what a compression appends. Nothing if there
/// is none.
std::optional<std::string> find_stored(const std::string& path);

}  // namespace tandem
