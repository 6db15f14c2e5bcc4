#include "models/memory/lives.h"

#include <algorithm>

namespace tandem {

namespace {

/// As lines over the growth: the upper hull, for positive growth.
std::vector<MemoryMoment> upper_hull(std::vector<MemoryMoment> moments) {
  std::sort(moments.begin(), moments.end(), [](const MemoryMoment& a, const MemoryMoment& b) {
    return a.growing_bytes != b.growing_bytes ? a.growing_bytes < b.growing_bytes
                                              : a.fixed_bytes < b.fixed_bytes;
  });
  std::vector<MemoryMoment> hull;
  // Where the line of `b` begins to lie above that of `a`.
  const auto crossing = [](const MemoryMoment& a, const MemoryMoment& b) {
    return (a.fixed_bytes - b.fixed_bytes) / (b.growing_bytes - a.growing_bytes);
  };
  for (const MemoryMoment& m : moments) {
    while (!hull.empty()) {
      const bool below = hull.back().fixed_bytes <= m.fixed_bytes;
      const bool hidden = !below && hull.size() > 1 &&
                          crossing(hull.back(), m) <= crossing(hull[hull.size() - 2], hull.back());
      if (!below && !hidden) break;
      hull.pop_back();
    }
    hull.push_back(m);
  }
  return hull;
}

}  // namespace

double allocated_bytes(std::int64_t bytes, std::int64_t unit_bytes) {
  return static_cast<double>((bytes + unit_bytes - 1) / unit_bytes * unit_bytes);
}

std::vector<MemoryMoment> worst_moments(std::span<const Life> lives, std::size_t operations,
                                        const MemoryMoment& kept) {
  std::vector<MemoryMoment> change(operations + 1);
  const auto add = [&](std::size_t at, const MemoryMoment& bytes, double sign) {
    change[at].fixed_bytes += sign * bytes.fixed_bytes;
    change[at].growing_bytes += sign * bytes.growing_bytes;
  };
  for (const Life& life : lives) {
    add(life.first, life.bytes, 1);
    add(std::size_t{life.last} + 1, life.bytes, -1);
  }
  std::vector<MemoryMoment> moments;
  MemoryMoment now = kept;
  for (const MemoryMoment& c : change) {
    now += c;
    moments.push_back(now);
  }
  return upper_hull(std::move(moments));
}

double worst_bytes(std::span<const MemoryMoment> moments, double growth) {
  double worst = 0;
  for (const MemoryMoment& m : moments) {
    worst = std::max(worst, m.fixed_bytes + growth * m.growing_bytes);
  }
  return worst;
}

}  // namespace tandem
