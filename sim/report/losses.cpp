#include "sim/report/losses.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace tandem {

std::string losses_text(const LossList& losses) {
  std::string text;
  for (const Loss& loss : losses.all()) {
    if (loss.severity == Severity::info) continue;
    text += fmt::format("{:<10} {} ({} x): {}\n", to_string(loss.severity), loss.code, loss.count,
                        loss.description);
  }
  return text;
}

nlohmann::ordered_json losses_json(const LossList& losses) {
  auto list = nlohmann::ordered_json::array();
  for (const Loss& loss : losses.all()) {
    list.push_back({{"code", loss.code},
                    {"severity", to_string(loss.severity)},
                    {"count", loss.count},
                    {"description", loss.description}});
  }
  return list;
}

}  // namespace tandem
