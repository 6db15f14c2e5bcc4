#include "sim/core/pool.h"

#include <algorithm>
#include <cmath>

namespace tandem {

namespace {

/// Sorts by end; returns the share that all of them leave.
double left_by(std::span<PoolUse> others) {
  std::sort(others.begin(), others.end(),
            [](const PoolUse& a, const PoolUse& b) { return a.end < b.end; });
  double left = 1;
  for (const PoolUse& other : others) left -= other.share;
  return left;
}

double rate_of(double left, double share) { return std::clamp(left / share, least_pool_rate, 1.0); }

}  // namespace

PoolTime time_in_pool(TimePoint ready, Duration alone, double share, std::span<PoolUse> others) {
  double left = left_by(others);
  double remaining = static_cast<double>(alone.count());
  PoolTime out{ready, ready};
  TimePoint now = ready;
  bool begun = false;
  for (const PoolUse& other : others) {
    if (other.end > now) {
      if (!begun && left > least_pool_rate) {
        begun = true;
        out.begin = now;
      }
      if (begun) {
        const double done = rate_of(left, share) * static_cast<double>((other.end - now).count());
        if (done >= remaining) break;
        remaining -= done;
      }
      now = other.end;
    }
    left += other.share;
  }
  if (!begun) out.begin = now;
  out.end = now + Duration(std::llround(remaining / rate_of(left, share)));
  return out;
}

Duration done_in_pool(TimePoint begin, TimePoint end, double share, std::span<PoolUse> others) {
  double left = left_by(others);
  double done = 0;
  TimePoint now = begin;
  for (const PoolUse& other : others) {
    const TimePoint until = std::min(other.end, end);
    if (until > now) {
      done += rate_of(left, share) * static_cast<double>((until - now).count());
      now = until;
    }
    left += other.share;
  }
  done += rate_of(left, share) * static_cast<double>((end - now).count());
  return Duration(std::llround(done));
}

}  // namespace tandem
