// How the streams of a trace shared the SMs.
//
// A kernel holds the share of the device's places for blocks that its grid fills (waves, at most
// 1). Work that began earlier is served first; later work gets the places that are left, as blocks
// end (measured on pairs of kernels, tests/validation/sm_pool_measured_test.cpp).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/trace/trace.h"

namespace tandem {

/// How full the device was over the traced run, and how long each kernel would have taken alone.
class TracedPool {
 public:
  /// Nothing is shared: every answer is that of a device without contention.
  TracedPool() = default;
  /// `share`: per activity, 0..1; 0 for copies and what is not known. Empty where all work of a
  /// device runs on one stream.
  TracedPool(const Trace& trace, std::span<const double> share);

  bool empty() const { return alone_.empty(); }
  /// Until when within [from, to] running kernels held all places; `from` if they never did.
  TimePoint full_until(TimePoint from, TimePoint to) const;
  /// The time alone over the traced duration, 0..1.
  double alone(std::uint32_t activity) const { return alone_.empty() ? 1.0 : alone_[activity]; }

 private:
  struct Level {
    TimePoint begin;
    double held;  // from `begin` until the next level
  };
  void add_levels(const Activities& acts, std::span<const double> share);
  void add_alone(const Activities& acts, std::span<const double> share);

  std::vector<Level> levels_;
  std::vector<float> alone_;
};

}  // namespace tandem
