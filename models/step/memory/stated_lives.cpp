#include "models/step/memory/stated_lives.h"

#include <algorithm>
#include <unordered_map>

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

std::unordered_map<std::uint32_t, std::uint32_t> tensors_by_storage(const Dataflow& flow) {
  std::unordered_map<std::uint32_t, std::uint32_t> out;
  for (std::uint32_t t = 0; t < flow.tensors.size(); ++t) {
    if (flow.tensors[t].memory.known()) out[flow.tensors[t].memory.storage] = t;
  }
  return out;
}

}  // namespace

std::optional<std::vector<HeldTensor>> stated_lives(const Step& step, const Dataflow& flow) {
  const Trace& trace = step.trace;
  std::optional<std::vector<HeldTensor>> out;
  std::vector<TimePoint> begins;
  std::unordered_map<std::uint32_t, std::uint32_t> tensors;
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
      const auto held = tensors.find(shape.memory.storage);
      if (held != tensors.end()) out->push_back({held->second, until});
    }
  }
  return out;
}

}  // namespace tandem
