// Sizes of a recorded network as formulas: sums of products of whole numbers and symbols.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
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

/// "12*batch*seq" or "seq+-1".
class Expression {
 public:
  Expression() = default;
  explicit Expression(std::int64_t number) : terms_{{number, {}}} {}

  /// Nothing if the text is no formula; `unknown` then names a symbol that nobody declared, if that
  /// was the reason.
  static std::optional<Expression> parse(std::string_view text, std::span<const Symbol> symbols,
                                         std::string& unknown);
  /// Nothing if the result does not fit 64 bits.
  std::optional<std::int64_t> at(std::span<const std::int64_t> values) const;
  /// The product of both; factors beyond 64 bits make a product that has no value.
  Expression times(const Expression& other) const;
  bool is_number() const { return terms_.size() == 1 && terms_[0].symbols.empty(); }

 private:
  struct Term {
    std::int64_t factor = 1;
    std::vector<std::uint8_t> symbols;  // positions among the declared ones, repeated for powers
  };
  std::vector<Term> terms_;
};

}  // namespace tandem
