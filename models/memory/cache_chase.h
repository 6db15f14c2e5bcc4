// Pointer chases through the caches of a GPU, simulated access by access: what thesis figure 5.4
// looks like on a GPU whose L2 is divided (bench/device/cache records it).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/memory/cache_curve.h"

namespace tandem {

/// Set-associative lines with one reference bit each: the victim is the next line that was not
/// used since all others of its set were. Sets share consecutive lines evenly, at strides too.
class LineCache {
 public:
  explicit LineCache(const CacheShape& shape);  // of at most 64 ways
  bool contains(std::uint64_t key);             // a hit uses the line
  void insert(std::uint64_t key);
  bool touch(std::uint64_t key);  // the same as contains, and what is missing is inserted

 private:
  std::size_t set_of(std::uint64_t key);
  std::size_t way_of(std::size_t set, std::uint64_t key) const;  // as many as ways: none
  void use(std::size_t set, std::size_t way);
  void place(std::size_t set, std::uint64_t key);  // over a line that was not used lately

  std::size_t sets_, ways_;
  std::vector<std::uint64_t> keys_;
  std::uint64_t all_ways_;            // a bit each
  std::vector<std::uint64_t> used_;   // by set: a bit each
  std::vector<std::uint8_t> filled_;  // by set: ways that hold a line, the first ones
  std::vector<std::uint8_t> next_victim_;
  /// How the lines of a run of as many as there are sets are dealt out to them.
  struct Deal {
    std::uint64_t multiplier = 1, offset = 0;
  };
  std::vector<Deal> deals_;  // by place / sets
};

/// Cycles of an access that a level serves.
struct ChaseCycles {
  double l1 = 0;
  double l2_near = 0;  // the SM's own partition
  double l2_far = 0;   // the partition where the line is at home
  double dram = 0;
};
/// Of the steps of recorded curves; what they do not show is the config's.
ChaseCycles chase_cycles(const GpuArch& gpu, std::span<const CurveStep> l1,
                         std::span<const CurveStep> l2_one_sm);

/// Every warp goes round its own part of an array, one access of two lines after the other: a round
/// to warm up, then `rounds`.
struct Chase {
  int sms = 1;
  int warps = 32;  // of an SM
  bool through_l1 = false;
  bool written = true;  // the array was written just before; false: no cache holds any of it
  int rounds = 4;
  int sample = 4;  // simulates one set of L2 in so many, with as much less of the array
};

/// The chase of a level in recordings of bench/device/cache. One SM's rings are long: fewer sets
/// do.
Chase kit_chase(const GpuArch& gpu, std::string_view level);

struct ChaseResult {
  double cycles = 0;  // an access
  double l1_share = 0, near_share = 0, far_share = 0, dram_share = 0;
};
/// Where L2 is divided, SMs read through their own partition, which keeps a copy; a line that it
/// lacks is asked for at home, where it is kept as well. An array too small for the warps: zeros;
/// one of many times L2: as at the largest size that is simulated, where all misses.
ChaseResult simulate_chase(const GpuArch& gpu, const Chase& chase, const ChaseCycles& cycles,
                           double bytes);

/// The curve over the sizes of a recorded one.
std::vector<CurvePoint> simulate_curve(const GpuArch& gpu, const Chase& chase,
                                       const ChaseCycles& cycles,
                                       std::span<const CurvePoint> recorded);

}  // namespace tandem
