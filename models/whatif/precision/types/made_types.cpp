#include "models/whatif/precision/types/made_types.h"

#include <algorithm>

#include "models/step/binding/made_tensors.h"

namespace tandem {

bool MadeTypes::made_in_half(std::uint32_t i, std::int64_t elements) const {
  for (std::uint32_t k = 0; k < i; ++k) {
    if (flow_.ops[k].phase != FlowPhase::forward) continue;
    for (const std::uint32_t t : flow_.outputs_of(flow_.ops[k])) {
      if (flow_.tensors[t].elements == elements && is_half(change_.tensors[t])) return true;
    }
  }
  return false;
}

DataType MadeTypes::nearby(std::uint32_t i, std::int64_t elements) const {
  constexpr std::uint32_t look_back = 24;
  constexpr std::int64_t parts = 4;
  const FlowPhase phase = flow_.ops[i].phase;
  for (std::uint32_t k = i; k-- > (i > look_back ? i - look_back : 0);) {
    if (flow_.ops[k].phase != phase) continue;
    for (const std::uint32_t t : flow_.outputs_of(flow_.ops[k])) {
      const std::int64_t n = flow_.tensors[t].elements;
      if (n <= 0 || !is_autocast_type(change_.tensors[t])) continue;
      const std::int64_t large = std::max(n, elements), small = std::min(n, elements);
      if (large % small == 0 && large / small <= parts) return change_.tensors[t];
    }
  }
  return DataType::unknown;
}

DataType MadeTypes::latest(std::uint32_t i, std::int64_t elements) const {
  constexpr std::uint32_t look_back = 64;
  for (std::uint32_t k = i; k-- > (i > look_back ? i - look_back : 0);) {
    if (flow_.ops[k].phase != FlowPhase::forward) continue;
    for (const std::uint32_t t : flow_.outputs_of(flow_.ops[k])) {
      if (flow_.tensors[t].elements == elements) return change_.tensors[t];
    }
  }
  return DataType::unknown;
}

DataType MadeTypes::of_whole(std::uint32_t i, TimePoint at, const TensorShape* part) const {
  constexpr int nested = 4;
  const TensorShape* shape = part;
  for (int cut = 0; cut < nested && shape != nullptr; ++cut) {
    const CutViews::Whole* whole = cuts_.whole_of(at, *shape);
    if (whole == nullptr) break;
    const DataType made = latest(i, whole->shape.elements());
    if (made != DataType::unknown) return made;
    at = whole->at, shape = &whole->shape;
  }
  return DataType::unknown;
}

DataType MadeTypes::of_parts(const Trace& trace, std::uint32_t i) const {
  const FlowOp& op = flow_.ops[i];
  if (!concatenates(op)) return DataType::unknown;
  const auto& shapes = operands_of(trace, op.op).tensors.shapes;
  const auto inputs = flow_.inputs_of(op);
  if (inputs.empty() || shapes.size() != inputs.size()) return DataType::unknown;
  DataType widest = DataType::unknown;
  for (std::size_t k = 0; k < inputs.size(); ++k) {
    if (flow_.tensors[inputs[k].tensor].type != DataType::unknown) return DataType::unknown;
    const DataType type = is_slice(shapes[k]) ? of_whole(i, trace.ops.begin[op.op], &shapes[k])
                                              : latest(i, shapes[k].elements());
    if (!is_autocast_type(type)) return DataType::unknown;
    if (element_bytes(type) > element_bytes(widest)) widest = type;
  }
  return widest;
}

DataType MadeTypes::rows_of_latest(std::uint32_t i, const TensorShape& part) const {
  if (part.rank < 2) return DataType::unknown;
  const std::int64_t elements = part.elements();
  const std::int64_t width = std::max<std::int64_t>(1, part.dims[part.rank - 1]);
  std::uint32_t latest = i;
  do {
    if (latest == 0) return DataType::unknown;
    --latest;
  } while (flow_.ops[latest].phase != FlowPhase::forward);
  for (const std::uint32_t t : flow_.outputs_of(flow_.ops[latest])) {
    const std::int64_t n = flow_.tensors[t].elements;
    if (n % width == 0 && elements < n && elements >= n / 2) return change_.tensors[t];
  }
  return DataType::unknown;
}

}  // namespace tandem
