// Conversions in the user's code that do nothing in an FP32 trace but would under autocast.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// An `x.to(dtype)` of a tensor that has that type already: it is recorded, but launches nothing.
struct IdleConversion {
  TimePoint at;
  std::int64_t elements = 0;
};

/// Those of FP32 tensors outside of other operations, in order of time.
std::vector<IdleConversion> idle_conversions(const Trace& trace, const OpNesting& nesting);

/// Operands of equal size that the user's code brings to the type of the others of their list.
struct AlignedList {
  std::size_t operands = 0;     // in the list
  std::size_t conversions = 0;  // of which that many are converted; 0: no such list
  std::int64_t elements = 0;    // of each
};

/// The list that `op` (cat, stack) joins, if some but not all of its operands were converted
/// between the forward operation before (`since`) and `op`. If all were, the type would be one that
/// is written in the code. Traces do not tell the types of lists.
AlignedList aligned_list(const Trace& trace, const FlowOp& op, TimePoint since,
                         std::span<const IdleConversion> idle);

}  // namespace tandem
