#include "sim/core/error.h"

#include <fmt/format.h>

#include <algorithm>

namespace tandem {

// What is quoted may hold any byte; a zero would end what().
InputError::InputError(std::string_view file, std::string_view place, std::string_view found,
                       std::string_view expected)
    : std::runtime_error(printable(
          place.empty()
              ? fmt::format("{}: found {}, expected {}", file, found, expected)
              : fmt::format("{}:{}: found {}, expected {}", file, place, found, expected))),
      found_(found),
      expected_(expected) {}

std::string_view to_string(Severity s) {
  switch (s) {
    case Severity::info: return "info";
    case Severity::warning: return "warning";
    case Severity::data_loss: return "data_loss";
  }
  return "unknown";
}

void LossList::add(std::string_view code, Severity severity, std::string_view description,
                   std::int64_t count) {
  if (count == 0) return;
  const auto it = std::find_if(losses_.begin(), losses_.end(),
                               [&](const Loss& loss) { return loss.code == code; });
  if (it != losses_.end()) {
    it->count += count;
  } else {
    losses_.push_back({std::string(code), severity, count, std::string(description)});
  }
}

void LossList::merge(const LossList& other) {
  for (const Loss& loss : other.losses_) {
    add(loss.code, loss.severity, loss.description, loss.count);
  }
}

std::int64_t LossList::count(std::string_view code) const {
  for (const Loss& loss : losses_) {
    if (loss.code == code) return loss.count;
  }
  return 0;
}

bool LossList::any(Severity at_least) const {
  return std::any_of(losses_.begin(), losses_.end(),
                     [&](const Loss& loss) { return loss.severity >= at_least; });
}

std::string printable(std::string text) {
  for (char& c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\n') || byte == 0x7f) c = '?';
  }
  return text;
}

}  // namespace tandem
