// Slices of one track spread over lanes, for a viewer shows a slice inside another or beside it,
// and drops one that overlaps another in part.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/report/timeline/event_writer.h"

namespace tandem {

/// What a slice shows, outer ones first.
enum class SliceKind : std::uint8_t { range, op, call, work };

struct TrackSlice {
  FileSpan span;
  std::uint32_t row = 0;
  SliceKind kind = SliceKind::call;
  std::uint16_t lane = 0;
};

/// Sorts by begin, outer slices before those inside, and gives each the first lane in which it
/// overlaps no slice in part and, unless `nested`, no slice at all. The number of lanes.
std::size_t set_lanes(std::vector<TrackSlice>& slices, bool nested);

}  // namespace tandem
