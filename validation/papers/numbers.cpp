#include "validation/papers/numbers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/core/fields/field.h"

namespace tandem {

namespace {

struct Conversion {
  std::string_view from, to;
  double factor = 1;
};
constexpr Conversion conversions[] = {
    {"ratio", "%", 100}, {"ratio", "points", 100}, {"ratio", "x", 1},
    {"us", "ms", 1e-3},  {"us", "s", 1e-6},        {"B", "kB", 1e-3},
    {"B", "MB", 1e-6},   {"B", "GB", 1e-9},        {"count", "images", 1}};

}  // namespace

std::optional<double> in_unit(const Number& number, std::string_view unit) {
  if (number.unit == unit) return number.value;
  for (const Conversion& c : conversions) {
    if (number.unit == c.from && unit == c.to) return number.value * c.factor;
  }
  return {};
}

std::optional<Number> other_layers(const Numbers& numbers, std::string_view name) {
  constexpr std::string_view prefix = "layers_but.", layer = "layer.";
  if (!name.starts_with(prefix)) return {};
  const std::size_t dot = name.rfind('.');
  if (dot <= prefix.size()) return {};
  const std::string left_out =
      "+" + std::string(name.substr(prefix.size(), dot - prefix.size())) + "+";
  const std::string_view metric = name.substr(dot);
  std::optional<Number> most;
  for (const auto& [key, number] : numbers) {
    if (!key.starts_with(layer) || !key.ends_with(metric)) continue;
    const std::string type = key.substr(layer.size(), key.size() - layer.size() - metric.size());
    if (left_out.find("+" + type + "+") != std::string::npos) continue;
    if (!most || number.value > most->value) most = number;
  }
  return most;
}

std::optional<Number> sum_of(const Numbers& numbers, const std::vector<std::string>& names,
                             std::string& lacking) {
  Number sum;
  for (const std::string& term : names) {
    const bool minus = term.starts_with("-");
    const std::string name = term.substr(minus ? 1 : 0);
    const auto it = numbers.find(name);
    std::optional<Number> found = other_layers(numbers, name);
    if (it != numbers.end()) found = it->second;
    if (!found || !std::isfinite(found->value)) {
      lacking = "no number \"" + name + "\"";
      return {};
    }
    sum.unit = found->unit;
    sum.value += minus ? -found->value : found->value;
  }
  return sum;
}

}  // namespace tandem
