#include "sim/diff/side.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "sim/core/fields/field.h"
#include "sim/predict/result.h"

namespace tandem {

namespace {

constexpr std::array path_kinds{
    PathKind::host,       PathKind::call,        PathKind::work,       PathKind::launch_latency,
    PathKind::device_gap, PathKind::stream_wait, PathKind::queue_full, PathKind::host_return};

/// More than any step lasts (three hours), and what sums of both sides may be: a tenth of what a
/// Duration holds.
constexpr double most_us = 1e10;
constexpr double most_sum_us = 1e12;

/// More than any number of a step is, in any unit.
constexpr double most_metric = 1e30;

/// A value of a result and where it stands.
struct Value {
  const Json& json;
  Place place;

  Value at(std::string_view key) const {
    require_object(json, place);
    const auto it = json.find(key);
    if (it == json.end()) {
      place.fail(fmt::format("no key \"{}\"", key),
                 fmt::format("a result of this version of tandem ({})", result_schema));
    }
    return {*it, place / key};
  }
  template <class T>
  T number() const {
    T out{};
    read_json(json, place, Range::non_negative, out);
    return out;
  }
  Duration time() const {
    const auto us = number<double>();
    if (us > most_us) place.fail(describe_json(json), fmt::format("at most {:.0e} us", most_us));
    return from_us(us);
  }
  /// May be empty.
  std::string text() const {
    if (!json.is_string()) place.fail(describe_json(json), "a text");
    return json.get<std::string>();
  }
  std::vector<Value> list() const {
    if (!json.is_array()) place.fail(describe_json(json), "a list");
    std::vector<Value> out;
    for (std::size_t i = 0; i < json.size(); ++i) {
      out.push_back({json[i], place / std::to_string(i)});
    }
    return out;
  }
};

PathKind kind_of(const Value& value) {
  std::array<std::string_view, path_kinds.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = to_string(path_kinds[i]);
  return path_kinds[read_choice(value.json, value.place, names)];
}

/// Errors: InputError where times of `list` sum to more than a sum of both sides can hold.
template <class Times>
void check_sum(const Value& list, const Times& times) {
  double sum_us = 0;
  for (const auto& one : times) sum_us += to_us(one.time);
  if (sum_us > most_sum_us) {
    list.place.fail(fmt::format("times that sum to {:.3g} us", sum_us),
                    fmt::format("at most {:.0e} us", most_sum_us));
  }
}

std::vector<StepPart> parts_of(const Value& list) {
  std::vector<StepPart> parts;
  for (const Value& part : list.list()) {
    parts.push_back({kind_of(part.at("kind")), part.at("op").text(), part.at("layer").text(),
                     part.at("name").text(), part.at("count").number<std::int64_t>(),
                     part.at("time_us").time()});
  }
  check_sum(list, parts);
  return parts;
}

/// Of kernels with what runs most of them.
std::vector<DeviceTime> device_times(const Value& list, bool kernels) {
  std::vector<DeviceTime> times;
  for (const Value& row : list.list()) {
    times.push_back({row.at("name").text(), row.at("count").number<std::int64_t>(),
                     row.at("time_us").time(), kernels ? row.at("op").text() : "",
                     kernels ? row.at("layer").text() : ""});
  }
  check_sum(list, times);
  return times;
}

std::string scenario_of(const Value& scenario) {
  const Json& batch = scenario.at("batch").json;
  std::string text = fmt::format("{}, {}", scenario.at("gpu").text(), scenario.at("mode").text());
  if (batch.is_number_integer()) text += fmt::format(", batch {}", batch.get<std::int64_t>());
  const std::string precision = scenario.at("precision").text();
  if (precision != "as-traced") text += ", " + precision;
  return text + ", profiler " + scenario.at("profiler").text();
}

}  // namespace

DiffSide read_side(const Json& result, const std::string& file) {
  const Value whole{result, {file, ""}};
  const std::string_view schemas[] = {result_schema};
  read_choice(whole.at("schema").json, whole.at("schema").place, schemas);
  DiffSide side;
  side.path = file;
  side.scenario = scenario_of(whole.at("scenario"));
  const Value step = whole.at("step");
  side.step = step.at("time_us").time();
  side.device = step.at("gpu_kernel_us").time();
  side.parts = parts_of(whole.at("step_parts"));
  side.layers = device_times(whole.at("layers"), false);
  side.ops = device_times(whole.at("ops"), false);
  side.kernels = device_times(whole.at("kernels"), true);
  for (const auto& [name, value] : step.json.items()) {
    if (!value.is_number()) continue;
    const auto number = value.get<double>();
    if (std::abs(number) > most_metric) {
      (step.place / name).fail(fmt::format("{}", number), fmt::format("at most {}", most_metric));
    }
    side.metrics.emplace_back(name, number);
  }
  return side;
}

bool is_result(std::string_view prefix) {
  constexpr std::size_t first_keys = 200;
  return prefix.substr(0, first_keys).find("\"tandem.") != std::string_view::npos;
}

}  // namespace tandem
