// The captures that come with the repository, for tests of what holds of all of them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/source/stored_name.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::test {

/// Whether the environment asks for all captures, TANDEM_TEST_CAPTURES=all. Tests look at a share
/// of them otherwise, for all take minutes.
inline bool all_captures_wanted() {
  const char* asked = std::getenv("TANDEM_TEST_CAPTURES");
  return asked != nullptr && std::string_view(asked) == "all";
}

/// The traces below validation/captures, in order: one in `every`, or all that are wanted.
inline std::vector<std::string> captures(std::size_t every) {
  std::vector<std::string> all;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(source_path("validation/captures"))) {
    const std::string path = entry.path().string();
    if (entry.path().parent_path().filename() == "traces" && trace_stem(path)) all.push_back(path);
  }
  std::sort(all.begin(), all.end());
  if (all_captures_wanted()) return all;
  std::vector<std::string> out;
  for (std::size_t i = 0; i < all.size(); i += every) out.push_back(all[i]);
  return out;
}

}  // namespace tandem::test
