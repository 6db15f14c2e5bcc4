#include "models/memory/cache_curve.h"

#include <algorithm>
#include <cmath>

namespace tandem {

namespace {

constexpr std::size_t least_points = 5;
constexpr double tolerance = 0.06;  // of the range, around a level's mean
constexpr double least_rise = 0.2;  // of the range, between two levels
constexpr double flat = 0.25;       // a range below this share of the lowest value is noise

struct Plateau {
  std::size_t begin = 0, end = 0;  // of points
  double mean = 0;
};

/// Longest plateaus from left to right.
std::vector<Plateau> plateaus(std::span<const CurvePoint> curve, double range) {
  std::vector<Plateau> found;
  for (std::size_t begin = 0; begin < curve.size();) {
    double sum = 0;
    std::size_t end = begin;
    for (; end < curve.size(); ++end) {
      const auto n = static_cast<double>(end - begin);
      if (n > 0 && std::abs(curve[end].cycles - sum / n) > tolerance * range) break;
      sum += curve[end].cycles;
    }
    if (end - begin < least_points) {
      ++begin;
      continue;
    }
    found.push_back({begin, end, sum / static_cast<double>(end - begin)});
    begin = end;
  }
  return found;
}

double crossing(std::span<const CurvePoint> curve, std::size_t from, double level) {
  for (std::size_t i = std::max<std::size_t>(from, 1); i < curve.size(); ++i) {
    const CurvePoint &a = curve[i - 1], &b = curve[i];
    if (b.cycles < level) continue;
    const double share = b.cycles > a.cycles ? (level - a.cycles) / (b.cycles - a.cycles) : 0;
    return std::lerp(a.bytes, b.bytes, std::clamp(share, 0.0, 1.0));
  }
  return curve.back().bytes;
}

}  // namespace

double cyclic_miss_share(const CacheShape& cache, double footprint_bytes) {
  const double sets = cache.bytes / (cache.line_bytes * cache.ways);
  const double lines = footprint_bytes / cache.line_bytes;
  if (!(sets > 0) || !(lines > 0)) return 0;
  const double fullest = std::floor(lines / sets);  // lines of every set, some hold one more
  const double crowded = lines - fullest * sets;    // sets with one more
  if (fullest > cache.ways) return 1;
  if (fullest < cache.ways) return 0;
  return crowded * (fullest + 1) / lines;
}

CacheKnees cache_knees(const GpuArch& gpu) {
  const auto l2 = static_cast<double>(gpu.l2_bytes);
  const double partitions = std::max(1.0, static_cast<double>(gpu.l2_partitions));
  CacheKnees k;
  k.l1 = static_cast<double>(gpu.unified_l1_bytes);
  k.l2_near = partitions > 1 ? l2 / partitions : 0;
  k.l2_one_sm = l2;
  k.l2_all_sms = l2 / (1 + (partitions - 1) / partitions);
  return k;
}

std::vector<CurveStep> curve_steps(std::span<const CurvePoint> curve) {
  std::vector<CurveStep> steps;
  if (curve.size() < 2 * least_points) return steps;
  const auto [low, high] = std::minmax_element(
      curve.begin(), curve.end(),
      [](const CurvePoint& a, const CurvePoint& b) { return a.cycles < b.cycles; });
  const double range = high->cycles - low->cycles;
  if (range < flat * low->cycles) return steps;
  const std::vector<Plateau> found = plateaus(curve, range);
  for (std::size_t i = 1; i < found.size(); ++i) {
    const Plateau &a = found[i - 1], &b = found[i];
    if (b.mean - a.mean < least_rise * range) continue;
    const double knee = crossing(curve, a.end, (a.mean + b.mean) / 2);
    steps.push_back({curve[a.end - 1].bytes, knee, a.mean, b.mean});
  }
  return steps;
}

}  // namespace tandem
