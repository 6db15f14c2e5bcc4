#include "sim/sweep/ranks/messages.h"

#include <cstring>
#include <stdexcept>

namespace tandem {

namespace {

template <typename Number>
void put(std::string& bytes, Number number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
}

template <typename Number>
Number take(std::string_view& bytes) {
  Number number;
  if (bytes.size() < sizeof number) throw std::runtime_error("a message of a rank is cut off");
  std::memcpy(&number, bytes.data(), sizeof number);
  bytes.remove_prefix(sizeof number);
  return number;
}

}  // namespace

std::string bytes_of(const Letter& letter) {
  std::string bytes;
  put(bytes, letter.told);
  put(bytes, letter.number);
  return bytes + letter.rest;
}

Letter letter_of(std::string_view bytes) {
  const auto told = take<std::uint8_t>(bytes);
  if (told > static_cast<std::uint8_t>(Told::stop)) {
    throw std::runtime_error("a message of a rank is of no known kind");
  }
  const auto number = take<std::uint64_t>(bytes);
  return {static_cast<Told>(told), number, std::string(bytes)};
}

std::string outcome_bytes(const Outcome& outcome) {
  std::string bytes;
  put(bytes, outcome.keep);
  put(bytes, static_cast<std::uint32_t>(outcome.result.values.size()));
  for (const double value : outcome.result.values) put(bytes, value);
  put(bytes, static_cast<std::uint32_t>(outcome.result.error.size()));
  return bytes + outcome.result.error + outcome.line;
}

Outcome outcome_of(std::string_view bytes) {
  Outcome outcome;
  outcome.keep = take<bool>(bytes);
  const auto values = take<std::uint32_t>(bytes);
  if (values > bytes.size() / sizeof(double)) {
    throw std::runtime_error("a message of a rank is cut off");
  }
  for (std::uint32_t i = 0; i < values; ++i) outcome.result.values.push_back(take<double>(bytes));
  const auto error = take<std::uint32_t>(bytes);
  if (error > bytes.size()) throw std::runtime_error("a message of a rank is cut off");
  outcome.result.error = bytes.substr(0, error);
  outcome.line = bytes.substr(error);
  return outcome;
}

}  // namespace tandem
