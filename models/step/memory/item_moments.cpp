#include "models/step/memory/item_moments.h"

namespace tandem {

std::vector<MemoryMoment> item_moments(std::vector<MemoryMoment> tensors, std::int64_t items,
                                       MemoryMoment kept, double update_bytes) {
  if (tensors.empty()) return tensors;
  for (MemoryMoment& m : tensors) {
    m.growing_bytes /= static_cast<double>(items);
    m += kept;
  }
  tensors.push_back({kept.fixed_bytes + update_bytes, kept.growing_bytes});
  return tensors;
}

}  // namespace tandem
