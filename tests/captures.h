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

/// `count` of `all`, spread over them evenly, or as many as the environment asks for:
/// TANDEM_TEST_CAPTURES=all, which takes minutes, or another number.
template <typename T>
std::vector<T> some_of(const std::vector<T>& all, std::size_t count) {
  if (const char* asked = std::getenv("TANDEM_TEST_CAPTURES")) {
    const long number = std::string_view(asked) == "all" ? long(all.size()) : std::atol(asked);
    if (number < 1)
      throw std::runtime_error("TANDEM_TEST_CAPTURES: expected all, or a number from 1");
    count = static_cast<std::size_t>(number);
  }
  count = std::min(count, all.size());
  std::vector<T> out;
  for (std::size_t i = 0; i < count; ++i) out.push_back(all[i * all.size() / count]);
  return out;
}

/// `count` of the traces below validation/captures, in order (`some_of`).
inline std::vector<std::string> captures(std::size_t count) {
  std::vector<std::string> all;
  for (const auto& entry :
       std::filesystem::recursive_directory_iterator(source_path("validation/captures"))) {
    const std::string path = entry.path().string();
    if (entry.path().parent_path().filename() == "traces" && trace_stem(path)) all.push_back(path);
  }
  std::sort(all.begin(), all.end());
  return some_of(all, count);
}

}  // namespace tandem::test
