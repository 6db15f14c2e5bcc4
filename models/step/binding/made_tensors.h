// The tensors that the operations of a step made, by their size and type.
#pragma once

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "models/step/binding/hidden_tensors.h"
#include "models/step/dataflow.h"
#include "sim/core/tensors/data_type.h"
#include "sim/core/tensors/operands.h"

namespace tandem {

/// Without those that a dimension of stride 0 repeats.
std::int64_t distinct_elements(const TensorShape& shape);
/// What lies in memory of a tensor that a dimension of stride 0 repeats: that dimension has one
/// element.
TensorShape stored_shape(TensorShape shape);
/// Whether the strides are those of a part of a larger tensor.
bool is_slice(const TensorShape& shape);
/// Elements of the tensor that a slice is a part of: its longest stride steps over whole rows.
std::int64_t whole_elements(const TensorShape& slice);

/// Indices of Dataflow::tensors, the latest last.
using Candidates = std::vector<std::uint32_t>;

/// The tensors that were made so far, by (elements, type), the latest last.
class MadeTensors {
 public:
  explicit MadeTensors(Dataflow& flow) : flow_(flow) {}

  Candidates& known(std::int64_t elements, DataType type) {
    return by_key_[static_cast<std::uint64_t>(elements) << 5U | static_cast<std::uint64_t>(type)];
  }

  std::uint32_t add(std::int64_t elements, DataType type, std::uint32_t producer,
                    TensorMemory memory = {}) {
    const auto t = static_cast<std::uint32_t>(flow_.tensors.size());
    flow_.tensors.push_back({elements, type, producer, 0, memory});
    if (producer == no_row) return t;
    if (memory.known()) by_storage_[memory.storage].push_back(t);
    if (elements > 0) {
      known(elements, type).push_back(t);
    } else {
      unshaped_.push_back(t);
    }
    return t;
  }

  /// Tensors of that type in the memory, and copies of them; where there are none of that type, of
  /// any, but not of a parameter, which was there before the step.
  Candidates in_memory(TensorMemory memory, DataType type) const {
    const auto at = by_storage_.find(memory.storage);
    if (at == by_storage_.end()) return {};
    Candidates same;
    for (const std::uint32_t t : at->second) {
      if (flow_.tensors[t].type == type) same.push_back(t);
    }
    if (same.empty() && memory.made_in_step()) return at->second;
    return same;
  }

  /// What is joined of parts whose types the trace does not tell: its first reader does.
  std::uint32_t add_untyped(std::int64_t elements, std::uint32_t producer) {
    const auto t = static_cast<std::uint32_t>(flow_.tensors.size());
    flow_.tensors.push_back({elements, DataType::unknown, producer, 0});
    untyped_[elements] = t;
    return t;
  }

  /// The latest such tensor, if it was made after `found` (no_row: nothing was found).
  std::uint32_t type_given(const TensorShape& shape, std::uint32_t found) {
    const auto waits = untyped_.find(distinct_elements(shape));
    if (waits == untyped_.end() || (found != no_row && waits->second < found)) return found;
    const std::uint32_t t = waits->second;
    untyped_.erase(waits);
    flow_.tensors[t].type = shape.type;
    known(distinct_elements(shape), shape.type).push_back(t);
    return t;
  }

  /// Of the latest tensor with that many elements that `op` may have meant; unknown where there is
  /// none.
  DataType latest_type(std::int64_t elements, const HiddenTensors& hidden, const FlowOp& op) {
    DataType found = DataType::unknown;
    std::uint32_t latest = 0;
    for (const DataType type : stored_types) {
      const Candidates& list = known(elements, type);
      const auto seen = std::find_if(list.rbegin(), list.rend(),
                                     [&](std::uint32_t t) { return !hidden.from(t, op, false); });
      if (seen == list.rend() || (found != DataType::unknown && *seen < latest)) continue;
      found = type, latest = *seen;
    }
    return found;
  }

  /// Whether an output made after `tensor` has no shape yet.
  bool waits_since(std::uint32_t tensor) const {
    return !unshaped_.empty() && unshaped_.back() > tensor;
  }

  /// An output whose shape the trace does not tell gets that of the next operand without a maker.
  std::uint32_t shape_given(const TensorShape& shape) {
    if (unshaped_.empty()) return no_row;
    const std::uint32_t t = unshaped_.back();
    if (flow_.tensors[t].type != shape.type) return no_row;
    unshaped_.pop_back();
    flow_.tensors[t].elements = distinct_elements(shape);
    known(distinct_elements(shape), shape.type).push_back(t);
    return t;
  }

 private:
  Dataflow& flow_;
  std::unordered_map<std::uint64_t, Candidates> by_key_;
  std::unordered_map<std::uint32_t, Candidates> by_storage_;
  std::unordered_map<std::int64_t, std::uint32_t> untyped_;  // by elements: the latest
  Candidates unshaped_;
};

/// A trace tells the shapes of a list's members, not their types. What is joined has one type: the
/// widest of the members that the step made. What slices (the halves of rotary positions) are
/// parts of may have another type by then.
OpTensors with_types(OpTensors tensors, MadeTensors& made, const HiddenTensors& hidden,
                     const FlowOp& op);

}  // namespace tandem
