// Numbers and units as Nsight Compute prints them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "sim/counters/counter_table.h"

namespace tandem {

/// Whatever the locale.
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Which of comma and point ends the whole part; the other one separates thousands.
enum class NumberFormat : std::uint8_t { decimal_point, decimal_comma };

/// The value of a number such as 27,595,520 or 65.77 (27.595.520 or 65,77); nothing if the text is
/// none in this format. Spaces and apostrophes may separate thousands in either format.
std::optional<double> parse_number(std::string_view text, NumberFormat format);

/// The format of a text that is a number in one of them only.
std::optional<NumberFormat> format_of(std::string_view text);

/// Whether a metric's text says that there is no value.
bool is_absent(std::string_view text);

/// Factor from `unit` to nanoseconds, bytes or single events; nothing for an unknown unit of a time
/// or of bytes. Counts carry many unit names; of those only K, M, G in front of a known one scale.
std::optional<double> unit_factor(std::string_view unit, Quantity quantity);

}  // namespace tandem
