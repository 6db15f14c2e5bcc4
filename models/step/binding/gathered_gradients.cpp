#include "models/step/binding/gathered_gradients.h"

#include <algorithm>

#include "models/step/binding/node_operands.h"

namespace tandem {

void GatheredGradients::leave(std::uint32_t i) {
  const FlowOp& op = flow_.ops[i];
  if (op.sequence < 0) return;
  if (runs_forward(op)) leave_forward(op);
  if (runs_backward(op)) leave_backward(op);
}

void GatheredGradients::leave_forward(const FlowOp& op) {
  for (const std::uint32_t t : flow_.outputs_of(op)) results_[op.sequence].push_back(t);
  for (const FlowUse& use : flow_.inputs_of(op)) {
    ++readers_[use.tensor];
    if (flow_.tensors[use.tensor].producer == no_row || use.part > 0) continue;
    operands_[op.sequence].push_back(use.tensor);
    if (!op.row->is(adds_gradients)) continue;
    for (const std::uint32_t sum : flow_.outputs_of(op)) {
      if (look_alike(flow_.tensors[sum], flow_.tensors[use.tensor]))
        sums_[use.tensor].push_back(sum);
    }
  }
}

void GatheredGradients::enter_node(const FlowOp& op) {
  for (const auto& [tensor, gradient] : made_) gradient_of_[tensor] = gradient;
  made_.clear();
  node_ = op.root;
  const auto results = results_.find(op.sequence);
  if (results == results_.end() || op.input_count == 0) return;
  const std::uint32_t given = flow_.inputs_of(op)[0].tensor;
  for (const std::uint32_t t : results->second) {
    if (!look_alike(flow_.tensors[t], flow_.tensors[given])) continue;
    gradient_of_.try_emplace(t, given);
    // What went into a sum alone has the sum's gradient.
    const auto sums = sums_.find(t);
    if (sums != sums_.end() && readers_[t] == 1) gradient_of_.try_emplace(sums->second[0], given);
  }
}

void GatheredGradients::leave_backward(const FlowOp& op) {
  if (op.root != node_) enter_node(op);
  const bool adds_up = accumulates(flow_, op);
  for (const std::uint32_t result : flow_.outputs_of(op)) {
    if (adds_up) {
      hand_over(op, result);
      continue;
    }
    const std::uint32_t tensor = read_forward(op, result);
    if (tensor != no_row) made_.emplace_back(tensor, result);
  }
}

void GatheredGradients::hand_over(const FlowOp& op, std::uint32_t sum) {
  for (auto& [tensor, gradient] : made_) {
    if (reads(flow_, op, gradient)) gradient = sum;
  }
}

std::uint32_t GatheredGradients::read_forward(const FlowOp& op, std::uint32_t gradient) const {
  const auto operands = operands_.find(op.sequence);
  if (operands == operands_.end()) return no_row;
  for (const std::uint32_t t : operands->second) {
    // By what it multiplies is the other factor.
    if (op.row->is(multiplies) && reads(flow_, op, t)) continue;
    if (look_alike(flow_.tensors[t], flow_.tensors[gradient])) return t;
  }
  return no_row;
}

std::uint32_t GatheredGradients::gathered(std::uint32_t tensor) const {
  constexpr int most_sums = 8;
  for (int i = 0; i < most_sums; ++i) {
    const auto own = gradient_of_.find(tensor);
    if (own != gradient_of_.end()) return own->second;
    const auto sums = sums_.find(tensor);
    if (sums == sums_.end()) return no_row;
    tensor = sums->second.back();
  }
  return no_row;
}

std::uint32_t GatheredGradients::met_by(const FlowOp& op, std::uint32_t made) const {
  const auto own = std::find_if(made_.rbegin(), made_.rend(),
                                [&](const auto& pair) { return pair.second == made; });
  if (op.root != node_ || own == made_.rend()) return no_row;
  const std::uint32_t met = gathered(own->first);
  if (met == no_row || met == made) return no_row;
  return look_alike(flow_.tensors[met], flow_.tensors[made]) ? met : no_row;
}

}  // namespace tandem
