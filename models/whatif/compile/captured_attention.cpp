#include "models/whatif/compile/captured_attention.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "models/ops/op_table.h"
#include "models/step/attention_calls.h"
#include "models/step/dataflow.h"
#include "models/whatif/edit/math_attention.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {
namespace {

/// A node of a graph costs the host nothing of its own.
constexpr double node_host_us = 0;

/// Nothing where the operands are not known.
std::optional<MathAttention> math_of(const Step& step, const AttentionStyle& style,
                                     const FlowOp& op) {
  const bool back = op.kind == OpKind::attention_backward;
  const auto shape = attention_shape_of(step.trace, op);
  const TensorShape* q = operands_of(step.trace, op.op).tensors.at(back ? 1 : 0);
  if (!shape || q == nullptr || shape->heads <= 0) return {};
  MathAttention out;
  out.shape = *shape;
  out.images = shape->items;
  out.type = q->type;
  out.tf32 = style.tf32;
  return out;
}

/// Operations of attention to be computed by products, with what they are.
using Exchanged = std::vector<std::pair<const FlowOp*, MathAttention>>;

Exchanged exchanged(const Step& step, const Dataflow& flow, const AttentionStyle& style,
                    AttentionPath asked) {
  Exchanged out;
  for (const FlowOp& op : flow.ops) {
    if (forward_attention(flow, op) == nullptr) continue;
    const bool changes = asked == AttentionPath::math ||
                         attention_path(step.trace, flow, style, op) == AttentionPath::math;
    if (!changes) continue;
    if (const auto math = math_of(step, style, op)) out.emplace_back(&op, *math);
  }
  return out;
}

/// Whether the trace has attention and no argument of it.
bool leaves_open(const Step& step, const Dataflow& flow) {
  bool attention = false, told = false;
  for (const FlowOp& op : flow.ops) {
    if (op.kind != OpKind::attention) continue;
    attention = true;
    const std::uint32_t call = attention_call(step.trace, flow, op);
    told = told || !operands_of(step.trace, call).arguments.empty();
  }
  return attention && !told;
}

std::vector<NewKernel> kernels_of(const CaptureConstants& constants, const FlowOp& op,
                                  const MathAttention& math) {
  const MathConstants kernel{constants.gpu, constants.time, constants.names,
                             constants.law.generated.pointwise.floor_us};
  return math_attention(kernel, math, op.kind == OpKind::attention_backward);
}

/// What nothing tells of masks of images, which a program may make once it is captured.
UntoldMasks untold_masks(const CaptureConstants& constants, const Step& step, const Dataflow& flow,
                         const AttentionStyle& style) {
  UntoldMasks untold;
  for (const FlowOp& op : flow.ops) {
    // A compiler has decided on attention before.
    if (op.in_graph || !mask_is_untold(step.trace, flow, style, op)) continue;
    const auto math = math_of(step, style, op);
    if (!math) continue;
    double products_us = 0;
    for (const NewKernel& k : kernels_of(constants, op, *math)) products_us += k.duration_us;
    untold.add(attention_path(step.trace, flow, style, op), works_us(step, flow.works_of(op)),
               products_us);
  }
  return untold;
}

void exchange(const CaptureConstants& constants, const Dataflow& flow, const FlowOp& op,
              const MathAttention& math, StepEdit& edit, CapturedAttention& report) {
  const auto works = flow.works_of(op);
  const std::uint32_t last = works.back();
  report.fused_us += works_us(edit.step(), works);
  for (const std::uint32_t w : works) edit.drop(w);
  auto kernels = kernels_of(constants, op, math);
  for (NewKernel& k : kernels) {
    k.host_us = node_host_us;
    report.products_us += k.duration_us;
    edit.insert_after(last, std::move(k));
  }
  ++report.operations;
}

}  // namespace

Step with_captured_attention(Step step, AttentionPath path, const CaptureConstants& constants,
                             LossList& losses, CapturedAttention* report) {
  CapturedAttention local;
  CapturedAttention& r = report == nullptr ? local : *report;
  r = {};
  if (path == AttentionPath::keep) return step;
  const Dataflow flow = dataflow(step);
  const AttentionStyle style = attention_style(step, flow);
  losses.add("capture_may_change_work", Severity::warning,
             "attention of which the trace does not tell whether it leaves a mask out that graph "
             "capture puts back: then products and softmax in FP32 would take the place of the "
             "fused kernels (kernels of BERT take a quarter longer)",
             leaves_open(step, flow) ? 1 : 0);
  if (path == AttentionPath::automatic) r.untold = untold_masks(constants, step, flow, style);
  add_untold(r.untold, "capture_mask_untold", "is captured in a graph", losses);
  const Exchanged changes = exchanged(step, flow, style, path);
  if (changes.empty()) return step;
  StepEdit edit(step, node_host_us);
  for (const auto& [op, math] : changes) exchange(constants, flow, *op, math, edit, r);
  losses.add(
      "capture_changes_attention", Severity::warning,
      fmt::format("operations of attention that a capture finds with the mask that the eager "
                  "program left out, which no fused kernel takes: by products and softmax in FP32 "
                  "they last {:.0f} us a step in place of {:.0f} us (--attention keep)",
                  r.products_us, r.fused_us),
      static_cast<std::int64_t>(r.operations));
  return std::move(edit).finish();
}

}  // namespace tandem
