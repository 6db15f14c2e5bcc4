#include "models/step/binding/repeated_reads.h"

#include <utility>

#include "models/step/binding/graph_tensors.h"

namespace tandem {

void RepeatedReads::see(const FlowOp& op, std::uint32_t row, const FusedName& name,
                        const Shapes& operands, std::vector<std::uint32_t> inputs) {
  if (op.phase != FlowPhase::backward || op.input_count < 2) return;
  const std::int64_t full = operands[0].elements();
  const bool sums = operands.back().elements() < full;
  if (sums && operands[1].elements() >= full && name.reduces) {
    reduction_ = {operands, std::move(inputs), row};
  } else if (!sums && name.norm_gradient) {
    norm_ = {operands, std::move(inputs), row};
  }
}

/// Per operand: which input of `before` has its dimensions and type, or no_row.
std::vector<std::uint32_t> RepeatedReads::like_inputs(const Reader& before,
                                                      const Shapes& operands) {
  std::vector<std::uint32_t> like(operands.size(), no_row);
  for (std::size_t k = 0; k < before.operands.size(); ++k) {
    if (before.inputs[k] == no_row) continue;
    for (std::size_t i = 0; i + 1 < operands.size(); ++i) {
      if (like[i] != no_row || !alike(operands[i], before.operands[k])) continue;
      like[i] = before.inputs[k];
      break;
    }
  }
  return like;
}

std::vector<std::uint32_t> RepeatedReads::of(const FlowOp& op, std::uint32_t row,
                                             const FusedName& name, const Shapes& operands) const {
  constexpr std::uint32_t between = 4;  // sums of parts, and what becomes of parameters
  if (op.phase != FlowPhase::backward) return {};
  const bool reduction = name.reduces;
  const bool sums =
      reduction && name.norm_gradient && operands.back().elements() < operands[0].elements();
  if (!sums && reduction) return {};
  const Reader& before = sums ? norm_ : reduction_;
  if (before.op == no_row || row - before.op > between) return {};
  if (operands.size() > most_operands || before.operands.size() > most_operands) return {};
  const std::vector<std::uint32_t> like = like_inputs(before, operands);
  const Shapes& all = sums ? operands : before.operands;
  std::ptrdiff_t wanted = 0, found = 0;
  for (std::size_t k = 0; k < all.size(); ++k) {
    const bool read = sums || before.inputs[k] != no_row;
    wanted += read && all[k].elements() >= all[0].elements();
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    found += like[i] != no_row && operands[i].elements() >= all[0].elements();
  }
  if (wanted < 2 || found < wanted) return {};
  return like;
}

}  // namespace tandem
