#include "sim/core/kernel/kernel_limits.h"

#include <iterator>

#include "sim/core/named.h"

namespace tandem {
namespace {

constexpr std::string_view shortfall_names[] = {"compute",   "memory", "latency",   "launch",
                                                "occupancy", "type",   "alignment", "layout"};
static_assert(std::size(shortfall_names) == values_up_to(Shortfall::layout));

}  // namespace

Shortfall shortfall_of(Bound bound) {
  switch (bound) {
    case Bound::compute: return Shortfall::compute;
    case Bound::memory: return Shortfall::memory;
    case Bound::latency: return Shortfall::latency;
    case Bound::launch: break;
  }
  return Shortfall::launch;
}

std::string_view to_string(Shortfall shortfall) {
  return shortfall_names[static_cast<std::size_t>(shortfall)];
}

std::string_view to_string(Bound bound) { return to_string(shortfall_of(bound)); }

}  // namespace tandem
