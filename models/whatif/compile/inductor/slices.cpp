#include "models/whatif/compile/inductor/slices.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/core/units.h"

namespace tandem {
namespace {

/// A slice that an operation reads.
struct Slice {
  std::uint32_t op = 0;
  const TensorShape* shape = nullptr;
  std::int64_t elements = 0;  // in sectors that hold some of it
};

/// Elements that lie side by side in memory.
std::int64_t run_elements(const TensorShape& shape) {
  std::int64_t run = 1;
  for (std::size_t d = 0; d < shape.rank;) {
    const bool follows = shape.dims[d] > 1 && shape.strides[d] == run;
    if (follows) run *= shape.dims[d];
    d = follows ? 0 : d + 1;  // dimensions lie in any order
  }
  return run;
}

/// Those in the sectors that `part` elements of the operand lie in.
std::int64_t fetched(const TensorShape& shape, std::int64_t part, DataType type) {
  const std::int64_t run = run_elements(shape);
  const auto sector = static_cast<std::int64_t>(sector_bytes) / std::max(1, element_bytes(type));
  const std::int64_t whole = (run + sector - 1) / sector * sector;
  return part / std::max<std::int64_t>(1, run) * whole;
}

/// Whether all dimensions but one are those of the other, of which that one is a part.
bool is_part_of(const TensorShape& part, const TensorShape& of) {
  if (part.rank != of.rank || part.strides != of.strides) return false;
  std::size_t shorter = 0;
  for (std::size_t d = 0; d < part.rank; ++d) {
    if (part.dims[d] == of.dims[d]) continue;
    if (part.dims[d] == 0 || of.dims[d] % part.dims[d] != 0) return false;
    ++shorter;
  }
  return shorter == 1;
}

bool holds(const KernelOps& kernel, std::uint32_t op) {
  return op != no_row && std::binary_search(kernel.ops.begin(), kernel.ops.end(), op);
}

/// Whether the operation follows from sums over what `first` reads.
bool scales_rows(const Dataflow& flow, const KernelOps& kernel, std::uint32_t op,
                 std::uint32_t first) {
  std::set<std::pair<std::uint32_t, bool>> seen;
  std::vector<std::pair<std::uint32_t, bool>> open{{op, false}};
  while (!open.empty()) {
    const auto [at, summed] = open.back();
    open.pop_back();
    if (at == first && summed) return true;
    for (const FlowUse& use : flow.inputs_of(flow.ops[at])) {
      const std::uint32_t maker = flow.tensors[kernel.alias[use.tensor]].producer;
      if (!holds(kernel, maker)) continue;
      const std::pair next{maker, summed || kernel.sums_rows[maker]};
      if (seen.insert(next).second) open.push_back(next);
    }
  }
  return false;
}

}  // namespace

std::int64_t read_elements(const Trace& trace, const Dataflow& flow, const KernelOps& kernel,
                           std::uint32_t tensor) {
  const FlowTensor& whole = flow.tensors[tensor];
  std::vector<Slice> parts;
  for (const std::uint32_t i : kernel.ops) {
    for (const FlowUse& use : flow.inputs_of(flow.ops[i])) {
      if (kernel.alias[use.tensor] != tensor) continue;
      const TensorShape* shape = operands_of(trace, flow.ops[i].op).tensors.at(use.argument);
      if (use.part == 0 || shape == nullptr) return whole.elements;
      parts.push_back({i, shape, fetched(*shape, use.part, whole.type)});
    }
  }
  std::int64_t sum = 0;
  for (const Slice& part : parts) {
    const bool known = std::any_of(parts.begin(), parts.end(), [&](const Slice& other) {
      if (is_part_of(*part.shape, *other.shape)) return true;
      const bool alike = other.op < part.op && *other.shape == *part.shape;
      return alike && scales_rows(flow, kernel, part.op, other.op);
    });
    if (!known) sum += part.elements;
  }
  return std::min(sum, whole.elements);
}

}  // namespace tandem
