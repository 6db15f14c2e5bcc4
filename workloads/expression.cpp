#include "workloads/expression.h"

#include <cctype>
#include <charconv>
#include <limits>

namespace tandem {
namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// The text up to `separator`, which is taken off `rest` together with it.
std::string_view next_part(std::string_view& rest, char separator, bool& last) {
  const std::size_t at = rest.find(separator);
  last = at == std::string_view::npos;
  const std::string_view part = rest.substr(0, at);
  rest = last ? std::string_view{} : rest.substr(at + 1);
  return trimmed(part);
}

bool is_name(std::string_view text) {
  if (text.empty() || (std::isalpha(static_cast<unsigned char>(text[0])) == 0 && text[0] != '_')) {
    return false;
  }
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  }
  return true;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return value;
}

}  // namespace

std::optional<Expression> Expression::parse(std::string_view text, std::span<const Symbol> symbols,
                                            std::string& unknown) {
  Expression out;
  for (bool last_term = false; !last_term;) {
    std::string_view product = next_part(text, '+', last_term);
    Term& term = out.terms_.emplace_back();
    for (bool last = false; !last;) {
      const std::string_view factor = next_part(product, '*', last);
      if (const auto number = number_of(factor)) {
        if (__builtin_mul_overflow(term.factor, *number, &term.factor)) return {};
        continue;
      }
      if (!is_name(factor)) return {};
      std::size_t at = 0;
      while (at < symbols.size() && symbols[at].name != factor) ++at;
      if (at == symbols.size()) {
        unknown = factor;
        return {};
      }
      term.symbols.push_back(static_cast<std::uint8_t>(at));
    }
  }
  return out;
}

Expression Expression::times(const Expression& other) const {
  Expression out;
  for (const Term& a : terms_) {
    for (const Term& b : other.terms_) {
      Term& term = out.terms_.emplace_back(a);
      term.symbols.insert(term.symbols.end(), b.symbols.begin(), b.symbols.end());
      if (__builtin_mul_overflow(a.factor, b.factor, &term.factor)) {
        term.factor = std::numeric_limits<std::int64_t>::max();  // any further factor overflows
      }
    }
  }
  return out;
}

std::optional<std::int64_t> Expression::at(std::span<const std::int64_t> values) const {
  std::int64_t sum = 0;
  for (const Term& term : terms_) {
    std::int64_t product = term.factor;
    for (const std::uint8_t symbol : term.symbols) {
      if (__builtin_mul_overflow(product, values[symbol], &product)) return {};
    }
    if (__builtin_add_overflow(sum, product, &sum)) return {};
  }
  return sum;
}

}  // namespace tandem
