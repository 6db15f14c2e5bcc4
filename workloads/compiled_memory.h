// Peak of memory over a step of a network that a compiler has made one graph of.
#pragma once

#include "models/memory/compiled_lives.h"
#include "workloads/memory.h"

namespace tandem {

/// By the lives that `saving` leaves (models/memory/compiled_lives.h). `twice`: as of
/// storage_bytes.
NetworkMemory compiled_memory(const BoundNetwork& network, Saving saving,
                              const BoundNetwork* twice = nullptr);

}  // namespace tandem
