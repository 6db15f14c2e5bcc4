#include "models/energy/calibration.h"

#include <algorithm>
#include <cmath>

#include "sim/core/text/csv_rows.h"
#include "sim/core/units.h"

namespace tandem {

namespace {

constexpr double settling_s = 0.4;  // clocks, and the first step of the counter

double dynamic_j(const CalibrationPoint& p, const Estimate& idle) {
  return (p.power.power_w - idle.value) * p.seconds;
}

/// Mean of runs; the interval joins their scatter, or for one run its meter, with a shared error.
Estimate estimate(const std::vector<double>& values, double meter_ci95, double shared_ci95) {
  Estimate e;
  const auto n = static_cast<double>(values.size());
  for (const double v : values) e.value += v / n;
  double variance = 0;
  for (const double v : values) variance += (v - e.value) * (v - e.value);
  const double scatter = values.size() > 1
                             ? student_t975(values.size() - 1) * std::sqrt(variance / (n - 1) / n)
                             : meter_ci95;
  e.ci95 = std::hypot(std::max(scatter, meter_ci95 / std::sqrt(n)), shared_ci95);
  return e;
}

using Points = std::vector<const CalibrationPoint*>;

Points points_of(std::span<const CalibrationPoint> points, std::string_view kernel) {
  Points out;
  for (const CalibrationPoint& p : points) {
    if (p.kernel == kernel) out.push_back(&p);
  }
  return out;
}

double meter_ci95(const WindowPower& power) {
  return power.steps > 2 ? student_t975(power.steps - 2) * power.sd_w : 0;
}

ThreadPoint thread_point(const Points& runs, const Estimate& idle, double CalibrationPoint::*work) {
  std::vector<double> pj;
  double meter = 0, shared = 0;
  for (const CalibrationPoint* p : runs) {
    const double rate = p->*work / p->seconds;
    pj.push_back((p->power.power_w - idle.value) / rate / pico);
    meter = std::max(meter, meter_ci95(p->power) / rate / pico);
    shared = std::max(shared, idle.ci95 / rate / pico);
  }
  return {runs[0]->threads, runs[0]->blocks, estimate(pj, meter, shared), runs.size()};
}

}  // namespace

std::vector<CalibrationPoint> read_points(const std::string& path,
                                          std::span<const PowerSample> samples,
                                          std::vector<DroppedPoint>& dropped) {
  std::vector<CalibrationPoint> points;
  std::size_t line = 1;
  for (const CsvRow& row : read_csv(path)) {
    ++line;
    const double begin = row.number("begin_s"), end = row.number("end_s");
    if (end <= begin + settling_s) {
      dropped.push_back(
          {std::string(row.text("kernel")), line, "too short for the board to settle"});
      continue;
    }
    const auto power = window_power(samples, begin + settling_s, end);
    if (!power) {
      dropped.push_back(
          {std::string(row.text("kernel")), line, "too few power readings while it ran"});
      continue;
    }
    points.push_back({std::string(row.text("kernel")), row.number("threads"), row.number("blocks"),
                      row.number("sm_share"), end - begin, row.number("sectors"),
                      row.number("flop"), row.number("divides"), *power});
  }
  return points;
}

Estimate mean_power(std::span<const CalibrationPoint> points, std::string_view kernel) {
  std::vector<double> watts;
  double meter = 0;
  for (const CalibrationPoint* p : points_of(points, kernel)) {
    watts.push_back(p->power.power_w);
    meter = std::max(meter, meter_ci95(p->power));
  }
  return watts.empty() ? Estimate{} : estimate(watts, meter, 0);
}

std::optional<AccessCalibration> calibrate_access(std::span<const CalibrationPoint> points,
                                                  std::string_view kernel, const Estimate& idle,
                                                  double CalibrationPoint::*work) {
  Points left = points_of(points, kernel);
  std::erase_if(left, [&](const CalibrationPoint* p) { return !(p->*work > 0); });
  if (left.empty()) return std::nullopt;
  AccessCalibration out;
  out.kernel = kernel;
  std::vector<double> accesses, joules;
  for (const CalibrationPoint* p : left) {
    if (p->threads < lanes_per_warp) continue;
    accesses.push_back(p->*work);
    joules.push_back(dynamic_j(*p, idle));
  }
  out.line = fit_line(accesses, joules);
  const auto key = [](const CalibrationPoint* p) { return std::pair(p->threads, p->blocks); };
  std::stable_sort(left.begin(), left.end(), [&](auto* a, auto* b) { return key(a) < key(b); });
  for (auto first = left.begin(); first != left.end();) {
    const auto last =
        std::find_if(first, left.end(), [&](auto* p) { return key(p) != key(*first); });
    out.curve.push_back(thread_point(Points(first, last), idle, work));
    first = last;
  }
  out.bound_pj = std::min_element(out.curve.begin(), out.curve.end(), [](auto& a, auto& b) {
                   return a.pj.value < b.pj.value;
                 })->pj;
  return out;
}

std::optional<Estimate> divide_energy(std::span<const CalibrationPoint> points,
                                      std::string_view load, std::string_view divide,
                                      const Estimate& idle) {
  const auto plain = calibrate_access(points, load, idle, &CalibrationPoint::sectors);
  const auto both = calibrate_access(points, divide, idle, &CalibrationPoint::sectors);
  if (!plain || !both) return std::nullopt;
  const ThreadPoint& last = both->curve.back();
  for (const ThreadPoint& p : plain->curve) {
    if (p.threads != last.threads || p.blocks != last.blocks) continue;
    const CalibrationPoint& any = *points_of(points, divide).back();
    const double sectors_per_divide = any.sectors / any.divides;
    return Estimate{(last.pj.value - p.pj.value) * sectors_per_divide,
                    std::hypot(last.pj.ci95, p.pj.ci95) * sectors_per_divide};
  }
  return std::nullopt;
}

Line active_sm_power(std::span<const CalibrationPoint> points, double sm_count) {
  std::vector<double> sms, watts;
  double most_threads = 0;
  for (const CalibrationPoint* p : points_of(points, "busy")) {
    most_threads = std::max(most_threads, p->threads);
  }
  for (const CalibrationPoint* p : points_of(points, "busy")) {
    if (p->threads != most_threads) continue;
    sms.push_back(p->sm_share * sm_count);
    watts.push_back(p->power.power_w);
  }
  return fit_line(sms, watts);
}

}  // namespace tandem
