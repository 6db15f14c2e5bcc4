#include "validation/papers/settings.h"

#include <algorithm>

#include "models/whatif/transform.h"
#include "sim/core/fields/field.h"
#include "sim/predict/options.h"

namespace tandem {

namespace {

enum class SettingKind : std::uint8_t { text, count, number, gpu, mode, batch, choice };

struct KnownSetting {
  std::string_view name;
  SettingKind kind = SettingKind::text;
  std::vector<std::string_view> choices = {};
};

/// Those that are no option of a what-if.
const std::vector<KnownSetting>& known_settings() {
  static const std::vector<KnownSetting> known{
      {"network"},
      {"trace"},
      {"task", SettingKind::choice, {"train", "infer"}},
      {"batch", SettingKind::batch},
      {"seq", SettingKind::count},
      {"gpu", SettingKind::gpu},
      {"host"},
      {"mode", SettingKind::mode},
      {"profiler", SettingKind::choice, {"remove", "keep"}},
      {"program",
       SettingKind::choice,
       {square_program, matmul_program, chase_program, calibration_program}},
      {"blocks", SettingKind::count},
      {"threads", SettingKind::count},
      {"size", SettingKind::count},
      {"static_w", SettingKind::number},
      {"bytes", SettingKind::count},
      {"recording"},
      {"kernel"},
      {"level", SettingKind::choice, {"l1", "l2_one_sm"}},
  };
  return known;
}

std::string names_of_settings() {
  std::vector<std::string> names;
  for (const KnownSetting& s : known_settings()) names.emplace_back(s.name);
  for (const Transform& transform : transforms()) {
    for (const TransformOption& option : transform.options) {
      const std::string name(option.name);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  return join(names);
}

void check_count(std::string_view name, const std::string& value) {
  if (parse_count(name, value) > 0) return;
  throw InputError("", name, "\"" + value + "\"", "a positive whole number");
}

void check_known(const KnownSetting& setting, const std::string& value, const GpuCatalogue& gpus) {
  switch (setting.kind) {
    case SettingKind::text: return;
    case SettingKind::count: check_count(setting.name, value); return;
    case SettingKind::number: parse_number(setting.name, value); return;
    case SettingKind::gpu: find_gpu(gpus, value); return;
    case SettingKind::batch:
      if (value != batch_largest && value != batch_half_of_largest) check_count("batch", value);
      return;
    case SettingKind::mode: {
      ReplayOptions ignored;
      set_mode(value, "", ignored.mode.mode, ignored.what_ifs);
      return;
    }
    case SettingKind::choice: break;
  }
  const auto& choices = setting.choices;
  if (std::find(choices.begin(), choices.end(), value) != choices.end()) return;
  std::vector<std::string> names(choices.begin(), choices.end());
  throw InputError("", setting.name, "\"" + value + "\"", "one of: " + join(names));
}

void check_setting(const std::string& name, const std::string& value, const Place& place,
                   const GpuCatalogue& gpus) {
  const auto& known = known_settings();
  const auto it =
      std::find_if(known.begin(), known.end(), [&](const auto& s) { return s.name == name; });
  const TransformOption* option = find_option(name);
  if (it == known.end() && option == nullptr) {
    place.fail("unknown key \"" + name + "\"", "one of: " + names_of_settings());
  }
  if (value == asks_nothing) return;
  try {
    if (it != known.end()) {
      check_known(*it, value, gpus);
    } else {
      check_option(*option, value, gpus);
    }
  } catch (const InputError& error) {
    place.fail(error.found(), error.expected());
  }
}

std::string read_value(const Json& json, const Place& place) {
  if (json.is_number()) return json.dump();
  std::string text;
  read_json(json, place, Range::positive, text);
  return text;
}

std::vector<std::string> read_values(const Json& json, const Place& place) {
  if (!json.is_array()) return {read_value(json, place)};
  if (json.empty()) place.fail("an empty list", "values");
  std::vector<std::string> values;
  for (std::size_t i = 0; i < json.size(); ++i) {
    values.push_back(read_value(json[i], place / std::to_string(i)));
  }
  return values;
}

}  // namespace

Grid read_grid(const Json& json, const Place& place, const GpuCatalogue& gpus) {
  require_object(json, place);
  Grid grid;
  for (const auto& [key, value] : json.items()) {
    grid[key] = read_values(value, place / key);
    for (const std::string& text : grid[key]) check_setting(key, text, place / key, gpus);
  }
  return grid;
}

Grid merged(Grid grid, const Grid& other) {
  for (const auto& [name, values] : other) grid[name] = values;
  return grid;
}

Grid grid_of(const Point& point) {
  Grid grid;
  for (const Setting& s : point) grid[s.name] = {s.value};
  return grid;
}

std::vector<Point> scenarios_of(const Grid& grid) {
  std::vector<Axis> axes;
  for (const auto& [name, values] : grid) axes.push_back({name, values});
  std::vector<Point> points = grid_points(axes);
  for (Point& point : points) {
    std::erase_if(point, [](const Setting& s) { return s.value == asks_nothing; });
  }
  return points;
}

}  // namespace tandem
