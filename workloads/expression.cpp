#include "workloads/expression.h"

#include <algorithm>
#include <cctype>
#include <iterator>

#include "sim/core/text/numbers.h"

namespace tandem {
namespace {

/// Far beyond the formulas of networks, and small enough that hostile ones cost nothing.
constexpr std::size_t most_terms = 64, most_factors = 16;

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

}  // namespace

std::optional<Expression> Expression::parse(std::string_view text, std::span<const Symbol> symbols,
                                            std::string& unknown) {
  Expression out;
  for (bool last_term = false; !last_term;) {
    std::string_view product = next_part(text, '+', last_term);
    Term& term = out.terms_.emplace_back();
    for (bool last = false; !last;) {
      const std::string_view factor = next_part(product, '*', last);
      if (const auto number = plain_number<std::int64_t>(factor)) {
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

Expression Expression::symbol(std::uint8_t position) {
  Expression out;
  out.terms_.push_back({1, {position}});
  return out;
}

std::optional<std::int64_t> Expression::number() const {
  if (terms_.empty()) return 0;
  if (!is_number()) return {};
  return terms_[0].factor;
}

void Expression::add_term(Term term) {
  const auto at =
      std::lower_bound(terms_.begin(), terms_.end(), term,
                       [](const Term& a, const Term& b) { return a.symbols > b.symbols; });
  if (at == terms_.end() || at->symbols != term.symbols) {
    if (terms_.size() >= most_terms) throw SizeOverflow("a formula of too many terms");
    if (term.factor != 0) terms_.insert(at, std::move(term));
    return;
  }
  if (__builtin_add_overflow(at->factor, term.factor, &at->factor)) {
    throw SizeOverflow("a size beyond 64 bits");
  }
  if (at->factor == 0) terms_.erase(at);
}

Expression operator+(const Expression& a, const Expression& b) {
  Expression out;
  for (const Expression::Term& term : a.terms_) out.add_term(term);
  for (const Expression::Term& term : b.terms_) out.add_term(term);
  return out.terms_.empty() ? Expression(0) : out;
}

Expression operator-(const Expression& a, const Expression& b) { return a + Expression(-1) * b; }

Expression operator*(const Expression& a, const Expression& b) {
  Expression out;
  for (const Expression::Term& x : a.terms_) {
    for (const Expression::Term& y : b.terms_) {
      Expression::Term term;
      if (__builtin_mul_overflow(x.factor, y.factor, &term.factor)) {
        throw SizeOverflow("a size beyond 64 bits");
      }
      std::merge(x.symbols.begin(), x.symbols.end(), y.symbols.begin(), y.symbols.end(),
                 std::back_inserter(term.symbols));
      if (term.symbols.size() > most_factors) throw SizeOverflow("a product of too many sizes");
      out.add_term(std::move(term));
    }
  }
  return out.terms_.empty() ? Expression(0) : out;
}

std::optional<Expression> Expression::divided_by(const Expression& divisor) const {
  if (divisor == *this && number() != 0) return Expression(1);
  if (divisor.terms_.size() != 1 || divisor.terms_[0].factor == 0) return {};
  const Term& by = divisor.terms_[0];
  Expression out;
  for (const Term& term : terms_) {
    // The smallest number has no counterpart, and dividing it by -1 traps.
    if (by.factor == -1 || term.factor % by.factor != 0) return {};
    if (!std::includes(term.symbols.begin(), term.symbols.end(), by.symbols.begin(),
                       by.symbols.end())) {
      return {};
    }
    Term quotient{term.factor / by.factor, {}};
    std::set_difference(term.symbols.begin(), term.symbols.end(), by.symbols.begin(),
                        by.symbols.end(), std::back_inserter(quotient.symbols));
    out.add_term(std::move(quotient));
  }
  return out.terms_.empty() ? Expression(0) : out;
}

}  // namespace tandem
