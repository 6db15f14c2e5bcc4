#include "sim/trace/source/stored_name.h"

#include <array>
#include <filesystem>

namespace tandem {

namespace {
constexpr std::array<std::string_view, 3> appended{"", ".gz", ".zst"};
}

std::optional<std::string_view> stem_of(std::string_view path, std::string_view ending) {
  for (const std::string_view compression : appended) {
    if (!path.ends_with(compression)) continue;
    const std::string_view plain = path.substr(0, path.size() - compression.size());
    if (plain.ends_with(ending)) return plain.substr(0, plain.size() - ending.size());
  }
  return std::nullopt;
}

std::optional<std::string_view> trace_stem(std::string_view path) {
  const auto stem = stem_of(path, ".json");
  return stem && !stem->ends_with(".meta") ? stem : std::nullopt;
}

std::optional<std::string> find_stored(const std::string& path) {
  for (const std::string_view compression : appended) {
    std::string stored = path + std::string(compression);
    std::error_code error;
    if (std::filesystem::is_regular_file(stored, error)) return stored;
  }
  return std::nullopt;
}

}  // namespace tandem
