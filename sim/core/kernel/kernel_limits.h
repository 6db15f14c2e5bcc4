// What keeps a kernel from being faster: the words that models, metrics and reports share.
#pragma once

#include <cstdint>
#include <string_view>

namespace tandem {

/// What the time of a kernel is bound by.
enum class Bound : std::uint8_t { compute, memory, latency, launch };

/// Why a kernel is not at the peak of the tensor cores: what binds its time, or what it is.
enum class Shortfall : std::uint8_t {
  compute,  // nothing: it is busy
  memory,   // bytes
  latency,
  launch,     // too short
  occupancy,  // too few warps or blocks
  type,       // products on FP32 pipes: the type has no tensor instruction, or TF32 is not allowed
  alignment,  // of operands
  layout,     // it moves operands for others
};

/// As reports write them.
std::string_view to_string(Bound bound);
std::string_view to_string(Shortfall shortfall);

Shortfall shortfall_of(Bound bound);

}  // namespace tandem
