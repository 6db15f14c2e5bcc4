// Raw JSON tokens -> integers, times, texts. No number passes through floating point.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/trace/trace_builder.h"

namespace tandem {

/// Why a token is no usable number.
enum class NumberError : std::uint8_t { none, not_a_number, negative, out_of_range };

/// The token without quotes, if it has any. Escapes stay.
std::string_view unquote(std::string_view token);

/// A JSON number of microseconds, quoted or not, kept exactly to the picosecond; further digits are
/// rounded. Exponents are understood.
NumberError parse_us(std::string_view token, ExactTime& time);

/// A whole number, quoted or not; a fraction of zeros is accepted.
std::optional<std::int64_t> parse_integer(std::string_view token);

/// Three whole numbers in a JSON array, e.g. [128, 1, 1].
bool parse_triple(std::string_view token, std::array<std::int64_t, 3>& triple);

/// The text of a string token with its escapes resolved in `scratch`; nullopt if one is malformed.
std::optional<std::string_view> unescape(std::string_view token, std::string& scratch);

}  // namespace tandem
