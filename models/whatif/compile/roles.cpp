#include "models/whatif/compile/roles.h"

#include <algorithm>

#include "models/kernel/kinds.h"
#include "models/step/one_call.h"
#include "models/whatif/compile/host/host_lists.h"
#include "sim/core/tensors/operands.h"

namespace tandem {
namespace {

/// Operands of a concatenation that the kernel which reads it takes one by one, each where it
/// belongs; of more, registers would spill (torch/_inductor/lowering.py, cat).
constexpr std::uint32_t most_joined = 8;

/// Sums that keep the last dimension add up columns.
bool keeps_last_dimension(const Step& step, const FlowOp& op) {
  const Operands& in = operands_of(step.trace, op.op);
  const TensorShape* x = in.tensors.at(0);
  if (x == nullptr) return false;
  const auto dims = integers_of(in.argument(1));
  const std::int64_t last = x->rank - 1;
  return !dims.empty() && std::none_of(dims.begin(), dims.end(),
                                       [&](std::int64_t d) { return d == last || d == -1; });
}

/// Sums over images and their pixels, a number for each channel (gradients of biases and scales),
/// are no rows in either order of images: many blocks share them.
bool keeps_channels(const Step& step, const FlowOp& op) {
  constexpr int channel = 1;
  const Operands& in = operands_of(step.trace, op.op);
  const TensorShape* x = in.tensors.at(0);
  if (x == nullptr || x->rank != image_rank || x->dims[0] == 1) return false;
  const auto dims = integers_of(in.argument(1));
  return dims.size() == image_rank - 1 &&
         std::none_of(dims.begin(), dims.end(),
                      [](std::int64_t d) { return d == channel || d == channel - image_rank; });
}

/// What becomes of each operation.
class Roles {
 public:
  Roles(const Step& step, const Dataflow& flow, const std::vector<bool>& lists)
      : step_(step),
        flow_(flow),
        lists_(lists),
        blocks_(step.trace, flow),
        launches_(step.trace.ops.size(), false) {
    for (const FlowOp& op : flow.ops) launches_[op.op] = true;
  }

  FuseRole of(const FlowOp& op, bool whole_step) const {
    const bool given = op.in_model || (whole_step && op.phase != FlowPhase::other);
    if (!given || op.input_count + op.output_count == 0) return FuseRole::outside;
    // A compiler calls the framework for a whole block.
    if (blocks_.holds(op)) return FuseRole::library;
    if (sparse(op) || within_convolution(op) || complex(op) || listed_on_host(op)) {
      return FuseRole::library;
    }
    if (op.row != nullptr && op.row->is(not_generated)) return FuseRole::library;
    if (op.row != nullptr && op.row->output == OutputRule::running) return FuseRole::row;
    // Statistics that the framework's kernel wants in another type.
    if (op.kind == OpKind::cast && within(op, OpKind::batch_norm)) return FuseRole::vanishes;
    if (interpolated(op) || (op.row != nullptr && op.row->is(adds_once))) return FuseRole::spread;
    switch (op.kind) {
      case OpKind::batch_norm:
        if (only_statistics(op)) return FuseRole::vanishes;
        return trains(op) ? FuseRole::channel_norm : FuseRole::pointwise;
      case OpKind::batch_norm_backward: return FuseRole::channel_norm_backward;
      case OpKind::row_norm:
        return op.row->layer == Layer::group_norm ? FuseRole::channel_norm : FuseRole::row;
      case OpKind::row_norm_backward:
        return op.row->layer == Layer::group_norm ? FuseRole::channel_norm_backward : FuseRole::row;
      case OpKind::softmax:
      case OpKind::softmax_backward: return FuseRole::row;
      case OpKind::reduction:
        return keeps_last_dimension(step_, op) || keeps_channels(step_, op) ? FuseRole::column_sum
                                                                            : FuseRole::row;
      case OpKind::pooling:
      case OpKind::pooling_backward: return FuseRole::window;
      case OpKind::fill: return fill_role(op);
      case OpKind::loss: return op.row->is(picks_classes) ? FuseRole::vanishes : FuseRole::row;
      default: break;
    }
    if (concatenates(op) && op.input_count > most_joined) return FuseRole::gathered;
    return is_core(op.kind) ? FuseRole::library : FuseRole::pointwise;
  }

 private:
  /// A norm in pieces: the operation that normalises becomes the kernels that take statistics, too.
  bool only_statistics(const FlowOp& op) const {
    const auto works = flow_.works_of(op);
    return std::all_of(works.begin(), works.end(), [&](std::uint32_t w) {
      const KernelClass& kernel = step_.kernels.of(step_.plan.works[w].source);
      return kernel.family == KernelFamily::pointwise ||
             kernel.traits.kind == Kind::bn_statistics ||
             kernel.traits.kind == Kind::bn_statistics_nhwc;
    });
  }

  /// With the statistics of the batch, not with running ones.
  bool trains(const FlowOp& op) const {
    constexpr std::size_t training = 5;  // argument of every aten batch norm
    if (operands_of(step_.trace, op.op).argument(training) == Argument(false)) return false;
    const std::uint32_t first = step_.plan.works[flow_.works_of(op).front()].source;
    const Kind kind = step_.kernels.of(first).traits.kind;
    return kind != Kind::bn_inference && kind != Kind::bn_inference_nhwc;
  }

  /// Sparse gradients and bags of rows are left to the framework.
  bool sparse(const FlowOp& op) const {
    const bool rows = op.kind == OpKind::gather || op.kind == OpKind::scatter;
    return rows && around(op.op, [](const OpRow& row) { return row.is(sparse_rows); }) != no_row;
  }

  bool listed_on_host(const FlowOp& op) const {
    const std::uint32_t rows = rows_around(step_, flow_, op);
    return rows != no_row && lists_[rows];
  }

  /// TorchInductor makes no code for complex numbers: the framework's kernels stay.
  bool complex(const FlowOp& op) const {
    const auto is_complex = [&](std::uint32_t t) {
      return t != no_row && flow_.tensors[t].type == DataType::complex64;
    };
    const auto inputs = flow_.inputs_of(op);
    const auto outputs = flow_.outputs_of(op);
    return std::any_of(inputs.begin(), inputs.end(),
                       [&](const FlowUse& use) { return is_complex(use.tensor); }) ||
           std::any_of(outputs.begin(), outputs.end(), is_complex);
  }

  /// Also to the size that an image has, which the framework copies and a compiler does not notice.
  bool interpolated(const FlowOp& op) const {
    if (op.phase != FlowPhase::backward || op.kind == OpKind::fill) return false;
    const std::uint32_t r = around(op.op, [](const OpRow& row) { return row.is(interpolates); });
    return r != no_row && (r == op.op || !launches_[r]);
  }

  /// What the framework copies for a library kernel stays with it: the gradient of tokens that were
  /// made of images.
  bool within_convolution(const FlowOp& op) const {
    if (op.kind != OpKind::cast) return false;
    return within(op, OpKind::convolution_backward);
  }

  /// Zeros that a kernel adds to are written, those of which a loss picks one of each row are made
  /// by who reads them; others are constants of the kernels that read them.
  FuseRole fill_role(const FlowOp& op) const {
    const auto picks = [](const OpRow& row) { return row.is(picks_classes); };
    const bool made = within(op, OpKind::scatter) || around(op.op, picks) != no_row;
    return made ? FuseRole::pointwise : FuseRole::vanishes;
  }

  bool within(const FlowOp& op, OpKind kind) const {
    const std::uint32_t parent = flow_.nesting.parent[op.op];
    return around(parent, [kind](const OpRow& row) { return row.kind == kind; }) != no_row;
  }

  template <typename Is>
  std::uint32_t around(std::uint32_t op, Is is) const {
    return enclosing(step_.trace, flow_.nesting, op, is);
  }

  const Step& step_;
  const Dataflow& flow_;
  const std::vector<bool>& lists_;
  WholeBlocks blocks_;
  std::vector<bool> launches_;  // per host operation: it is one of the data flow
};

}  // namespace

bool interpolates_images(const FlowOp& op) {
  return op.row != nullptr && op.row->is(interpolates) && !op.row->backward;
}

bool samples_images(const FlowOp& op) {
  return op.row != nullptr && op.row->output == OutputRule::sampled;
}

int spread_places(const FlowOp& op) {
  if (op.row->is(adds_once)) return 1;
  return op.row->is(lies_in_lines) ? 2 : 4;
}

bool fusable(FuseRole role) {
  return role == FuseRole::pointwise || role == FuseRole::row || role == FuseRole::column_sum ||
         role == FuseRole::channel_norm || role == FuseRole::channel_norm_backward ||
         role == FuseRole::spread;
}

bool stands_alone(FuseRole role) { return role == FuseRole::window || role == FuseRole::gathered; }

std::vector<FuseRole> fuse_roles(const Step& step, const Dataflow& flow, const GraphCuts& cuts,
                                 const std::vector<bool>& lists, bool whole_step) {
  const Roles roles(step, flow, lists);
  std::vector<FuseRole> out;
  for (std::size_t i = 0; i < flow.ops.size(); ++i) {
    const bool eager = cuts.graph_of[i] == runs_eager;
    out.push_back(eager ? FuseRole::outside : roles.of(flow.ops[i], whole_step));
  }
  return out;
}

bool is_row_softmax(const Step& step, const FlowOp& op) {
  if (op.kind != OpKind::softmax) return false;
  const Operands& in = operands_of(step.trace, op.op);
  const TensorShape* x = in.tensors.at(0);
  const auto dims = integers_of(in.argument(1));
  return x != nullptr && dims.size() == 1 && (dims[0] == -1 || dims[0] == x->rank - 1);
}

}  // namespace tandem
