#include "models/whatif/precision/types/retyping.h"

#include "models/step/one_call.h"
#include "models/whatif/precision/types/rules.h"

namespace tandem {

Retyping::Retyping(const Trace& trace, const Dataflow& flow, DataType half,
                   std::int64_t fused_width)
    : trace_(trace),
      flow_(flow),
      half_(half),
      idle_(idle_conversions(trace, flow.nesting)),
      change_(unchanged(flow)),
      made_(trace, flow, change_),
      gradients_(trace, flow, change_),
      attention_(trace, flow, half, fused_width, change_, gradients_, made_) {}

AlignedList Retyping::next_list(const FlowOp& op) {
  const AlignedList list = aligned_list(trace_, op, last_forward_, idle_);
  last_forward_ = trace_.ops.begin[op.op];
  return list;
}

DataType Retyping::own_type(const FlowOp& op) const {
  if (op.kind == OpKind::cast || op.input_count == 0) return DataType::unknown;
  if (!is_in_place(text_of(trace_, trace_.ops.name[op.op]))) return DataType::unknown;
  // Under autocast its block runs in pieces, whose sums are new tensors.
  if (block_in_one_call(trace_, flow_, op) != no_row) return DataType::unknown;
  const DataType own = change_.tensors[flow_.inputs_of(op)[0].tensor];
  return is_autocast_type(own) ? own : DataType::unknown;
}

std::uint32_t Retyping::forward_of(const FlowOp& op) const {
  const auto found = forward_of_.find(op.sequence);
  return found == forward_of_.end() ? no_row : found->second;
}

DataType Retyping::gradient_type(std::uint32_t i, const FlowOp& op, DataType otherwise) const {
  const DataType type = backward_type(flow_, change_, made_, i, forward_of(op));
  return type == DataType::unknown ? otherwise : type;
}

}  // namespace tandem
