#include "models/whatif/compile/written_attention.h"

#include <algorithm>
#include <optional>

#include "models/whatif/compile/library.h"
#include "models/whatif/compile/recomputed.h"

namespace tandem {
namespace {

constexpr std::uint8_t rank_of_heads = 4, rank_of_products = 3;

/// The chain of operations around a softmax: each makes what only the next one reads.
class WrittenChain {
 public:
  WrittenChain(const Step& step, const Dataflow& flow, const std::vector<FuseRole>& roles)
      : step_(step), flow_(flow), roles_(roles), readers_(flow.tensors.size()) {
    for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
      if (roles[i] == FuseRole::vanishes) continue;
      for (const FlowUse& use : flow.inputs_of(flow.ops[i])) readers_[use.tensor].push_back(i);
    }
  }

  /// The attention whose softmax is operation `softmax`; what lies between its products is added
  /// to `between`.
  std::optional<WrittenAttention> around(std::uint32_t softmax,
                                         std::vector<std::uint32_t>& between) const {
    const TensorShape* x = operands_of(step_.trace, flow_.ops[softmax].op).tensors.at(0);
    if (x == nullptr) return {};
    std::vector<std::uint32_t> passed{softmax};
    bool divided = false;
    std::uint32_t before = maker(softmax);
    while (before != no_row && passes(before)) {
      divided |= flow_.ops[before].row->is(divides);
      passed.push_back(before);
      before = maker(before);
    }
    std::uint32_t after = reader(softmax);
    while (after != no_row && flow_.ops[after].kind == OpKind::cast) {
      passed.push_back(after);
      after = reader(after);
    }
    if (before == no_row || after == no_row) return {};
    if (x->rank != (divided ? rank_of_heads : rank_of_products)) return {};
    auto found = of_products(before, after);
    if (found) between.insert(between.end(), passed.begin(), passed.end());
    return found;
  }

 private:
  /// A cast, or a division by a number.
  bool passes(std::uint32_t i) const {
    const FlowOp& op = flow_.ops[i];
    if (op.input_count != 1 || op.row == nullptr) return false;
    return op.kind == OpKind::cast || (op.row->is(divides) && op.kind == OpKind::pointwise);
  }

  /// What makes the first operand of `i`, for it alone.
  std::uint32_t maker(std::uint32_t i) const {
    const auto inputs = flow_.inputs_of(flow_.ops[i]);
    if (inputs.empty() || readers_[inputs[0].tensor].size() != 1) return no_row;
    return flow_.tensors[inputs[0].tensor].producer;
  }

  /// The only operation that reads what `i` makes.
  std::uint32_t reader(std::uint32_t i) const {
    const auto outputs = flow_.outputs_of(flow_.ops[i]);
    if (outputs.size() != 1 || readers_[outputs[0]].size() != 1) return no_row;
    return readers_[outputs[0]].front();
  }

  std::optional<WrittenAttention> of_products(std::uint32_t scores, std::uint32_t results) const {
    const FlowOp &first = flow_.ops[scores], &second = flow_.ops[results];
    if (!is_product(first) || !is_product(second)) return {};
    const auto p = product_operands(context_of(step_.trace, first));
    const auto r = product_operands(context_of(step_.trace, second));
    if (!p || !r || p->batch < 2 || p->batch != r->batch || p->rows != r->rows ||
        p->columns != r->inner || p->inner != r->columns) {
      return {};
    }
    const DataType type = p->left.type;
    const bool in_tf32 = type == DataType::fp32 && uses_tf32(step_, flow_, first);
    if (!is_half(type) && !in_tf32) return {};
    return WrittenAttention{
        scores,
        results,
        {.heads = p->batch, .queries = p->rows, .keys = p->columns, .width = p->inner},
        type};
  }

  bool is_product(const FlowOp& op) const {
    return op.kind == OpKind::matmul && op.row->is(batched) &&
           roles_[flow_.place_of(op)] == FuseRole::library;
  }

  const Step& step_;
  const Dataflow& flow_;
  const std::vector<FuseRole>& roles_;
  TensorReaders readers_;  // but those that vanish
};

bool is_softmax_of_rows(const Step& step, const FlowOp& op) {
  return op.phase == FlowPhase::forward && op.in_model && is_row_softmax(step, op);
}

/// The operation whose values `i` reads, casts and dropout aside.
std::uint32_t origin_of(const Dataflow& flow, std::uint32_t i) {
  const auto made_by = [&](std::uint32_t op) {
    const auto inputs = flow.inputs_of(flow.ops[op]);
    return inputs.empty() ? no_row : flow.tensors[inputs[0].tensor].producer;
  };
  std::uint32_t maker = made_by(i);
  while (maker != no_row &&
         (flow.ops[maker].kind == OpKind::cast || flow.ops[maker].kind == OpKind::dropout)) {
    maker = made_by(maker);
  }
  return maker;
}

}  // namespace

std::vector<WrittenAttention> take_written_attention(const Step& step, const Dataflow& flow,
                                                     std::vector<FuseRole>& roles) {
  std::vector<WrittenAttention> found;
  if (flow.trains()) return found;
  const WrittenChain chain(step, flow, roles);
  std::vector<std::uint32_t> between;
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    if (roles[i] != FuseRole::row || !is_softmax_of_rows(step, flow.ops[i])) continue;
    if (auto one = chain.around(i, between)) found.push_back(*std::move(one));
  }
  for (const std::uint32_t i : between) roles[i] = FuseRole::vanishes;
  return found;
}

void drop_unread_weights(const Step& step, const Dataflow& flow, std::vector<FuseRole>& roles) {
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (roles[i] == FuseRole::outside || op.kind != OpKind::reduction ||
        op.phase != FlowPhase::forward || op.input_count != 1) {
      continue;
    }
    const auto outputs = flow.outputs_of(op);
    const bool read = std::any_of(outputs.begin(), outputs.end(),
                                  [&](std::uint32_t t) { return flow.tensors[t].consumers > 0; });
    const std::uint32_t maker = origin_of(flow, i);
    if (read || maker == no_row || !is_softmax_of_rows(step, flow.ops[maker])) continue;
    const TensorShape* weights = operands_of(step.trace, op.op).tensors.at(0);
    if (weights != nullptr && weights->rank == rank_of_heads) roles[i] = FuseRole::vanishes;
  }
}

}  // namespace tandem
