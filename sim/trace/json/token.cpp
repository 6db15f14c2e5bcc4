#include "sim/trace/json/token.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace tandem {

namespace {

constexpr int ps_digits = 6;  // of a microsecond
constexpr int max_exponent = 40;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Rewrites 1.25e3 as 1250; nullopt if that is no number or absurdly long.
std::optional<std::string> without_exponent(std::string_view text) {
  const std::size_t e = text.find_first_of("eE");
  const std::string_view mantissa = text.substr(0, e);
  if (mantissa.empty() || !is_digit(mantissa.front()) || !is_digit(mantissa.back())) return {};
  std::string_view exponent_text = text.substr(e + 1);
  if (exponent_text.starts_with('+')) exponent_text.remove_prefix(1);
  int exponent = 0;
  const char* const end = exponent_text.data() + exponent_text.size();
  const auto [stop, error] = std::from_chars(exponent_text.data(), end, exponent);
  if (error != std::errc() || stop != end || std::abs(exponent) > max_exponent) return {};
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string digits(mantissa.substr(0, point));
  if (point < mantissa.size()) digits += mantissa.substr(point + 1);
  const auto shifted = static_cast<std::int64_t>(point) + exponent;
  if (shifted <= 0) digits.insert(0, static_cast<std::size_t>(1 - shifted), '0');
  const auto whole = static_cast<std::size_t>(std::max<std::int64_t>(shifted, 1));
  if (digits.size() < whole) digits.resize(whole, '0');
  if (digits.size() > whole) digits.insert(whole, 1, '.');
  return digits;
}

NumberError parse_plain(std::string_view text, ExactTime& time) {
  std::size_t i = 0;
  std::int64_t whole = 0;
  for (; i < text.size() && is_digit(text[i]); ++i) {
    if (whole > INT64_MAX / 100) return NumberError::out_of_range;
    whole = whole * 10 + (text[i] - '0');
  }
  if (i == 0) return NumberError::not_a_number;
  std::int64_t ps = 0;
  int digits = 0;
  if (i < text.size() && text[i] == '.') {
    const std::size_t first = ++i;
    for (; i < text.size() && is_digit(text[i]); ++i, ++digits) {
      if (digits < ps_digits) ps = ps * 10 + (text[i] - '0');
      if (digits == ps_digits && text[i] >= '5') ++ps;  // rounds half up; may carry below
    }
    if (i == first) return NumberError::not_a_number;
  }
  if (i != text.size()) return NumberError::not_a_number;
  for (; digits < ps_digits; ++digits) ps *= 10;
  time = ps == 1'000'000 ? ExactTime{whole + 1, 0} : ExactTime{whole, ps};
  return NumberError::none;
}

void append_utf8(std::uint32_t code, std::string& to) {
  const auto put = [&](std::uint32_t byte) { to.push_back(static_cast<char>(byte)); };
  if (code < 0x80) return put(code);
  if (code < 0x800) {
    put(0xc0 | code >> 6);
  } else {
    if (code < 0x10000) {
      put(0xe0 | code >> 12);
    } else {
      put(0xf0 | code >> 18);
      put(0x80 | (code >> 12 & 0x3f));
    }
    put(0x80 | (code >> 6 & 0x3f));
  }
  put(0x80 | (code & 0x3f));
}

// The four hex digits at the front of `text`, which is advanced.
std::optional<std::uint32_t> take_hex(std::string_view& text) {
  std::uint32_t code = 0;
  if (text.size() < 4) return {};
  const auto [stop, error] = std::from_chars(text.data(), text.data() + 4, code, 16);
  if (error != std::errc() || stop != text.data() + 4) return {};
  text.remove_prefix(4);
  return code;
}

bool append_unicode(std::string_view& text, std::string& to) {
  auto code = take_hex(text);
  if (code && *code >= 0xd800 && *code < 0xdc00 && text.starts_with("\\u")) {
    text.remove_prefix(2);
    const auto low = take_hex(text);
    if (!low || *low < 0xdc00 || *low > 0xdfff) return false;
    code = 0x10000 + ((*code - 0xd800) << 10) + (*low - 0xdc00);
  }
  if (!code || (*code >= 0xd800 && *code < 0xe000)) return false;
  append_utf8(*code, to);
  return true;
}

}  // namespace

std::string_view unquote(std::string_view token) {
  if (token.size() < 2 || token.front() != '"' || token.back() != '"') return token;
  return token.substr(1, token.size() - 2);
}

NumberError parse_us(std::string_view token, ExactTime& time) {
  std::string_view text = unquote(token);
  const bool negative = text.starts_with('-');
  if (negative) text.remove_prefix(1);
  std::optional<std::string> expanded;
  if (text.find_first_of("eE") != std::string_view::npos) {
    expanded = without_exponent(text);
    if (!expanded) return NumberError::not_a_number;
    text = *expanded;
  }
  const NumberError error = parse_plain(text, time);
  if (error != NumberError::none || !negative) return error;
  return time.whole_us == 0 && time.ps == 0 ? NumberError::none : NumberError::negative;
}

std::optional<std::int64_t> parse_integer(std::string_view token) {
  const std::string_view text = unquote(token);
  std::int64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc()) return {};
  if (stop == end) return value;
  const bool zeros = *stop == '.' && stop + 1 != end &&
                     std::all_of(stop + 1, end, [](char c) { return c == '0'; });
  return zeros ? std::optional(value) : std::nullopt;
}

bool parse_triple(std::string_view token, std::array<std::int64_t, 3>& triple) {
  const char* at = token.data();
  const char* const end = at + token.size();
  const auto skip = [&](char c) {
    while (at != end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) ++at;
    return at != end && *at == c ? (++at, true) : false;
  };
  for (std::size_t i = 0; i < triple.size(); ++i) {
    if (!skip(i == 0 ? '[' : ',')) return false;
    skip(' ');
    const auto [stop, error] = std::from_chars(at, end, triple[i]);
    if (error != std::errc()) return false;
    at = stop;
  }
  return skip(']') && at == end;
}

std::optional<std::string_view> unescape(std::string_view token, std::string& scratch) {
  std::string_view text = unquote(token);
  if (text.find('\\') == std::string_view::npos) return text;
  constexpr std::string_view escapes = "\"\\/bfnrt";
  constexpr std::string_view meanings = "\"\\/\b\f\n\r\t";
  scratch.clear();
  while (!text.empty()) {
    const std::size_t plain = std::min(text.find('\\'), text.size());
    scratch.append(text.substr(0, plain));
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (text.size() < 2) return {};
    const char c = text[1];
    text.remove_prefix(2);
    const std::size_t known = escapes.find(c);
    if (known != std::string_view::npos) {
      scratch.push_back(meanings[known]);
    } else if (c != 'u' || !append_unicode(text, scratch)) {
      return {};
    }
  }
  return scratch;
}

}  // namespace tandem
