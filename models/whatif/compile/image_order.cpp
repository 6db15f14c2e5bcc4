#include "models/whatif/compile/image_order.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "models/kernel/work/gemm_shape.h"
#include "models/whatif/compile/library.h"

namespace tandem {
namespace {

/// Convolutions as TorchInductor tells them apart where it chooses the order of images.
enum class LayoutClass : std::uint8_t { usual, grouped, small, narrowing };

bool is_narrowing(const TensorShape& weight) {
  return weight.dims[0] * 2 <= weight.dims[1] && weight.dims[2] > 1;
}

LayoutClass layout_class(const TensorShape& weight, std::int64_t groups) {
  constexpr std::int64_t small = 64;
  const std::int64_t outputs = weight.dims[0], inputs = weight.dims[1];
  if (groups > 1 && inputs > 1) return LayoutClass::grouped;
  if (outputs <= small && inputs <= small) return LayoutClass::small;
  return is_narrowing(weight) ? LayoutClass::narrowing : LayoutClass::usual;
}

struct LayoutWork {
  std::array<double, 4> macs{};  // of the compiled forward pass, by class
  std::size_t convolutions = 0;
  bool narrows = false;  // some convolution does, also among the small ones
  double of(LayoutClass c) const { return macs[static_cast<std::size_t>(c)]; }
};

LayoutWork layout_work(const Step& step, const Dataflow& flow, const FusionPlan& plan) {
  LayoutWork work;
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (op.kind != OpKind::convolution || plan.roles[i] != FuseRole::library) continue;
    const TensorShape* w = operands_of(step.trace, op.op).tensors.at(1);
    const auto shape = conv_shape(context_of(step.trace, op));
    if (w == nullptr || !shape || w->rank < 3) continue;
    ++work.convolutions;
    if (w->rank != image_rank || !of_pictures(step.trace, flow, op, 0)) continue;
    work.narrows = work.narrows || is_narrowing(*w);
    work.macs[static_cast<std::size_t>(layout_class(*w, shape->groups))] +=
        double(shape->images * shape->out_pixels) * double(w->elements());
  }
  return work;
}

/// Operations of the model's first forward pass without others inside, views too: about as many as
/// the graph that is compiled has nodes.
std::size_t forward_operations(const Step& step, const Dataflow& flow) {
  const HostOps& ops = step.trace.ops;
  std::uint32_t first = no_row, last = no_row;
  for (const FlowOp& op : flow.ops) {
    if (!op.in_model || op.phase != FlowPhase::forward || op.pass > 0) continue;
    if (first == no_row) first = op.op;
    last = op.op;
  }
  if (first == no_row) return 0;
  std::vector<bool> holds(ops.size(), false);
  for (const std::uint32_t parent : flow.nesting.parent) {
    if (parent != no_row) holds[parent] = true;
  }
  std::size_t count = 0;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const bool inside = ops.thread[i] == ops.thread[first] && ops.begin[i] >= ops.begin[first] &&
                        ops.begin[i] <= ops.begin[last];
    if (inside && !holds[i]) ++count;
  }
  return count;
}

/// Where few operations are convolutions, images keep their order.
constexpr std::size_t most_nodes_a_convolution = 300;

/// Training: one grouped or narrowing convolution speaks against it, and if all are small.
bool pays_in_training(const LayoutWork& work) {
  return work.of(LayoutClass::grouped) == 0 && !work.narrows && work.of(LayoutClass::usual) > 0;
}

/// Inference: the compiler weighs the work by how much longer each class takes in that order.
bool pays_in_inference(const LayoutWork& work, const FusionLaw& law) {
  const std::array<double, 4> ratios{law.layout_usual_ratio, law.layout_grouped_ratio,
                                     law.layout_small_ratio, law.layout_narrowing_ratio};
  const double before = std::accumulate(work.macs.begin(), work.macs.end(), 0.0);
  const double after = std::inner_product(work.macs.begin(), work.macs.end(), ratios.begin(), 0.0);
  return before > 0 && after <= before;
}

bool prefers_channels_last(const Step& step, const Dataflow& flow, const FusionPlan& plan,
                           const FusionLaw& law) {
  const LayoutWork work = layout_work(step, flow, plan);
  const std::size_t nodes = flow.passes() * forward_operations(step, flow);
  if (nodes >= most_nodes_a_convolution * work.convolutions) return false;
  const bool trains = std::any_of(flow.ops.begin(), flow.ops.end(), [](const FlowOp& op) {
    return op.in_model && op.phase == FlowPhase::backward;
  });
  return trains ? pays_in_training(work) : pays_in_inference(work, law);
}

bool runs_channels_last(const Step& step, const Dataflow& flow, const FusionPlan& plan,
                        const FusionLaw& law) {
  bool weights = false, images = false, ordered = false;
  for (const FlowOp& op : flow.ops) {
    if (op.kind != OpKind::convolution) continue;
    const OpTensors& in = operands_of(step.trace, op.op).tensors;
    const TensorShape *x = in.at(0), *w = in.at(1);
    weights = weights || (w != nullptr && w->channels_last);
    images = images || (x != nullptr && x->channels_last);
    ordered = ordered || (x != nullptr && !x->channels_last);
  }
  // Tokens that a view makes an image of have their channels last in a program of either order.
  const bool traced = weights || (images && !ordered);
  return traced || prefers_channels_last(step, flow, plan, law);
}

/// A copy that keeps the type is one into another order.
bool reorders(const Dataflow& flow, const FlowOp& op, std::uint32_t result) {
  if (op.kind != OpKind::cast || op.input_count == 0) return false;
  const std::uint32_t copied = flow.inputs_of(op).front().tensor;
  return flow.tensors[copied].type == flow.tensors[result].type;
}

/// Images that are joined have their channels last where any of them has (TorchInductor,
/// ConcatKernel.create), in an eager program where all have; what is computed from them follows.
std::vector<bool> ordered_tensors(const Step& step, const Dataflow& flow) {
  std::vector<bool> last(flow.tensors.size(), false);
  for (const FlowOp& op : flow.ops) {
    if (op.phase != FlowPhase::forward) continue;
    bool any = false;
    for (const FlowUse& use : flow.inputs_of(op)) {
      const TensorShape* x = operands_of(step.trace, op.op).tensors.at(use.argument);
      if (x == nullptr || x->rank != image_rank) continue;
      if (x->channels_last) last[use.tensor] = true;
      any = any || last[use.tensor];
    }
    for (const std::uint32_t t : flow.outputs_of(op)) last[t] = any && !reorders(flow, op, t);
  }
  return last;
}

}  // namespace

ImageOrder image_order(const Step& step, const Dataflow& flow, const FusionPlan& plan,
                       const FusionLaw& law) {
  return {runs_channels_last(step, flow, plan, law), ordered_tensors(step, flow)};
}

}  // namespace tandem
