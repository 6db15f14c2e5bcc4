#include "models/whatif/precision/layout.h"

#include <array>

namespace tandem {
namespace {

using Strides = std::array<std::int64_t, 4>;

/// Of a contiguous tensor with these dimensions.
Strides contiguous(const TensorShape& shape) {
  Strides out{};
  std::int64_t step = 1;
  for (std::size_t i = 4; i-- > 0;) {
    out[i] = step;
    step *= shape.dims[i];
  }
  return out;
}

bool same_type_copy(const Dataflow& flow, const FlowOp& op, const OpTensors& copy) {
  if (op.kind != OpKind::cast) return false;
  const TensorShape* to = copy.at(0);
  const TensorShape* from = copy.at(1);
  return to != nullptr && from != nullptr && to->type == from->type && !flow.works_of(op).empty();
}

/// A copy of the result, its dimensions exchanged, to where a result laid out as the query lies
/// already.
bool copies_to_query_layout(const OpTensors& copy, const TensorShape& query) {
  const TensorShape &to = *copy.at(0), &from = *copy.at(1);
  if (from.rank != 4 || to.rank != 4 || !states_strides(from) || !states_strides(to)) return false;
  const Strides native = contiguous(query);
  for (std::size_t i = 0; i < 4; ++i) {
    bool found = false;
    for (std::size_t d = 0; d < 4 && !found; ++d) {
      found = from.dims[i] == query.dims[d] && from.strides[i] == native[d] &&
              to.strides[i] == query.strides[d];
    }
    if (!found) return false;
  }
  return true;
}

}  // namespace

std::vector<std::uint32_t> mending_copies(const Trace& trace, const Dataflow& flow,
                                          std::uint32_t index) {
  std::vector<std::uint32_t> out;
  const FlowOp& attention = flow.ops[index];
  const bool backward = attention.kind == OpKind::attention_backward;
  // A backward pass reads the gradient of its result first.
  const TensorShape* query = operands_of(trace, attention.op).tensors.at(backward ? 1 : 0);
  if (query == nullptr || query->rank != 4 || !states_strides(*query) || is_contiguous(*query)) {
    return out;
  }
  // The kernels of one attention call share the outermost operation.
  std::uint32_t next = index + 1;
  while (next < flow.ops.size() && flow.ops[next].root == attention.root) ++next;
  for (; next < flow.ops.size(); ++next) {
    const FlowOp& op = flow.ops[next];
    const OpTensors& copy = operands_of(trace, op.op).tensors;
    if (!same_type_copy(flow, op, copy) || copy.at(1)->elements() != query->elements()) break;
    // Gradients of queries, keys and values pass through views, and views that do not fit copy.
    if (!backward && !copies_to_query_layout(copy, *query)) break;
    out.push_back(next);
    if (!backward) break;
  }
  return out;
}

}  // namespace tandem
