// Peak of an allocator by the lives of what it gives out.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tandem {

/// What is allocated at one moment. Some of it grows with the batch.
struct MemoryMoment {
  double fixed_bytes = 0;
  double growing_bytes = 0;
  double bytes() const { return fixed_bytes + growing_bytes; }
  MemoryMoment& operator+=(const MemoryMoment& other) {
    fixed_bytes += other.fixed_bytes;
    growing_bytes += other.growing_bytes;
    return *this;
  }
};

/// From the operation that makes it to the last one that needs it, both included.
struct Life {
  std::uint32_t first = 0, last = 0;
  MemoryMoment bytes;
};

/// What a caching allocator that gives out whole units of `unit_bytes` takes for `bytes`.
double allocated_bytes(std::int64_t bytes, std::int64_t unit_bytes);

/// The moments of a step that are the worst where what grows is some positive multiple of what it
/// is, by rising growing bytes. `kept` is there all along.
std::vector<MemoryMoment> worst_moments(std::span<const Life> lives, std::size_t operations,
                                        const MemoryMoment& kept = {});

/// Bytes of the worst of `moments` where what grows is `growth` times what it is; 0 of none.
double worst_bytes(std::span<const MemoryMoment> moments, double growth = 1);

}  // namespace tandem
