#include "sim/report/timeline/lanes.h"

#include <algorithm>
#include <tuple>

namespace tandem {

namespace {

/// The ends of the slices that are open in a lane, the innermost last.
using OpenEnds = std::vector<std::int64_t>;

bool fits(OpenEnds& open, const FileSpan& span, bool nested) {
  while (!open.empty() && open.back() <= span.begin_ns) open.pop_back();
  return open.empty() || (nested && span.end_ns <= open.back());
}

}  // namespace

std::size_t set_lanes(std::vector<TrackSlice>& slices, bool nested) {
  std::stable_sort(slices.begin(), slices.end(), [](const TrackSlice& a, const TrackSlice& b) {
    return std::tuple(a.span.begin_ns, -a.span.end_ns, a.kind) <
           std::tuple(b.span.begin_ns, -b.span.end_ns, b.kind);
  });
  std::vector<OpenEnds> lanes;
  for (TrackSlice& slice : slices) {
    auto lane = std::find_if(lanes.begin(), lanes.end(),
                             [&](OpenEnds& open) { return fits(open, slice.span, nested); });
    if (lane == lanes.end()) lane = lanes.insert(lanes.end(), OpenEnds{});
    lane->push_back(slice.span.end_ns);
    slice.lane = static_cast<std::uint16_t>(lane - lanes.begin());
  }
  return lanes.size();
}

}  // namespace tandem
