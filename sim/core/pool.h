// The places for blocks on the SMs, shared by work of several streams.
#pragma once

#include <span>

#include "sim/core/time.h"

namespace tandem {

/// Work that began earlier and holds a share of the places until it ends.
struct PoolUse {
  TimePoint end;
  double share = 0;  // 0..1
};

/// Work begins once it would run at more than this rate, and never runs slower: SMs that a grid
/// leaves free by chance, and blocks that end before their grid does.
inline constexpr double least_pool_rate = 0.02;

struct PoolTime {
  TimePoint begin;  // when the first places are free
  TimePoint end;
};

/// Work that takes `alone` by itself and could begin at `ready`, beside `others` (sorted in place).
PoolTime time_in_pool(TimePoint ready, Duration alone, double share, std::span<PoolUse> others);

/// The inverse: how long work that ran over [begin, end) beside `others` takes by itself.
Duration done_in_pool(TimePoint begin, TimePoint end, double share, std::span<PoolUse> others);

}  // namespace tandem
