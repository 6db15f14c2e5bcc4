// The moments of a step as functions of its batch.
#pragma once

#include <cstdint>
#include <vector>

#include "models/memory/lives.h"

namespace tandem {

/// `tensors`: the worst moments of a step of `items` items, beside which `kept`, which grows by
/// the item, is there all along and `update_bytes` while parameters are updated. What grows becomes
/// that of one item. Empty if `tensors` is.
std::vector<MemoryMoment> item_moments(std::vector<MemoryMoment> tensors, std::int64_t items,
                                       MemoryMoment kept, double update_bytes);

}  // namespace tandem
