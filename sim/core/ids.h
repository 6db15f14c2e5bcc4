// 32-bit ids that the compiler keeps apart: a StreamId cannot be used where a ThreadId is meant.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>

namespace tandem {

template <class Tag>
struct Id {
  static constexpr std::uint32_t none_value = std::numeric_limits<std::uint32_t>::max();
  std::uint32_t value = none_value;

  constexpr Id() = default;
  constexpr explicit Id(std::size_t v) : value(static_cast<std::uint32_t>(v)) {}

  constexpr bool valid() const { return value != none_value; }
  constexpr std::size_t index() const { return value; }
  friend constexpr auto operator<=>(Id, Id) = default;
};

using StringId = Id<struct StringTag>;          // into Trace::strings
using ThreadId = Id<struct ThreadTag>;          // into Trace::threads
using StreamId = Id<struct StreamTag>;          // into Trace::streams
using GeometryId = Id<struct GeometryTag>;      // into Trace::geometries
using CollectiveId = Id<struct CollectiveTag>;  // into Trace::collectives
using OperandsId = Id<struct OperandsTag>;      // into Trace::operands

}  // namespace tandem

template <class Tag>
struct std::hash<tandem::Id<Tag>> {
  std::size_t operator()(tandem::Id<Tag> id) const noexcept { return id.value; }
};
