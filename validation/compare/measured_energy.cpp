#include "validation/compare/measured_energy.h"

#include <algorithm>
#include <cmath>

#include "sim/core/fields/field.h"

namespace tandem {

namespace {

// The captures of 2026-11-20 do not say how many iterations their power window had; it lasted
// 1.2 s, at least five.
constexpr double old_window_s = 1.2;
constexpr double old_least_iterations = 5;

double number(const Json& json, const char* key, double absent) {
  return json.contains(key) && json[key].is_number() ? json[key].get<double>() : absent;
}

}  // namespace

std::optional<MeasuredEnergy> measured_energy(const std::string& meta_path) {
  const Json meta = read_json_file(meta_path);
  const double iteration_s = number(meta, "iter_s", 0);
  const double window_s = number(meta, "energy_window_s", 0);
  if (!(iteration_s > 0) || !(window_s > 0)) return std::nullopt;
  const double guessed = std::max(old_least_iterations, std::floor(old_window_s / iteration_s));
  const double window_iteration_s =
      number(meta, "energy_iter_s", window_s / number(meta, "energy_iters", guessed));
  const MeasuredEnergy m{window_iteration_s * 1e6,
                         number(meta, "power_mean_w", number(meta, "power_w", 0)),
                         number(meta, "energy_j_per_iter", 0)};
  if (!(m.power_w > 0) || !(m.counter_j > 0)) return std::nullopt;
  return m;
}

}  // namespace tandem
