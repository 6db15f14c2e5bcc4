#include "models/whatif/compile/kernels/group_cycles.h"

#include <algorithm>

#include "models/ops/op_table.h"
#include "models/whatif/compile/inductor/windows.h"

namespace tandem {
namespace {

bool is_channel_norm(const GroupView& g, std::uint32_t op) {
  return g.role(op) == FuseRole::channel_norm || g.role(op) == FuseRole::channel_norm_backward ||
         g.flow_op(op).kind == OpKind::batch_norm;
}

/// Of a norm over channels, forward or backward.
double norm_cycles(const GroupView& g, std::uint32_t op) {
  const GeneratedCode& code = g.context().law.generated;
  const bool back = g.role(op) == FuseRole::channel_norm_backward;
  if (!g.norms_last(op)) return back ? code.norm_gradient_lane_cycles : code.norm_lane_cycles;
  const TensorShape* x = g.normalised(op);
  const bool divides = x != nullptr && x->rank > 1 && x->dims[1] > 0 &&
                       !std::has_single_bit(static_cast<std::uint64_t>(x->dims[1]));
  return (back ? code.norm_gradient_lane_cycles : code.last_norm_lane_cycles) +
         (divides ? code.divided_lane_cycles : 0);
}

/// Every operand has a mask. A small window among them is not kept, but computed by all who read
/// it.
double joining_cycles(const GroupView& g, std::uint32_t op) {
  constexpr double most_taps = 4;
  const KernelContext& c = g.context();
  double cycles = 0;
  for (const std::uint32_t t : g.inputs(op)) {
    cycles += c.law.generated.joined_lane_cycles;
    const std::uint32_t producer = g.tensor(t).producer;
    if (producer == no_row || g.role(producer) != FuseRole::window) continue;
    const double taps = window_taps(c.step.trace, c.flow, g.flow_op(producer));
    if (taps <= most_taps) cycles += taps * c.law.generated.tap_lane_cycles;
  }
  return cycles;
}

/// A norm of channels waits for the numbers of every element's channel, and for no arithmetic that
/// it has beside it: all of it passes meanwhile where statistics are those of the batch.
double transcendental_cycles(const GroupView& g) {
  const GeneratedCode& code = g.context().law.generated;
  bool beside = false;
  for (const std::uint32_t i : g.group().ops) {
    if (!is_channel_norm(g, i) || !g.norms_last(i)) continue;
    if (g.role(i) == FuseRole::channel_norm) return code.plain_lane_cycles;
    beside = true;
  }
  return beside ? code.beside_norm_lane_cycles : code.transcendental_lane_cycles;
}

/// Of an element that is taken from one place of a smaller or larger image, or lies between four.
/// Where a gradient needs these places, they are stored before.
double resizing_cycles(const GroupView& g, const FlowOp& op) {
  const GeneratedCode& code = g.context().law.generated;
  if (!op.row->is(interpolates)) return code.resized_lane_cycles;
  const double places = g.context().flow.trains() ? 0 : code.places_lane_cycles;
  return places +
         (g.lies_last(op, 0) ? code.last_interpolated_lane_cycles : code.interpolated_lane_cycles);
}

double element_cycles(const GroupView& g, std::uint32_t op) {
  const GeneratedCode& code = g.context().law.generated;
  const FlowOp& o = g.flow_op(op);
  if (is_channel_norm(g, op)) return norm_cycles(g, op);
  if (concatenates(o)) return joining_cycles(g, op);
  if (o.row == nullptr || o.kind != OpKind::pointwise) return 0;
  if (o.row->output == OutputRule::resized) return resizing_cycles(g, o);
  if (samples_images(o)) return code.sampled_lane_cycles;
  if (o.row->is(error_function)) {
    return o.row->backward ? code.error_gradient_lane_cycles : code.error_lane_cycles;
  }
  if (o.row->is(trigonometric)) return code.trigonometric_lane_cycles;
  return o.row->is(arithmetic) ? transcendental_cycles(g) : code.plain_lane_cycles;
}

/// Per operation of the group, the elements for which it is computed: those of what reads it in
/// the group. What a concatenation joins is computed for all elements of the result, of which a
/// mask takes its part; what is broadcast (the gates of channels), for each element that it
/// meets.
std::vector<double> computed_elements(const GroupView& g) {
  const std::vector<std::uint32_t>& ops = g.group().ops;
  std::vector<double> elements;
  for (const std::uint32_t i : ops) elements.push_back(g.op_elements(i));
  std::vector<double> read(ops.size(), 0);  // elements of what reads its result
  for (std::size_t k = ops.size(); k-- > 0;) {
    if (g.role(ops[k]) == FuseRole::pointwise) elements[k] = std::max(elements[k], read[k]);
    for (const std::uint32_t t : g.inputs(ops[k])) {
      const auto at = std::lower_bound(ops.begin(), ops.end(), g.tensor(t).producer);
      if (at == ops.end() || *at != g.tensor(t).producer) continue;
      double& by = read[static_cast<std::size_t>(at - ops.begin())];
      by = std::max(by, elements[k]);
    }
  }
  return elements;
}

/// Places of a row that a block goes through in loops: the vectors that hold it, of long rows so
/// many thousands at a time.
double looped_places(double columns) {
  constexpr double loop = 4096;
  return columns > loop ? std::ceil(columns / loop) * loop : held_places(columns);
}

/// Of the vectors that hold the rows of an operation.
double held_row_places(const GroupView& g, std::uint32_t op) {
  const double columns = std::max(1.0, g.row_elements());
  return g.op_elements(op) * held_places(columns) / columns;
}

/// Whether nobody but losses reads what a softmax makes: they take a number of each row from what
/// it was computed of, so that rows are gone through once, for their largest and their sum.
bool only_losses_read(const GroupView& g, std::uint32_t softmax) {
  const FusionGroup& group = g.group();
  bool read = false;
  for (const std::uint32_t t : g.outputs(softmax)) {
    if (std::find(group.writes.begin(), group.writes.end(), t) != group.writes.end()) return false;
    for (const std::uint32_t reader : g.context().plan.readers[t]) {
      if (!g.holds(reader)) continue;
      if (g.flow_op(reader).kind != OpKind::loss) return false;
      read = true;
    }
  }
  return read;
}

}  // namespace

double lane_cycles(const GroupView& g) {
  const KernelContext& c = g.context();
  const std::vector<std::uint32_t>& ops = g.group().ops;
  const std::vector<double> elements = computed_elements(g);
  double sum = 0;
  for (std::size_t k = 0; k < ops.size(); ++k) {
    if (g.role(ops[k]) == FuseRole::window) {
      sum += window_cycles(c.step.trace, c.flow, c.law.generated, g.flow_op(ops[k]),
                           c.images.channels_last);
      continue;
    }
    const double each = element_cycles(g, ops[k]);
    if (each > 0) sum += each * elements[k];
  }
  return sum;
}

double softmax_cycles(const GroupView& g) {
  const GeneratedCode& code = g.context().law.generated;
  const double columns = std::max(1.0, g.row_elements());
  const double held = looped_places(columns);
  const bool loops = g.loops_rows();
  double cycles = 0;
  for (const std::uint32_t i : g.group().ops) {
    if (g.flow_op(i).kind != OpKind::softmax) continue;
    const double elements = g.op_elements(i);
    const double gathers = double(g.gathers_before(i)) * code.gathered_lane_cycles;
    if (g.flow_op(i).phase != g.group().phase) {  // computed again for its gradient
      cycles += elements * (gathers + (g.reads_across(i) ? code.across_lane_cycles : 0));
    } else if (loops) {
      const double passes = only_losses_read(g, i) ? 1 : 2;
      const double of_pass = gathers + code.looped_softmax_lane_cycles / 2;
      cycles += elements * held / columns * passes * of_pass;
    } else {
      cycles += elements * gathers;
    }
  }
  return cycles;
}

double held_softmax_cycles(const GroupView& g) {
  if (g.loops_rows()) return 0;
  double places = 0;
  for (const std::uint32_t i : g.group().ops) {
    const FlowOp& op = g.flow_op(i);
    const bool softmax = op.kind == OpKind::softmax && op.phase == g.group().phase;
    if (softmax) places += held_row_places(g, i);
  }
  return places * g.context().law.generated.softmax_place_lane_cycles;
}

double looped_cycles(const GroupView& g, double operands) {
  const GeneratedCode& code = g.context().law.generated;
  double cycles = 0;
  for (const std::uint32_t i : g.group().ops) {
    const FlowOp& op = g.flow_op(i);
    if (g.role(i) != FuseRole::row || op.phase != g.group().phase) continue;
    const double places = held_row_places(g, i);
    if (op.kind == OpKind::row_norm) cycles += places * code.looped_norm_lane_cycles;
    if (op.kind == OpKind::reduction) cycles += places * code.looped_sum_lane_cycles;
  }
  return cycles * (1 + code.looped_operand_ratio * (operands - 1));
}

}  // namespace tandem
