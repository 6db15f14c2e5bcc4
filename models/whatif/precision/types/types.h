// Which type every tensor of a step has in another precision, and where casts stand: autocast's
// rules on the dataflow of a trace. Pure; no times.
#pragma once

#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/ops/op_table.h"
#include "models/step/dataflow.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

/// FP32, FP16 and BF16: what autocast exchanges. It leaves FP64 alone.
bool is_autocast_type(DataType type);

struct PlannedCast {
  std::uint32_t op = 0;  // index of Dataflow::ops that it stands next to
  bool after = false;    // after the operation; else before it
  std::int64_t elements = 0;
  DataType from = DataType::unknown, to = DataType::unknown;
  bool parameter = false;     // of a weight or bias, or its gradient
  std::uint32_t reader = 0;   // forward operation that reads the tensor in the other type
  std::uint8_t argument = 0;  // as this argument
};

/// Attention by products that one fused kernel takes the place of: indices of Dataflow::ops.
struct FusedAttention {
  std::uint32_t call = 0;             // row of Trace::ops: the operation around it
  std::uint32_t first = 0, last = 0;  // forward operations within it
};

struct TypeChange {
  std::vector<DataType> tensors;       // per tensor: its new type
  std::vector<DataType> ops;           // per operation: type it computes in; unknown: no float
  std::vector<DataType> old_ops;       // ... in the trace
  std::vector<CastPolicy> policies;    // per operation, as part of what contains it
  std::vector<bool> mixed;             // per operation: operands of two floating types meet
  std::vector<PlannedCast> casts;      // in the order of their places
  std::vector<std::uint32_t> removed;  // operations that vanish, ascending
  std::vector<FusedAttention> fused;   // in the order of their places
};

/// From FP32 to `half` under autocast. `fused_width`: columns of the widest head for which the GPU
/// has fused 16-bit attention of heads that share keys; 0: it has none.
TypeChange autocast(const Trace& trace, const Dataflow& flow, DataType half,
                    std::int64_t fused_width);
/// From autocast to FP32: all 16-bit types become FP32, casts vanish.
TypeChange without_autocast(const Dataflow& flow);
/// The same, and what works on weights computes in FP32, too.
TypeChange without_whole(const Dataflow& flow);
/// From one 16-bit type to the other.
TypeChange with_half(const Dataflow& flow, DataType half);

/// Index of the backward operation after which the gradient of forward operation `op` is complete,
/// or no_row if none is asked of it: what no gradient is asked of (frozen layers, masks) has the
/// number of what comes next.
class BackwardIndex {
 public:
  BackwardIndex(const Trace& trace, const Dataflow& flow);
  std::uint32_t last_of(const FlowOp& op) const;

 private:
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_sequence_;  // descending; last op of each
  std::unordered_map<std::int64_t, std::uint32_t> owner_;  // the last one alike that has the number
  const Dataflow& flow_;
  std::vector<bool> runs_again_;  // per operation: its gradient is that of the second run
};

}  // namespace tandem
