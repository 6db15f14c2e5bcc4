#include "sim/counters/number_text.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace tandem {

namespace {

using Factor = std::pair<std::string_view, double>;

constexpr std::array<Factor, 11> time_units{{
    {"ns", 1},
    {"nsecond", 1},
    {"us", 1e3},
    {"usecond", 1e3},
    {"\xc2\xb5s", 1e3},  // micro sign
    {"ms", 1e6},
    {"msecond", 1e6},
    {"s", 1e9},
    {"second", 1e9},
    {"sec", 1e9},
    {"nanosecond", 1},
}};

constexpr std::array<Factor, 5> prefixes{
    {{"", 1}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}};

constexpr std::array<std::string_view, 6> count_units{"cycle", "inst",  "sector",
                                                      "warp",  "block", "thread"};

/// Length of a separator of thousands that no locale uses as a decimal sign: space, no-break
/// spaces, apostrophe.
std::size_t neutral_separator(std::string_view text) {
  for (const std::string_view s : {" ", "\xc2\xa0", "\xe2\x80\xaf", "'", "\xe2\x80\x99"}) {
    if (text.starts_with(s)) return s.size();
  }
  return 0;
}

std::optional<double> find_factor(std::string_view unit, std::span<const Factor> factors) {
  for (const auto& [name, factor] : factors) {
    if (name == unit) return factor;
  }
  return std::nullopt;
}

/// The whole part without separators, or nothing if its groups are not 1-3, 3, 3 ... digits.
std::optional<std::string> join_groups(std::string_view text, char separator) {
  std::string digits;
  std::size_t group = 0;
  bool grouped = false;
  while (!text.empty()) {
    const std::size_t length = text.front() == separator ? 1 : neutral_separator(text);
    if (length == 0) {
      if (!is_digit(text.front())) return std::nullopt;
      digits.push_back(text.front());
      text.remove_prefix(1);
      ++group;
      continue;
    }
    if (group == 0 || group > 3 || (grouped && group != 3)) return std::nullopt;
    if (digits.front() == '0') return std::nullopt;  // 0,123 is a fraction
    grouped = true;
    group = 0;
    text.remove_prefix(length);
  }
  if (digits.empty() || (grouped && group != 3)) return std::nullopt;
  return digits;
}

}  // namespace

std::optional<double> parse_number(std::string_view text, NumberFormat format) {
  const bool point = format == NumberFormat::decimal_point;
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  const std::size_t end = text.find_first_of(point ? ".eE" : ",eE");
  auto plain = join_groups(text.substr(0, end), point ? ',' : '.');
  if (!plain) return std::nullopt;
  if (end != std::string_view::npos) {
    plain->append(text.substr(end));
    if (!point && text[end] == ',') (*plain)[plain->size() - (text.size() - end)] = '.';
  }
  double value = 0;
  const auto [rest, error] = std::from_chars(plain->data(), plain->data() + plain->size(), value);
  if (error != std::errc() || rest != plain->data() + plain->size()) return std::nullopt;
  return negative ? -value : value;
}

std::optional<NumberFormat> format_of(std::string_view text) {
  const bool point = parse_number(text, NumberFormat::decimal_point).has_value();
  const bool comma = parse_number(text, NumberFormat::decimal_comma).has_value();
  if (point == comma) return std::nullopt;
  return point ? NumberFormat::decimal_point : NumberFormat::decimal_comma;
}

bool is_absent(std::string_view text) {
  for (const std::string_view s : {"", "n/a", "N/A", "nan", "-nan", "NaN", "inf", "-inf"}) {
    if (text == s) return true;
  }
  return false;
}

std::optional<double> unit_factor(std::string_view unit, Quantity quantity) {
  if (const std::size_t slash = unit.find('/'); slash != std::string_view::npos) {
    unit = unit.substr(0, slash);  // byte/block, register/thread
  }
  if (quantity == Quantity::time) return find_factor(unit, time_units);
  for (const auto& [prefix, factor] : prefixes) {
    if (!unit.starts_with(prefix)) continue;
    const std::string_view base = unit.substr(prefix.size());
    if (quantity == Quantity::bytes && (base == "byte" || base == "B")) return factor;
    if (quantity == Quantity::bytes) continue;
    for (const std::string_view known : count_units) {
      if (base == known) return factor;
    }
  }
  if (quantity == Quantity::bytes) return std::nullopt;
  return 1.0;
}

}  // namespace tandem
