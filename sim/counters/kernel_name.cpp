#include "sim/counters/kernel_name.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "sim/counters/number_text.h"

namespace tandem {

namespace {

/// The same kernel is equal (1.0) in every pair of the H200 captures, other instances of a template
/// stay below 0.86. A mangled name loses the plain types among its arguments.
constexpr double same_from = 0.9;
constexpr double same_mangled_from = 0.6;

/// Words that only one of the profilers prints.
constexpr std::array<std::string_view, 7> noise{"void",      "const",   "instance", "anonymous",
                                                "namespace", "unnamed", "unsigned"};

bool is_word(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

std::size_t end_of(std::string_view text, std::size_t from, bool (*wanted)(char)) {
  while (from < text.size() && wanted(text[from])) ++from;
  return from;
}

/// T1, T2: what Nsight Compute prints for a deduced type.
bool is_deduced(std::string_view word) {
  return word.size() > 1 && word[0] == 'T' && end_of(word, 1, is_digit) == word.size();
}

bool is_noise(std::string_view word) {
  return is_deduced(word) || std::find(noise.begin(), noise.end(), word) != noise.end();
}

/// 4, 4ul -> 4; empty if the word is no number.
std::string_view number_of(std::string_view word) {
  const std::size_t digits = end_of(word, 0, is_digit);
  if (digits == 0) return {};
  return word.find_first_not_of("uUlL", digits) == word.npos ? word.substr(0, digits) : word;
}

/// `text` without the call arguments: everything before the bracket that the last one closes.
std::string_view without_arguments(std::string_view text) {
  if (!text.ends_with(')')) return text;
  int depth = 0;
  for (std::size_t i = text.size(); i-- > 0;) {
    depth += text[i] == ')' ? 1 : 0;
    if (text[i] == '(' && --depth == 0) return text.substr(0, i);
  }
  return text;
}

std::string_view base_of(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const std::string_view unnamed : {"(anonymous namespace)", "<unnamed>"}) {
      if (text.substr(i).starts_with(unnamed)) i += unnamed.size();
    }
    if (i >= text.size() || text[i] == '<' || text[i] == '(') {
      return text.substr(begin, std::min(i, text.size()) - begin);
    }
    if (text[i] == ':' || text[i] == ' ') begin = i + 1;
  }
  return text.substr(begin);
}

KernelName parse_readable(std::string_view text) {
  KernelName name{std::string(base_of(text)), {}, false};
  for (std::size_t at = 0; at < text.size();) {
    if (!is_word(text[at])) {
      ++at;
      continue;
    }
    const std::size_t end = end_of(text, at, is_word);
    const std::string_view word = text.substr(at, end - at);
    const std::string_view rest = text.substr(end);
    at = end;
    const bool is_namespace = rest.starts_with("::");
    const bool is_cast = rest.size() > 1 && rest[0] == ')' && (is_digit(rest[1]) || rest[1] == '-');
    if (is_namespace || is_cast || is_noise(word)) continue;
    const std::string_view number = number_of(word);
    name.tokens.emplace_back(!number.empty()   ? number
                             : word == "true"  ? "1"
                             : word == "false" ? "0"
                                               : word);
  }
  return name;
}

/// Length of a back reference (S1_, T0_) or of the head of a constant (Lb, Li, Lin) at `at`; 0 for
/// neither.
std::size_t skip_of(std::string_view text, std::size_t at) {
  const auto is_seq = [](char c) { return is_digit(c) || (c >= 'A' && c <= 'Z'); };
  if (text[at] == 'S' || text[at] == 'T') {
    const std::size_t end = end_of(text, at + 1, is_seq);
    if (end < text.size() && text[end] == '_') return end + 1 - at;
  }
  const bool constant = text[at] == 'L' && at + 2 < text.size() && text[at + 1] >= 'a' &&
                        text[at + 1] <= 'z' && (is_digit(text[at + 2]) || text[at + 2] == 'n');
  return constant ? 2 : 0;
}

/// Itanium mangling: names are a length and as many characters; a name with another one right
/// behind it is a namespace. Constants are L, a type, digits, E.
KernelName parse_mangled(std::string_view text) {
  KernelName name{"", {}, true};
  for (std::size_t at = 2; at < text.size();) {
    const std::size_t skip = skip_of(text, at);
    const bool constant = skip > 0 && text[at] == 'L';
    at += skip;
    if (constant && text[at] == 'n') ++at;
    const std::size_t end = end_of(text, at, is_digit);
    if (end == at) {
      at += skip > 0 ? 0 : 1;
      continue;
    }
    if (constant || end - at > 6) {
      name.tokens.emplace_back(text.substr(at, end - at));
      at = end;
      continue;
    }
    const std::size_t length = std::stoul(std::string(text.substr(at, end - at)));
    const std::string_view word = text.substr(end, length);
    at = std::min(text.size(), end + length);
    const bool is_namespace = at < text.size() && is_digit(text[at]);
    if (is_namespace || word.empty()) continue;
    if (name.base.empty()) name.base = word;
    name.tokens.emplace_back(word);
  }
  return name;
}

/// `ncu --print-kernel-base function` prints no more than this.
bool is_bare(const KernelName& name) {
  return name.tokens.size() == 1 && name.tokens.front() == name.base;
}

}  // namespace

KernelName parse_kernel_name(std::string_view text) {
  KernelName name =
      text.starts_with("_Z") ? parse_mangled(text) : parse_readable(without_arguments(text));
  std::sort(name.tokens.begin(), name.tokens.end());
  name.tokens.erase(std::unique(name.tokens.begin(), name.tokens.end()), name.tokens.end());
  if (name.base.empty()) name.base = text;
  return name;
}

double similarity(const KernelName& a, const KernelName& b) {
  std::vector<std::string_view> common;
  std::set_intersection(a.tokens.begin(), a.tokens.end(), b.tokens.begin(), b.tokens.end(),
                        std::back_inserter(common));
  const std::size_t all = a.tokens.size() + b.tokens.size() - common.size();
  return all == 0 ? 1.0 : static_cast<double>(common.size()) / static_cast<double>(all);
}

bool same_kernel(const KernelName& a, const KernelName& b) {
  if (a.base != b.base) return false;
  if (is_bare(a) || is_bare(b)) return true;
  const double needed = a.mangled || b.mangled ? same_mangled_from : same_from;
  return similarity(a, b) >= needed;
}

}  // namespace tandem
