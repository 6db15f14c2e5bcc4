#include "sim/core/named.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <numeric>

namespace tandem {

namespace {

/// Letters to insert, remove, exchange, or swap with their neighbour.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before, last(b.size() + 1), row(b.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] != b[j - 1])});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before = last;
    last = row;
  }
  return last.back();
}

/// Of one name: 0 where it holds the text.
std::size_t distance(std::string_view wanted, std::string_view name) {
  const bool holds = wanted.size() >= 2 && name.find(wanted) != std::string_view::npos;
  return holds ? 0 : edit_distance(wanted, name);
}

}  // namespace

std::string lower_case(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

std::optional<std::size_t> nearest_name(std::span<const std::string> names, std::string_view text) {
  // Longer texts are only mistyped, never compared: the distance takes the product of the lengths.
  constexpr std::size_t longest = 64;
  if (text.size() > longest) return {};
  const std::string wanted = lower_case(text);
  // A third of the letters may be wrong; beyond that, any name is as near as any other.
  std::size_t best_distance = (wanted.size() + 1) / 3 + 1;
  std::optional<std::size_t> best;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::size_t d = distance(wanted, lower_case(names[i]));
    if (d >= best_distance) continue;
    best = i;
    best_distance = d;
  }
  return best;
}

std::string expected_name(std::span<const std::string> names, std::string_view text) {
  const auto near = nearest_name(names, text);
  return fmt::format("one of: {}{}", fmt::join(names, ", "),
                     near ? fmt::format("; did you mean {}?", names[*near]) : std::string());
}

}  // namespace tandem
