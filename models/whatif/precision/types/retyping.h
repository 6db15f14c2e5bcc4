// A step whose operations are given other types one after the other.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "models/whatif/precision/types/casts.h"
#include "models/whatif/precision/types/conversions.h"
#include "models/whatif/precision/types/made_types.h"
#include "models/whatif/precision/types/types.h"

namespace tandem {

/// What each way of doing so knows of the operations before: types so far, conversions of the
/// user's code, gradients, attention by products. `fused_width`: as autocast() says.
class Retyping {
 protected:
  Retyping(const Trace& trace, const Dataflow& flow, DataType half, std::int64_t fused_width);

  /// The list that forward operation `op` joins, of the conversions since the one before.
  AlignedList next_list(const FlowOp& op);
  /// What an operation in place computes in, which is what it holds; unknown for others and copies.
  DataType own_type(const FlowOp& op) const;
  /// Gives backward operation `i` the type that its node tells, else `otherwise`.
  DataType gradient_type(std::uint32_t i, const FlowOp& op, DataType otherwise) const;
  /// The last forward operation of the autograd number of `op`, or no_row.
  std::uint32_t forward_of(const FlowOp& op) const;

  const Trace& trace_;
  const Dataflow& flow_;
  DataType half_;
  std::vector<IdleConversion> idle_;
  TimePoint last_forward_{};  // begin of the forward operation before
  TypeChange change_;
  std::unordered_map<std::int64_t, std::uint32_t> forward_of_;  // sequence -> last forward op
  MadeTypes made_;
  GradientCasts gradients_;
  ProductAttention attention_;
};

}  // namespace tandem
