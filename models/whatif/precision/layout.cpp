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

struct Copied {
  const TensorShape *from = nullptr, *to = nullptr;
};

/// aten::copy_ (to, from), or aten::clone (from), whose result networks state.
Copied copied_by(const Operands& operands) {
  const OpTensors& tensors = operands.tensors;
  if (tensors.at(1) != nullptr) return {tensors.at(1), tensors.at(0)};
  return {tensors.at(0), operands.made.empty() ? nullptr : &operands.made[0]};
}

bool same_type_copy(const Dataflow& flow, const FlowOp& op, const Copied& copy) {
  if (op.kind != OpKind::cast || copy.to == nullptr || copy.from == nullptr) return false;
  return copy.to->type == copy.from->type && !flow.works_of(op).empty();
}

/// A copy of the result, its dimensions exchanged, to where a result laid out as the query lies
/// already.
bool copies_to_query_layout(const Copied& copy, const TensorShape& query) {
  const TensorShape &to = *copy.to, &from = *copy.from;
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

/// The first operation behind those of the call that `index` is part of; their number if none is.
/// The kernels of one attention call share the outermost operation.
std::uint32_t behind_call(const Dataflow& flow, std::uint32_t index) {
  std::uint32_t next = index + 1;
  while (next < flow.ops.size() && flow.ops[next].root == flow.ops[index].root) ++next;
  return next;
}

bool copies(const Dataflow& flow, std::uint32_t index, std::int64_t elements) {
  if (index >= flow.ops.size()) return false;
  const FlowOp& op = flow.ops[index];
  if (op.kind != OpKind::cast || op.output_count == 0) return false;
  return flow.tensors[flow.outputs_of(op)[0]].elements == elements;
}

}  // namespace

std::int64_t turned_result(const Trace& trace, const Dataflow& flow, std::uint32_t index) {
  const FlowOp& attention = flow.ops[index];
  const TensorShape* query = operands_of(trace, attention.op).tensors.at(0);
  if (attention.kind != OpKind::attention || query == nullptr || query->rank != 4) return 0;
  const bool apart = query->dims[1] > 1 && query->dims[2] > 1;  // heads, queries
  const bool turned = apart && states_strides(*query) && is_contiguous(*query);
  if (!turned || copies(flow, behind_call(flow, index), query->elements())) return 0;
  return query->elements();
}

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
  for (std::uint32_t next = behind_call(flow, index); next < flow.ops.size(); ++next) {
    const FlowOp& op = flow.ops[next];
    const Copied copy = copied_by(operands_of(trace, op.op));
    if (!same_type_copy(flow, op, copy) || copy.from->elements() != query->elements()) break;
    // Gradients of queries, keys and values pass through views, and views that do not fit copy.
    if (!backward && !copies_to_query_layout(copy, *query)) break;
    out.push_back(next);
    if (!backward) break;
  }
  return out;
}

}  // namespace tandem
