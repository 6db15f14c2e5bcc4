#include "models/energy/power_log.h"

#include <algorithm>
#include <cmath>

#include "models/energy/regression.h"
#include "sim/core/error.h"
#include "sim/core/text/csv_rows.h"

namespace tandem {

namespace {

constexpr std::size_t least_steps = 4;
/// Where idle and sleep differ by less, the board knows no sleep state.
constexpr double least_level_difference_w = 3;

/// Cumulated squares about the mean, for costs of segments in constant time.
struct Sums {
  std::vector<double> value{0}, square{0};
  explicit Sums(std::span<const PowerSample> samples) {
    for (const PowerSample& s : samples) {
      value.push_back(value.back() + s.instant_w);
      square.push_back(square.back() + s.instant_w * s.instant_w);
    }
  }
  double mean(std::size_t from, std::size_t to) const {
    return to > from ? (value[to] - value[from]) / static_cast<double>(to - from) : 0;
  }
  double cost(std::size_t from, std::size_t to) const {
    const double m = mean(from, to);
    return square[to] - square[from] - m * m * static_cast<double>(to - from);
  }
};

/// Where two constant levels explain [from, to) best; `to` if one level does as well.
std::size_t change_point(const Sums& sums, std::size_t from, std::size_t to) {
  std::size_t best = to;
  double least = sums.cost(from, to);
  for (std::size_t i = from + 2; i + 2 < to; ++i) {
    const double cost = sums.cost(from, i) + sums.cost(i, to);
    if (cost < least) least = cost, best = i;
  }
  const bool differs =
      best < to && std::abs(sums.mean(from, best) - sums.mean(best, to)) > least_level_difference_w;
  return differs ? best : to;
}

}  // namespace

std::vector<PowerSample> read_power_log(const std::string& path) {
  std::vector<PowerSample> samples;
  for (const CsvRow& row : read_csv(path)) {
    samples.push_back({row.number("time_s"), row.number("energy_j"), row.number("instant_w")});
    if (samples.size() > 1 && samples.back().time_s < samples[samples.size() - 2].time_s) {
      throw InputError(path, "time_s", std::string(row.text("time_s")), "times in order");
    }
  }
  return samples;
}

std::optional<WindowPower> window_power(std::span<const PowerSample> samples, double begin_s,
                                        double end_s) {
  std::vector<double> times, joules;
  double sum = 0, readings = 0;
  const PowerSample* previous = nullptr;
  for (const PowerSample& s : samples) {
    const bool inside = s.time_s >= begin_s && s.time_s < end_s;
    const bool step = previous != nullptr && s.energy_j >= 0 && s.energy_j != previous->energy_j;
    previous = &s;
    if (!inside) continue;
    if (step) times.push_back(s.time_s), joules.push_back(s.energy_j);
    if (s.instant_w >= 0) sum += s.instant_w, readings += 1;
  }
  if (times.size() >= least_steps) {
    const Line line = fit_line(times, joules);
    return WindowPower{line.slope, line.slope_sd, times.size()};
  }
  if (readings < 1) return std::nullopt;
  return WindowPower{sum / readings, 0, 0};
}

std::optional<PowerPhases> find_phases(std::span<const PowerSample> samples) {
  if (samples.size() < 2 * least_steps) return std::nullopt;
  const auto [low, high] = std::minmax_element(
      samples.begin(), samples.end(),
      [](const PowerSample& a, const PowerSample& b) { return a.instant_w < b.instant_w; });
  const double middle = (low->instant_w + high->instant_w) / 2;
  if (high->instant_w < 1.5 * std::max(low->instant_w, 1.0)) return std::nullopt;
  std::size_t run = 0, after = 0;  // first and one past last sample above the middle
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (samples[i].instant_w < middle) continue;
    if (after == 0) run = i;
    after = i + 1;
  }
  if (run < least_steps || samples.size() - after < least_steps) return std::nullopt;
  const Sums sums(samples);
  const std::size_t allocated = change_point(sums, 0, run);
  const std::size_t freed = change_point(sums, after, samples.size());
  const auto time = [&](std::size_t i) { return samples[std::min(i, samples.size() - 1)].time_s; };
  PowerPhases p{samples.front().time_s, time(allocated), time(run), time(after), time(freed),
                samples.back().time_s};
  p.sleep_w = sums.mean(0, allocated);
  p.idle_w = allocated < run ? sums.mean(allocated, run) : p.sleep_w;
  p.active_w = sums.mean(run, after);
  p.idle_after_w = sums.mean(after, freed);
  return p;
}

}  // namespace tandem
