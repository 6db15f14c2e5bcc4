#include "models/kernel/choice/depthwise_rule.h"

#include <cmath>

namespace tandem {
namespace {

constexpr double least_channels = 32, least_width = 7;
constexpr double many_channels = 512, some_channels = 256, some_width = 28;

/// With a stride of two the library must have enough to do; a single image always has.
bool pays_with_stride(const LayerShape& s, double width) {
  constexpr double few_images = 16, point_channels = 128;
  if (s.side == 1) {
    return s.images == 1
               ? width <= some_width
               : s.images <= few_images && s.in_channels >= point_channels && width <= least_width;
  }
  return s.images == 1 || s.in_channels >= many_channels ||
         (s.in_channels >= some_channels && width >= some_width);
}

}  // namespace

bool library_runs_depthwise(const LayerShape& s) {
  if (s.channels_last) return true;
  const double width = std::sqrt(s.pixels);
  const bool filter = is_compact(s) && (s.side == 1 || s.side == 3 || s.side == 5);
  if (!filter || s.in_channels < least_channels || width < least_width) return false;
  if (s.stride == 1) return true;
  return s.stride == 2 && pays_with_stride(s, width);
}

bool loads_hold_channels(double channels) {
  constexpr double loaded = 4;
  return std::fmod(channels, loaded) == 0;
}

}  // namespace tandem
