#include "models/step/memory/item_moments.h"

namespace tandem {

std::vector<MemoryMoment> item_moments(std::vector<MemoryMoment> tensors, std::int64_t items,
                                       double kept_bytes, double update_bytes) {
  if (tensors.empty()) return tensors;
  for (MemoryMoment& m : tensors) {
    m.fixed_bytes += kept_bytes;
    m.growing_bytes /= static_cast<double>(items);
  }
  tensors.push_back({kept_bytes + update_bytes, 0});
  return tensors;
}

}  // namespace tandem
