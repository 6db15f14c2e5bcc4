// Sizes of a recorded network as formulas: sums of products of whole numbers and symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace tandem {

/// A size that a recording knows by name, e.g. "batch".
struct Symbol {
  std::string name;
  std::vector<std::int64_t> recorded;  // values at which the network was recorded
  std::int64_t default_value = 1;
};

/// Arithmetic on sizes left 64 bits, or its formula grew beyond any that a network has.
struct SizeOverflow : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// "12*batch*seq" or "seq+-1".
class Expression {
 public:
  Expression() = default;
  explicit Expression(std::int64_t number) : terms_{{number, {}}} {}
  /// The symbol at that position among the declared ones.
  static Expression symbol(std::uint8_t position);

  /// Nothing if the text is no formula; `unknown` then names a symbol that nobody declared, if that
  /// was the reason.
  static std::optional<Expression> parse(std::string_view text, std::span<const Symbol> symbols,
                                         std::string& unknown);
  /// Nothing if the result does not fit 64 bits.
  std::optional<std::int64_t> at(std::span<const std::int64_t> values) const;
  bool is_number() const { return terms_.size() == 1 && terms_[0].symbols.empty(); }
  /// Its value, if no symbol is in it.
  std::optional<std::int64_t> number() const;
  /// The quotient, if it is a formula as well: every term divided by a divisor of one term, or 1.
  std::optional<Expression> divided_by(const Expression& divisor) const;

  /// Of formulas that arithmetic made: terms in order, none twice, none zero. Errors: SizeOverflow.
  friend Expression operator+(const Expression& a, const Expression& b);
  friend Expression operator-(const Expression& a, const Expression& b);
  friend Expression operator*(const Expression& a, const Expression& b);
  friend bool operator==(const Expression&, const Expression&) = default;

 private:
  struct Term {
    std::int64_t factor = 1;
    std::vector<std::uint8_t> symbols;  // positions among the declared ones, repeated for powers
    friend bool operator==(const Term&, const Term&) = default;
  };
  /// Adds to the term with these symbols, which are in order.
  void add_term(Term term);
  std::vector<Term> terms_;
};

}  // namespace tandem
