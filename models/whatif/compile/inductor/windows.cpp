#include "models/whatif/compile/inductor/windows.h"

#include <algorithm>
#include <cmath>

namespace tandem {
namespace {

std::vector<std::int64_t> sides_of(const Trace& trace, const FlowOp& op, ArgumentName name) {
  const std::uint8_t at = op.row->arguments.at(name);
  if (at == no_argument) return {};
  const auto sides = integers_of(operands_of(trace, op.op).argument(at));
  return {sides.begin(), sides.end()};
}

double elements_of(const Dataflow& flow, std::span<const std::uint32_t> tensors) {
  return tensors.empty() ? 1 : double(flow.tensors[tensors.front()].elements);
}

double input_elements(const Dataflow& flow, const FlowOp& op) {
  const auto inputs = flow.inputs_of(op);
  return inputs.empty() ? 1 : double(flow.tensors[inputs.front().tensor].elements);
}

/// The gradient of a maximum: its only integers are places.
bool reads_places(const Dataflow& flow, const FlowOp& op) {
  if (op.kind != OpKind::pooling_backward) return false;
  const auto inputs = flow.inputs_of(op);
  return std::any_of(inputs.begin(), inputs.end(), [&](const FlowUse& use) {
    return flow.tensors[use.tensor].type == DataType::int64;
  });
}

bool keeps_places(const Dataflow& flow, const FlowOp& op) {
  return op.kind == OpKind::pooling && op.sequence >= 0 &&
         std::any_of(flow.ops.begin(), flow.ops.end(), [&](const FlowOp& later) {
           return later.sequence == op.sequence && reads_places(flow, later);
         });
}

/// Windows that an element lies in: along a side of 3 places with a stride of 2 they are up to two,
/// and every thread looks at all that may be.
double windows_of_element(const Trace& trace, const FlowOp& op) {
  const auto sides = sides_of(trace, op, ArgumentName::kernel);
  const auto strides = sides_of(trace, op, ArgumentName::stride);
  double windows = 1;
  for (std::size_t i = 0; i < sides.size() && i < strides.size(); ++i) {
    windows *= std::ceil(double(sides[i]) / double(std::max<std::int64_t>(strides[i], 1)));
  }
  return windows;
}

}  // namespace

bool states_windows(const Trace& trace, const FlowOp& op) {
  return op.row->arguments.at(ArgumentName::kernel) == no_argument ||
         !sides_of(trace, op, ArgumentName::kernel).empty();
}

double window_taps(const Trace& trace, const Dataflow& flow, const FlowOp& op) {
  const auto sides = sides_of(trace, op, ArgumentName::kernel);
  if (op.row->output == OutputRule::adaptive_pooling || sides.empty()) {
    return std::max(1.0,
                    std::ceil(input_elements(flow, op) / elements_of(flow, flow.outputs_of(op))));
  }
  double taps = 1;
  for (const std::int64_t side : sides) taps *= double(side);
  return taps;
}

double window_places(const Dataflow& flow, const FlowOp& op) {
  if (reads_places(flow, op)) return input_elements(flow, op);
  return keeps_places(flow, op) ? elements_of(flow, flow.outputs_of(op)) : 0;
}

bool unread_by_windows(const FlowOp& op, const FlowUse& use) {
  return op.kind == OpKind::pooling_backward && use.argument > 0;
}

double window_cycles(const Trace& trace, const Dataflow& flow, const GeneratedCode& code,
                     const FlowOp& op, bool channels_last) {
  const double results = elements_of(flow, flow.outputs_of(op));
  if (op.kind != OpKind::pooling_backward) {
    return results * window_taps(trace, flow, op) *
           (keeps_places(flow, op) ? code.kept_tap_lane_cycles : code.tap_lane_cycles);
  }
  double cycles = code.tap_lane_cycles;
  if (reads_places(flow, op)) {
    cycles = channels_last ? code.last_place_lane_cycles : code.place_lane_cycles;
  }
  return results * windows_of_element(trace, op) * cycles;
}

}  // namespace tandem
