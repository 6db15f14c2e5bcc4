#include "models/whatif/compile/masks/plain_pictures.h"

#include <algorithm>

#include "models/step/attention_calls.h"

namespace tandem {
namespace {

/// Looks for what encoders have that are not masked. Operations in the order of the program.
class PictureEncoder {
 public:
  PictureEncoder(const Trace& trace, const Dataflow& flow, const std::vector<bool>& of_signals,
                 const std::vector<bool>& of_tokens)
      : trace_(trace),
        flow_(flow),
        of_signals_(of_signals),
        of_tokens_(of_tokens),
        beside_tokens_(std::find(of_tokens.begin(), of_tokens.end(), true) != of_tokens.end()),
        attended_(flow.tensors.size(), false),
        looked_up_(flow.tensors.size(), false) {}

  bool plain() {
    for (const FlowOp& op : flow_.ops) {
      if (op.phase != FlowPhase::forward || !op.in_model || is_of_tokens(op)) continue;
      if (has_other_part(op)) return false;
      mark(op);
    }
    return pictures_ && attends_ && (joins_ || !(clips_ || beside_tokens_));
  }

 private:
  /// The operation that made an operand, whatever its type was turned into on the way.
  const FlowOp* maker(const FlowUse& use) const {
    std::uint32_t made = flow_.tensors[use.tensor].producer;
    while (made != no_row && flow_.ops[made].kind == OpKind::cast &&
           flow_.ops[made].input_count > 0) {
      made = flow_.tensors[flow_.inputs_of(flow_.ops[made])[0].tensor].producer;
    }
    return made == no_row ? nullptr : &flow_.ops[made];
  }

  bool made_by(const FlowUse& use, OpKind kind) const {
    const FlowOp* op = maker(use);
    return op != nullptr && op->kind == kind;
  }

  bool is_of_tokens(const FlowOp& op) const {
    const auto made = flow_.outputs_of(op);
    return std::any_of(made.begin(), made.end(), [&](std::uint32_t t) { return of_tokens_[t]; });
  }

  bool has_other_part(const FlowOp& op) const {
    const auto inputs = flow_.inputs_of(op);
    if (inputs.empty() || op.row == nullptr) return false;
    switch (op.kind) {
      case OpKind::row_norm: return made_by(inputs[0], OpKind::row_norm);
      case OpKind::convolution: return reads_any(flow_, op, attended_) || is_of_lines(op);
      case OpKind::attention: return turns_queries(op);
      default: break;
    }
    if (concatenates(op)) return joins_behind(op);
    // Beside tokens, places may be theirs, unless pictures are added to them.
    const bool placed = beside_tokens_
                            ? reads_any(flow_, op, looked_up_) && reads_any(flow_, op, of_signals_)
                            : looks_up(op);
    return scales_columns(op) || placed;
  }

  /// Whether a convolution is of more dimensions than pictures have.
  bool is_of_clips(const FlowOp& op) const {
    const TensorShape* x = operands_of(trace_, op.op).tensors.at(0);
    return x != nullptr && x->rank > image_rank;
  }

  bool is_of_lines(const FlowOp& op) const {
    return operands_of(trace_, op.op).tensors.at(0) != nullptr && !is_of_clips(op) &&
           !of_pictures(trace_, flow_, op, 0);
  }

  bool turns_queries(const FlowOp& op) const {
    const std::uint8_t query = op.row->arguments.at(ArgumentName::query);
    const auto inputs = flow_.inputs_of(op);
    return std::any_of(inputs.begin(), inputs.end(), [&](const FlowUse& use) {
      return use.argument == query && !made_by(use, OpKind::matmul);
    });
  }

  /// Parameters behind what was made of pictures.
  bool joins_behind(const FlowOp& op) const {
    const auto inputs = flow_.inputs_of(op);
    return of_signals_[inputs.front().tensor] || !of_signals_[inputs.back().tensor];
  }

  /// What a product made, by a vector that the step has not made.
  bool scales_columns(const FlowOp& op) const {
    const auto inputs = flow_.inputs_of(op);
    if (!op.row->is(multiplies) || inputs.size() != 2) return false;
    const auto is_vector = [&](const FlowUse& use) {
      const TensorShape* x = operands_of(trace_, op.op).tensors.at(use.argument);
      return x != nullptr && x->rank == 1 && maker(use) == nullptr;
    };
    return (made_by(inputs[0], OpKind::matmul) && is_vector(inputs[1])) ||
           (made_by(inputs[1], OpKind::matmul) && is_vector(inputs[0]));
  }

  /// Places of a table of positions.
  bool looks_up(const FlowOp& op) const {
    const auto of_table = [](const OpRow& row) { return row.layer == Layer::embedding; };
    return enclosing(trace_, flow_.nesting, op.op, of_table) != no_row;
  }

  void mark(const FlowOp& op) {
    const bool attends = op.kind == OpKind::attention, convolves = op.kind == OpKind::convolution;
    const bool attended = attends || reads_any(flow_, op, attended_);
    attends_ |= attends;
    pictures_ |= convolves;
    clips_ |= convolves && is_of_clips(op);
    joins_ |= concatenates(op) && !attended;
    const bool looked_up = looks_up(op) || reads_any(flow_, op, looked_up_);
    for (const std::uint32_t made : flow_.outputs_of(op)) {
      attended_[made] = attended;
      looked_up_[made] = looked_up;
    }
  }

  const Trace& trace_;
  const Dataflow& flow_;
  const std::vector<bool>& of_signals_;
  const std::vector<bool>& of_tokens_;
  bool beside_tokens_ = false;
  std::vector<bool> attended_;   // per tensor: made of what attention made
  std::vector<bool> looked_up_;  // per tensor: made of rows of a table
  bool pictures_ = false, attends_ = false, clips_ = false, joins_ = false;
};

}  // namespace

bool attends_to_plain_pictures(const Trace& trace, const Dataflow& flow,
                               const std::vector<bool>& of_signals,
                               const std::vector<bool>& of_tokens) {
  return PictureEncoder(trace, flow, of_signals, of_tokens).plain();
}

}  // namespace tandem
