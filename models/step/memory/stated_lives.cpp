#include "models/step/memory/stated_lives.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "sim/trace/trace.h"

namespace tandem {
namespace {

/// When each operation of the flow has begun, or one before it: what runs on another thread may
/// begin earlier than what was launched before.
std::vector<TimePoint> begins_of(const Step& step, const Dataflow& flow) {
  std::vector<TimePoint> begins;
  begins.reserve(flow.ops.size());
  for (const FlowOp& op : flow.ops) {
    const TimePoint begin = step.trace.ops.begin[op.op];
    begins.push_back(begins.empty() ? begin : std::max(begins.back(), begin));
  }
  return begins;
}

/// Tensors that lie there one after the other, as they are made: where a layer runs again, its own
/// result and then that of the second run.
using TensorsByStorage = std::unordered_map<std::uint32_t, std::vector<std::uint32_t>>;

TensorsByStorage tensors_by_storage(const Dataflow& flow) {
  TensorsByStorage out;
  std::vector<std::uint32_t> first(flow.tensors.size());  // of those that repeat one
  std::iota(first.begin(), first.end(), 0);
  for (const FlowOp& op : flow.ops) {
    if (op.repeats == no_row) continue;
    const auto results = flow.outputs_of(op), own = flow.outputs_of(flow.ops[op.repeats]);
    for (std::size_t k = 0; k < results.size(); ++k) first[results[k]] = own[k];
  }
  for (std::uint32_t t = 0; t < flow.tensors.size(); ++t) {
    const TensorMemory& memory = flow.tensors[first[t]].memory;
    if (memory.known()) out[memory.storage].push_back(t);
  }
  return out;
}

/// Of these, what lies there behind operation `until`; no_row: nothing yet.
std::uint32_t last_made(const Dataflow& flow, const std::vector<std::uint32_t>& tensors,
                        std::uint32_t until) {
  const auto it = std::find_if(tensors.rbegin(), tensors.rend(), [&](std::uint32_t t) {
    const std::uint32_t producer = flow.tensors[t].producer;
    return producer == no_row || producer <= until;
  });
  return it == tensors.rend() ? no_row : *it;
}

}  // namespace

std::optional<std::vector<HeldTensor>> stated_lives(const Step& step, const Dataflow& flow) {
  const Trace& trace = step.trace;
  std::optional<std::vector<HeldTensor>> out;
  std::vector<TimePoint> begins;
  TensorsByStorage tensors;
  for (std::uint32_t row = 0; row < trace.ops.size(); ++row) {
    const std::vector<TensorShape>& dropped = operands_of(trace, row).dropped;
    if (dropped.empty()) continue;
    if (!out) {
      out.emplace();
      begins = begins_of(step, flow);
      tensors = tensors_by_storage(flow);
    }
    const auto next = std::upper_bound(begins.begin(), begins.end(), trace.ops.begin[row]);
    if (next == begins.begin()) continue;
    const auto until = static_cast<std::uint32_t>(next - begins.begin()) - 1;
    for (const TensorShape& shape : dropped) {
      const std::uint32_t held = last_made(flow, tensors[shape.memory.storage], until);
      if (held != no_row) out->push_back({held, until});
    }
  }
  return out;
}

}  // namespace tandem
