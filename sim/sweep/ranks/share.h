// Points of a sweep over ranks: rank 0 hands them out one by one, to itself as well.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "sim/sweep/ranks/ranks.h"
#include "sim/sweep/run.h"

namespace tandem {

struct ShareOptions {
  int threads = 1;           // that run points on this rank
  std::uint64_t inputs = 0;  // hash: who has other inputs takes no part
  /// A rank that says nothing for so long is lost. It says something ten times as often.
  std::chrono::milliseconds silence{10'000};
  std::function<void(const std::string&)> note = {};  // what a user should know; null: nobody looks
};

/// Of this rank in a sweep with `options.ranks`.
ShareOptions share_options(const RunOptions& options);

using RunPoint = std::function<Outcome(std::size_t)>;
using TakeOutcome = std::function<void(std::size_t, Outcome)>;

/// On rank 0: runs `open`, and calls `take` once for each, in this thread. A rank that is lost
/// costs the points that it was running, one a thread: they fail, and are not to be kept. What
/// waited there is run elsewhere. Errors: what `take` throws.
void share_points(Ranks& ranks, std::span<const std::size_t> open, const RunPoint& run,
                  const TakeOutcome& take, const ShareOptions& options);

/// On the others: runs what rank 0 hands out until it says stop, or nothing for a long time.
void run_shared_points(Ranks& ranks, const RunPoint& run, const ShareOptions& options);

/// Instead of that: tells rank 0 why this rank takes no part.
void refuse(Ranks& ranks, const std::string& why);

/// On rank 0, in the end, whatever happened: the others stop.
void stop_ranks(Ranks& ranks);

}  // namespace tandem
