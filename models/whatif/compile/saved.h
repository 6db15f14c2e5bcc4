// What of the forward pass a compiler saves for the backward pass, and what it computes again
// there.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/whatif/compile/recomputed.h"

namespace tandem {

/// Per tensor of the forward pass: whether generated code of the backward pass computes it again
/// from what is saved. `attends_rows`: per operation, a softmax of rows that attends, of which the
/// largest and the sum of each row are saved in any case.
std::vector<bool> computed_later(const Dataflow& flow, const std::vector<FuseRole>& roles,
                                 const std::vector<std::uint32_t>& same_as,
                                 const TensorReaders& readers,
                                 const std::vector<bool>& attends_rows);

}  // namespace tandem
