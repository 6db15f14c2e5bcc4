#include "models/memory/cache_chase.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace tandem {

namespace {

constexpr std::uint64_t no_key = ~std::uint64_t{0};
constexpr std::uint64_t access_lines = 2;
constexpr std::uint64_t piece_lines = 32;  // consecutive lines at home in one partition

/// Spreads bits, as hardware hashes addresses.
std::uint64_t spread(std::uint64_t x) {
  x = (x ^ (x >> 33U)) * 0xff51afd7ed558ccdULL;
  x = (x ^ (x >> 33U)) * 0xc4ceb9fe1a85ec53ULL;
  return x ^ (x >> 33U);
}

/// Every run of `partitions` pieces has one at home in each partition, in an order without pattern.
std::size_t home_of(std::uint64_t line, std::uint64_t partitions) {
  const std::uint64_t piece = line / piece_lines;
  return (piece + spread(piece / partitions)) % partitions;
}

/// Key of a line in a cache: its place, which decides the set, and what else tells it apart.
constexpr std::uint64_t home_bits = 8;
std::uint64_t key_of(std::uint64_t place, std::size_t home) { return (place << home_bits) | home; }

/// Lines that differ only in their home have the same number.
std::uint64_t within_home(std::uint64_t line, std::uint64_t partitions) {
  return line / (piece_lines * partitions) * piece_lines + line % piece_lines;
}

enum Level : std::uint8_t { in_l1, near, far, dram };

struct Memory {
  std::vector<LineCache> l1;  // none: loads pass by
  std::vector<LineCache> l2;  // partitions

  Level read(std::uint64_t line, std::size_t sm) {
    if (!l1.empty() && l1[sm].touch(key_of(line, 0))) return in_l1;
    return read_l2(line, sm % l2.size());
  }

  Level read_l2(std::uint64_t line, std::size_t own) {
    const std::size_t home = home_of(line, l2.size());
    const std::uint64_t key = key_of(within_home(line, l2.size()), home);
    if (l2[own].touch(key)) return near;
    return home != own && l2[home].touch(key) ? far : dram;
  }

  void write(std::uint64_t line) {
    const std::size_t home = home_of(line, l2.size());
    l2[home].insert(key_of(within_home(line, l2.size()), home));
  }
};

Memory empty_memory(const GpuArch& gpu, const Chase& chase, int sample) {
  Memory memory;
  const int partitions = std::max(1, gpu.l2_partitions);
  const CacheShape l2{static_cast<double>(gpu.l2_bytes) / partitions / sample};
  memory.l2.assign(static_cast<std::size_t>(partitions), LineCache(l2));
  const CacheShape l1{static_cast<double>(gpu.unified_l1_bytes)};
  if (chase.through_l1) memory.l1.assign(static_cast<std::size_t>(chase.sms), LineCache(l1));
  return memory;
}

struct Counts {
  double cycles = 0;
  std::array<double, 4> lines{};
};

/// Warps take turns by time; each waits for the slower of an access' lines.
Counts run(Memory& memory, const Chase& chase, const ChaseCycles& cycles, std::uint64_t steps) {
  const std::array<double, 4> cost{cycles.l1, cycles.l2_near, cycles.l2_far, cycles.dram};
  using Turn = std::pair<double, std::uint32_t>;
  std::priority_queue<Turn, std::vector<Turn>, std::greater<>> turns;
  const auto warps = static_cast<std::uint32_t>(chase.sms * chase.warps);
  for (std::uint32_t w = 0; w < warps; ++w) turns.emplace(static_cast<double>(w % 97), w);
  std::vector<std::uint64_t> done(warps, 0);
  const std::uint64_t all = steps * static_cast<std::uint64_t>(1 + chase.rounds);
  Counts counts;
  while (!turns.empty()) {
    const auto [time, w] = turns.top();
    turns.pop();
    const bool counted = done[w] >= steps;
    const std::uint64_t first = (w * steps + done[w] % steps) * access_lines;
    Level slowest = in_l1;
    for (std::uint64_t line = first; line < first + access_lines; ++line) {
      const Level level = memory.read(line, w / static_cast<std::uint32_t>(chase.warps));
      slowest = std::max(slowest, level);
      counts.lines[level] += counted;
    }
    if (counted) counts.cycles += cost[slowest];
    if (++done[w] < all) turns.emplace(time + cost[slowest], w);
  }
  return counts;
}

}  // namespace

LineCache::LineCache(const CacheShape& shape)
    : sets_(std::max<std::size_t>(
          1, static_cast<std::size_t>(shape.bytes / (shape.line_bytes * shape.ways)))),
      ways_(static_cast<std::size_t>(shape.ways)),
      keys_(sets_ * ways_, no_key),
      all_ways_(~std::uint64_t{0} >> (64 - ways_)),
      used_(sets_, 0),
      filled_(sets_, 0),
      next_victim_(sets_, 0) {}

// Each run of as many lines as sets fills every set once, in an order of its own.
std::size_t LineCache::set_of(std::uint64_t key) {
  const std::uint64_t place = key >> home_bits, run = place / sets_;
  while (deals_.size() <= run) {
    std::uint64_t m = spread(2 * deals_.size() + 1) % sets_;
    while (std::gcd(m, sets_) != 1) ++m;
    deals_.push_back({m, spread(deals_.size()) % sets_});
  }
  return ((place - run * sets_) * deals_[run].multiplier + deals_[run].offset) % sets_;
}

void LineCache::use(std::size_t set, std::size_t way) {
  const std::uint64_t bit = std::uint64_t{1} << way;
  used_[set] |= bit;
  if (used_[set] == all_ways_) used_[set] = bit;
}

std::size_t LineCache::way_of(std::size_t set, std::uint64_t key) const {
  const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(set * ways_);
  return static_cast<std::size_t>(
      std::find(begin, begin + static_cast<std::ptrdiff_t>(ways_), key) - begin);
}

bool LineCache::contains(std::uint64_t key) {
  const std::size_t set = set_of(key), way = way_of(set, key);
  if (way < ways_) use(set, way);
  return way < ways_;
}

bool LineCache::touch(std::uint64_t key) {
  const std::size_t set = set_of(key), way = way_of(set, key);
  if (way < ways_) {
    use(set, way);
  } else {
    place(set, key);
  }
  return way < ways_;
}

void LineCache::insert(std::uint64_t key) {
  const std::size_t set = set_of(key);
  if (way_of(set, key) == ways_) place(set, key);
}

void LineCache::place(std::size_t set, std::uint64_t key) {
  std::size_t way = filled_[set];
  if (way < ways_) {
    ++filled_[set];
  } else {
    way = next_victim_[set];
    while (ways_ > 1 && (used_[set] >> way & 1U) != 0) way = (way + 1) % ways_;
    next_victim_[set] = static_cast<std::uint8_t>((way + 1) % ways_);
  }
  keys_[set * ways_ + way] = key;
  use(set, way);
}

ChaseCycles chase_cycles(const GpuArch& gpu, std::span<const CurveStep> l1,
                         std::span<const CurveStep> l2_one_sm) {
  ChaseCycles c{gpu.l1_latency_cycles, gpu.l2_latency_cycles, gpu.l2_far_latency_cycles,
                gpu.dram_latency_cycles};
  if (!l1.empty()) c.l1 = l1.front().below;
  if (!l2_one_sm.empty()) {
    c.l2_near = l2_one_sm.front().below;
    c.dram = l2_one_sm.back().above;
  }
  return c;
}

Chase kit_chase(const GpuArch& gpu, std::string_view level) {
  Chase c;
  c.through_l1 = level == "l1";
  c.sms = level == "l2_all_sms" ? gpu.sm_count : 1;
  c.warps = c.through_l1 ? 4 : c.sms > 1 ? 16 : 32;
  c.sample = c.sms > 1 ? 4 : 16;
  return c;
}

ChaseResult simulate_chase(const GpuArch& gpu, const Chase& chase, const ChaseCycles& cycles,
                           double bytes) {
  const int sample = chase.through_l1 ? 1 : std::max(1, chase.sample);
  const double warps = static_cast<double>(chase.sms) * chase.warps;
  const double access_bytes = access_lines * CacheShape().line_bytes;
  const double largest = chase.through_l1 ? 8 * static_cast<double>(gpu.unified_l1_bytes)
                                          : 4 * static_cast<double>(gpu.l2_bytes);
  const auto steps =
      static_cast<std::uint64_t>(std::min(bytes, largest) / sample / access_bytes / warps);
  ChaseResult result;
  if (steps == 0) return result;
  Memory memory = empty_memory(gpu, chase, sample);
  const auto lines = static_cast<std::uint64_t>(warps) * steps * access_lines;
  for (std::uint64_t line = 0; chase.written && line < lines; ++line) memory.write(line);
  const Counts counts = run(memory, chase, cycles, steps);
  const double counted = static_cast<double>(lines) * chase.rounds;
  result.cycles = counts.cycles * access_lines / counted;
  result.l1_share = counts.lines[in_l1] / counted;
  result.near_share = counts.lines[near] / counted;
  result.far_share = counts.lines[far] / counted;
  result.dram_share = counts.lines[dram] / counted;
  return result;
}

std::vector<CurvePoint> simulate_curve(const GpuArch& gpu, const Chase& chase,
                                       const ChaseCycles& cycles,
                                       std::span<const CurvePoint> recorded) {
  std::vector<CurvePoint> curve;
  for (const CurvePoint& p : recorded) {
    curve.push_back({p.bytes, simulate_chase(gpu, chase, cycles, p.bytes).cycles});
  }
  return curve;
}

}  // namespace tandem
