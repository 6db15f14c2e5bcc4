// The captures that come with the repository, for tests of what holds of all of them.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "sim/trace/source/stored_name.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::test {

/// What the environment asks for in place of one capture in `every`: TANDEM_TEST_CAPTURES=all,
/// which takes minutes, or another share, TANDEM_TEST_CAPTURES=24 for one in 24.
inline std::size_t wanted_share(std::size_t every) {
  const char* asked = std::getenv("TANDEM_TEST_CAPTURES");
  if (asked == nullptr) return every;
  if (std::string_view(asked) == "all") return 1;
  const long share = std::atol(asked);
  if (share < 1) throw std::runtime_error("TANDEM_TEST_CAPTURES: expected all, or a number from 1");
  return static_cast<std::size_t>(share);
}

/// The traces below validation/captures, in order: one in `every`, or as many as are wanted.
inline std::vector<std::string> captures(std::size_t every) {
  std::vector<std::string> all;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(source_path("validation/captures"))) {
    const std::string path = entry.path().string();
    if (entry.path().parent_path().filename() == "traces" && trace_stem(path)) all.push_back(path);
  }
  std::sort(all.begin(), all.end());
  std::vector<std::string> out;
  for (std::size_t i = 0; i < all.size(); i += wanted_share(every)) out.push_back(all[i]);
  return out;
}

}  // namespace tandem::test
