#include "sim/trace/importers/nsys/kernel_names.h"

#include <array>

namespace tandem::nsys {

namespace {

/// How a literal of a type is written: what stands in front of the number, and what behind it.
struct Spelling {
  std::string_view cast;
  std::string_view suffix;
};
constexpr std::array spellings{
    Spelling{"(int)", ""},         Spelling{"(unsigned int)", "u"},
    Spelling{"(long)", "l"},       Spelling{"(unsigned long)", "ul"},
    Spelling{"(long long)", "ll"}, Spelling{"(unsigned long long)", "ull"},
};
constexpr std::string_view truth_cast = "(bool)";
constexpr std::string_view unnamed = "<unnamed>";
constexpr std::string_view unnamed_of_abi = "(anonymous namespace)";

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Length of the number that `text` begins with; 0: none.
std::size_t number_length(std::string_view text) {
  const std::size_t sign = text.starts_with('-') ? 1 : 0;
  std::size_t end = sign;
  while (end < text.size() && is_digit(text[end])) ++end;
  return end > sign ? end : 0;
}

/// Appends the literal that `text` begins with; returns how much of `text` that was, 0: none.
std::size_t add_literal(std::string_view text, std::string& out) {
  if (text.starts_with(truth_cast)) {
    const std::string_view value = text.substr(truth_cast.size());
    if (number_length(value) != 1) return 0;
    out += value[0] == '0' ? "false" : "true";
    return truth_cast.size() + 1;
  }
  for (const Spelling& s : spellings) {
    if (!text.starts_with(s.cast)) continue;
    const std::size_t length = number_length(text.substr(s.cast.size()));
    if (length == 0) return 0;
    out += text.substr(s.cast.size(), length);
    out += s.suffix;
    return s.cast.size() + length;
  }
  return 0;
}

}  // namespace

std::string kernel_name(std::string_view demangled) {
  std::string out;
  out.reserve(demangled.size());
  while (!demangled.empty()) {
    std::size_t read = 1;
    if (demangled.starts_with(unnamed)) {
      out += unnamed_of_abi;
      read = unnamed.size();
    } else if (const std::size_t literal =
                   demangled.front() == '(' ? add_literal(demangled, out) : 0) {
      read = literal;
    } else {
      out += demangled.front();
    }
    demangled.remove_prefix(read);
  }
  return out;
}

}  // namespace tandem::nsys
