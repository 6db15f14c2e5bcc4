#include "models/runtime/traced_pool.h"

#include <algorithm>
#include <numeric>

#include "sim/core/pool.h"
#include "sim/trace/row_order.h"

namespace tandem {

namespace {

std::vector<std::uint32_t> in_order_of_begin(const Activities& acts,
                                             std::span<const double> share) {
  std::vector<std::uint32_t> rows;
  for (std::uint32_t row = 0; row < acts.size(); ++row) {
    if (share[row] > 0) rows.push_back(row);
  }
  sort_by_begin(acts, rows);
  return rows;
}

/// The shortest kernel of the trace: however long it waited for places, none takes less by itself.
Duration shortest_kernel(const Activities& acts) {
  Duration shortest = Duration::zero();
  for (std::size_t row = 0; row < acts.size(); ++row) {
    if (acts.kind[row] != ActivityKind::kernel || acts.duration[row] <= Duration::zero()) continue;
    if (shortest == Duration::zero() || acts.duration[row] < shortest) {
      shortest = acts.duration[row];
    }
  }
  return shortest;
}

}  // namespace

TracedPool::TracedPool(const Trace& trace, std::span<const double> share) {
  const Activities& acts = trace.activities;
  const auto shared = [&](std::uint32_t row) { return acts.stream[row] != acts.stream[0]; };
  std::vector<std::uint32_t> rows(acts.size());
  std::iota(rows.begin(), rows.end(), 0U);
  if (share.empty() || std::none_of(rows.begin(), rows.end(), shared)) return;
  add_levels(acts, share);
  add_alone(acts, share);
}

void TracedPool::add_levels(const Activities& acts, std::span<const double> share) {
  std::vector<std::pair<TimePoint, double>> changes;
  for (std::uint32_t row = 0; row < acts.size(); ++row) {
    if (share[row] <= 0) continue;
    const double held = std::min(share[row], 1.0);
    changes.emplace_back(acts.begin[row], held);
    changes.emplace_back(end_of(acts, row), -held);
  }
  std::sort(changes.begin(), changes.end());
  double held = 0;
  for (const auto& [time, change] : changes) {
    held += change;
    if (!levels_.empty() && levels_.back().begin == time) {
      levels_.back().held = held;
    } else {
      levels_.push_back({time, held});
    }
  }
}

void TracedPool::add_alone(const Activities& acts, std::span<const double> share) {
  alone_.assign(acts.size(), 1.0F);
  const Duration shortest = shortest_kernel(acts);
  std::vector<std::uint32_t> running;
  std::vector<PoolUse> others;
  for (const std::uint32_t row : in_order_of_begin(acts, share)) {
    const TimePoint begin = acts.begin[row];
    std::erase_if(running, [&](std::uint32_t r) { return end_of(acts, r) <= begin; });
    others.clear();
    for (const std::uint32_t r : running) {
      // Work of the same stream overlaps only where its tail lets the next begin.
      if (acts.stream[r] != acts.stream[row]) {
        others.push_back({end_of(acts, r), std::min(share[r], 1.0)});
      }
    }
    running.push_back(row);
    if (others.empty() || acts.duration[row] <= Duration::zero()) continue;
    const Duration pooled =
        done_in_pool(begin, end_of(acts, row), std::min(share[row], 1.0), others);
    const Duration done = std::max(pooled, std::min(shortest, acts.duration[row]));
    alone_[row] = static_cast<float>(static_cast<double>(done.count()) /
                                     static_cast<double>(acts.duration[row].count()));
  }
}

TimePoint TracedPool::full_until(TimePoint from, TimePoint to) const {
  auto level = std::lower_bound(levels_.begin(), levels_.end(), to,
                                [](const Level& l, TimePoint t) { return l.begin < t; });
  TimePoint end = to;
  while (level != levels_.begin() && end > from) {
    --level;
    if (1 - level->held <= least_pool_rate) return end;
    end = level->begin;
  }
  return from;
}

}  // namespace tandem
