#include "models/step/memory/workspace.h"

#include <algorithm>

#include "models/kernel/kinds.h"
#include "models/kernel/work/work.h"

namespace tandem {

namespace {

/// The largest tensor of the operation that has no more elements than the copy's tiles hold; its
/// results are no operands, so that the copy alone does not tell them.
std::int64_t elements_within(const Dataflow& flow, const FlowOp& op, std::int64_t tiles) {
  std::int64_t most = 0;
  const auto see = [&](std::uint32_t tensor) {
    const std::int64_t elements = flow.tensors[tensor].elements;
    if (elements <= tiles) most = std::max(most, elements);
  };
  for (const FlowUse& use : flow.inputs_of(op)) see(use.tensor);
  for (const std::uint32_t t : flow.outputs_of(op)) see(t);
  return most > 0 ? most : tiles;
}

ReorderedTensor reordered(const Step& step, const Dataflow& flow, const FlowOp& op,
                          std::uint32_t activity) {
  const Operands& operands = operands_of(step.trace, op.op);
  const KernelClass kernel = with_operand_type(step.kernels.of(activity), operands.tensors.shapes);
  const GeometryId geometry = step.trace.activities.geometry[activity];
  const LaunchGeometry none;
  const KernelWork work =
      kernel_work(kernel, {text_of(step.trace, step.trace.ops.name[op.op]), operands.tensors,
                           operands.arguments,
                           geometry.valid() ? step.trace.geometries[geometry.index()] : none});
  const double width = work.elements > 0 ? work.write_bytes / work.elements : 0;
  ReorderedTensor out{static_cast<std::int64_t>(work.elements), 0};
  if (!work.exact) out.elements = elements_within(flow, op, out.elements);
  out.bytes = static_cast<std::int64_t>(width * static_cast<double>(out.elements));
  return out;
}

std::int64_t bytes_of(const std::vector<ReorderedTensor>& tensors) {
  std::int64_t bytes = 0;
  for (const ReorderedTensor& t : tensors) bytes += t.bytes;
  return bytes;
}

/// Whether a kernel of the library of products runs in the operation; those of convolutions belong
/// to another library.
bool runs_product(const Step& step, const Dataflow& flow, const FlowOp& op) {
  if (is_convolution(*op.row)) return false;
  const auto works = flow.works_of(op);
  return op.kind == OpKind::matmul || std::any_of(works.begin(), works.end(), [&](std::uint32_t w) {
           const std::uint32_t activity = step.plan.works[w].source;
           return step.trace.activities.kind[activity] == ActivityKind::kernel &&
                  step.kernels.of(activity).family == KernelFamily::gemm;
         });
}

}  // namespace

int product_handles(const Step& step, const Dataflow& flow, bool training) {
  bool forward = false, backward = false, threads = false;
  for (const FlowOp& op : flow.ops) {
    const bool behind = op.phase == FlowPhase::backward;
    threads |= behind;
    (behind ? backward : forward) |= runs_product(step, flow, op);
  }
  if (flow.ops.empty()) forward = true;
  if (!threads && training) backward = forward;  // the trace does not tell the passes apart
  return int{forward} + int{backward};
}

std::vector<ReorderedTensor> reordered_tensors(const Step& step, const Dataflow& flow,
                                               const FlowOp& op) {
  if (op.kind != OpKind::convolution && op.kind != OpKind::convolution_backward) return {};
  std::vector<ReorderedTensor> most, now;
  bool computed = false;  // what follows belongs to the next gradient
  for (const std::uint32_t w : flow.works_of(op)) {
    const std::uint32_t activity = step.plan.works[w].source;
    if (step.trace.activities.kind[activity] != ActivityKind::kernel) continue;
    const Kind kind = step.kernels.of(activity).traits.kind;
    const bool before = kind == Kind::nchw_to_nhwc, after = kind == Kind::nhwc_to_nchw;
    if (before && computed) now.clear();
    computed = !before;
    if (before || after) now.push_back(reordered(step, flow, op, activity));
    if (bytes_of(now) > bytes_of(most)) most = now;
  }
  return most;
}

}  // namespace tandem
