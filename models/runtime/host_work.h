// Which host time is covered by framework operations; the rest is Python or idleness.
#pragma once

#include <span>
#include <vector>

#include "sim/trace/trace.h"

namespace tandem {

/// Top-level operations of every thread as disjoint intervals in order of time.
class OpCover {
 public:
  explicit OpCover(const Trace& trace);
  /// In place of operations, times in which threads waited for the program's input.
  static OpCover of_input(const Trace& trace);
  /// True if an operation of `thread` runs at `time` (ends excluded).
  bool covers(ThreadId thread, TimePoint time) const;
  /// Length of [begin, end) that operations of `thread` cover.
  Duration covered(ThreadId thread, TimePoint begin, TimePoint end) const;
  /// By how much the stretches of [begin, end) without an operation of `thread` exceed `usual`,
  /// added up.
  Duration bare(ThreadId thread, TimePoint begin, TimePoint end, Duration usual) const;

 private:
  struct Interval {
    TimePoint begin;
    TimePoint end;
  };
  OpCover() = default;
  /// Those that overlap [begin, end), in order.
  std::span<const Interval> within(ThreadId thread, TimePoint begin, TimePoint end) const;
  void join();
  std::vector<std::vector<Interval>> of_thread_;
};

}  // namespace tandem
