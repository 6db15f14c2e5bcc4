#include "models/whatif/compile/masks/attention_path.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "models/ops/op_table.h"
#include "models/step/attention_calls.h"
#include "models/whatif/compile/masks/plain_pictures.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

constexpr Named<AttentionPath> names[] = {{AttentionPath::automatic, "auto"},
                                          {AttentionPath::keep, "keep"},
                                          {AttentionPath::masked, "masked"},
                                          {AttentionPath::math, "math"}};

/// Items that attention goes through at once.
std::int64_t attended_items(const Trace& trace, const Dataflow& flow) {
  std::int64_t items = 1;
  for (const FlowOp& op : flow.ops) {
    if (op.kind != OpKind::attention) continue;
    const TensorShape* query = operands_of(trace, op.op).tensors.at(0);
    if (query != nullptr && query->rank == 4) items = std::max(items, query->dims[0]);
  }
  return items;
}

/// Whether rows of a table are looked up by a batch of indices: those of tokens. A single sequence
/// of indices for all items is that of positions, which models of sound and images have too.
bool looks_tokens_up(const Trace& trace, const Dataflow& flow, const FlowOp& op,
                     std::int64_t items) {
  constexpr std::size_t indices = 1;
  for (std::uint32_t r = op.op; r != no_row; r = flow.nesting.parent[r]) {
    const OpRow* row = find_op(text_of(trace, trace.ops.name[r]));
    if (row == nullptr || row->layer != Layer::embedding) continue;
    const TensorShape* looked_up = operands_of(trace, r).tensors.at(indices);
    if (looked_up == nullptr) return true;
    const bool for_all = looked_up->rank == 2 && looked_up->dims[0] == 1 && items > 1;
    if (looked_up->rank != 1 && !for_all) return true;
  }
  return false;
}

/// A cast to 16 bits within a layer that autocast lowers.
bool is_lowering(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  if (op.kind != OpKind::cast || op.output_count == 0 || op.input_count == 0) return false;
  const DataType from = flow.tensors[flow.inputs_of(op)[0].tensor].type;
  if (from != DataType::fp32 || !is_half(flow.tensors[flow.outputs_of(op)[0]].type)) return false;
  return enclosing(trace, flow.nesting, op.op,
                   [](const OpRow& row) { return row.autocast == CastPolicy::lower; }) != no_row;
}

bool is_of_signals(const Dataflow& flow, const AttentionStyle& style, const FlowOp& attention,
                   ArgumentName operand) {
  const std::uint8_t argument = attention.row->arguments.at(operand);
  const auto inputs = flow.inputs_of(attention);
  return std::any_of(inputs.begin(), inputs.end(), [&](const FlowUse& use) {
    return use.argument == argument && style.of_signals[use.tensor];
  });
}

bool attends_to_signals(const Dataflow& flow, const AttentionStyle& style,
                        const FlowOp& attention) {
  return is_of_signals(flow, style, attention, ArgumentName::key);
}

/// Whether pictures attend to themselves, rather than tokens to each other or to pictures.
bool attends_within_pictures(const Dataflow& flow, const AttentionStyle& style,
                             const FlowOp& attention) {
  return !style.tokens || (attends_to_signals(flow, style, attention) &&
                           is_of_signals(flow, style, attention, ArgumentName::query));
}

/// Whether what is attended to holds tokens, which may be masked.
bool attends_to_text(const Dataflow& flow, const AttentionStyle& style, const FlowOp& attention) {
  return style.tokens && !attends_to_signals(flow, style, attention);
}

AttentionPath path_of(CompiledMask mask) {
  if (mask == CompiledMask::column) return AttentionPath::math;
  return mask == CompiledMask::whole ? AttentionPath::masked : AttentionPath::keep;
}

/// Items and keys of a list of which the operation asks whether all are true.
std::optional<std::pair<std::int64_t, std::int64_t>> padding_of(const Trace& trace,
                                                                const FlowOp& op) {
  constexpr int rank_of_padding = 2;
  if (op.row == nullptr || op.row->output != OutputRule::truths) return std::nullopt;
  const Operands& in = operands_of(trace, op.op);
  const TensorShape* x = in.tensors.at(0);
  const bool all = x != nullptr && x->rank == rank_of_padding && x->type == DataType::boolean &&
                   in.argument_count == 1;
  return all ? std::optional(std::pair(x->dims[0], x->dims[1])) : std::nullopt;
}

/// Whether the program looked at the padding of what is attended to.
bool is_padded(const Trace& trace, const AttentionStyle& style, const FlowOp& attention) {
  const auto shape = attention_shape_of(trace, attention);
  return shape && std::find(style.padding.begin(), style.padding.end(),
                            std::pair(shape->items, shape->keys)) != style.padding.end();
}

/// What the program asks attention for.
struct AskedAttention {
  const FlowOp* forward = nullptr;
  bool scaled = false, masked = false, causal = false;
  CompiledMask compiled = CompiledMask::not_known;
};

AskedAttention asked_of(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  AskedAttention out;
  out.forward = forward_attention(flow, op);
  if (out.forward == nullptr) return out;
  const std::uint32_t row = attention_call(trace, flow, *out.forward);
  const Operands& call = operands_of(trace, row);
  const OpArguments& at = op_row(text_of(trace, trace.ops.name[row])).arguments;
  const Argument& scale = call.argument(at.at(ArgumentName::scale));
  out.scaled = std::holds_alternative<double>(scale) || std::holds_alternative<std::int64_t>(scale);
  out.masked = call.tensors.at(at.at(ArgumentName::mask)) != nullptr;
  out.causal = call.argument(at.at(ArgumentName::causal)) == Argument(true);
  out.compiled = call.compiled_mask;
  return out;
}

}  // namespace

std::span<const Named<AttentionPath>> attention_paths() { return names; }

AttentionPath parse_attention(std::string_view name) {
  return parse_named(names, name, "command line", "--attention");
}

AttentionStyle attention_style(const Step& step, const Dataflow& flow) {
  const Trace& trace = step.trace;
  AttentionStyle style;
  style.of_signals.assign(flow.tensors.size(), false);
  std::vector<bool> of_tokens(flow.tensors.size(), false);
  const std::int64_t items = attended_items(trace, flow);
  for (const FlowOp& op : flow.ops) {
    if (!op.in_model) continue;
    style.tf32 |= op.kind == OpKind::matmul && uses_tf32(step, flow, op);
    style.trains |= op.phase == FlowPhase::backward;
    style.drops |= op.kind == OpKind::dropout;
    if (const auto looked_at = padding_of(trace, op)) style.padding.push_back(*looked_at);
    style.lowered |= is_lowering(trace, flow, op);
    if (op.phase != FlowPhase::forward) continue;
    style.numbers |= op.row != nullptr && op.row->is(numbers_places);
    const bool looks_up = looks_tokens_up(trace, flow, op, items);
    style.tokens |= looks_up;
    const bool tokens = looks_up || reads_any(flow, op, of_tokens);
    const bool signals =
        !tokens && (op.kind == OpKind::convolution || reads_any(flow, op, style.of_signals));
    for (const std::uint32_t made : flow.outputs_of(op)) {
      of_tokens[made] = tokens;
      style.of_signals[made] = signals;
    }
  }
  style.plain_pictures = attends_to_plain_pictures(trace, flow, style.of_signals, of_tokens);
  return style;
}

AttentionPath attention_path(const Trace& trace, const Dataflow& flow, const AttentionStyle& style,
                             const FlowOp& op) {
  const AskedAttention asked = asked_of(trace, flow, op);
  if (asked.forward == nullptr || asked.masked) return AttentionPath::keep;
  if (asked.compiled != CompiledMask::not_known) return path_of(asked.compiled);
  if (!asked.scaled) return AttentionPath::keep;
  if (style.plain_pictures && attends_within_pictures(flow, style, *asked.forward)) {
    return asked.causal ? AttentionPath::keep : AttentionPath::math;
  }
  if (!attends_to_text(flow, style, *asked.forward)) return AttentionPath::keep;
  if (asked.causal && !style.numbers) return AttentionPath::keep;
  const bool in_memory = asked.causal || is_padded(trace, style, *asked.forward);
  return in_memory ? AttentionPath::masked : AttentionPath::math;
}

bool mask_is_untold(const Trace& trace, const Dataflow& flow, const AttentionStyle& style,
                    const FlowOp& op) {
  const AskedAttention asked = asked_of(trace, flow, op);
  if (asked.forward == nullptr || asked.masked || asked.causal || !asked.scaled) return false;
  if (asked.compiled != CompiledMask::not_known) return false;
  return !attends_to_text(flow, style, *asked.forward);
}

AttentionPath attention_path(const Trace& trace, const Dataflow& flow, const AttentionStyle& style,
                             const FlowOp& op, AttentionPath asked) {
  return asked == AttentionPath::automatic ? attention_path(trace, flow, style, op) : asked;
}

}  // namespace tandem
