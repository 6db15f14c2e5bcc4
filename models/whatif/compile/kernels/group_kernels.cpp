#include "models/whatif/compile/kernels/group_kernels.h"

#include <algorithm>

#include "models/whatif/compile/kernels/column_sums.h"

namespace tandem {
namespace {

/// The kernels of a group, in the order in which they run.
class GroupKernels : private ColumnSums {
 public:
  using ColumnSums::ColumnSums;

  std::vector<GeneratedKernel> build() {
    const std::size_t norms = view_.count(FuseRole::channel_norm);
    const std::size_t norms_back = view_.count(FuseRole::channel_norm_backward);
    const std::size_t columns = view_.count(FuseRole::column_sum);
    if (view_.count(FuseRole::gathered) > 0) {
      gather_operands(group_.ops.front());
      return std::move(out_);
    }
    fill_corners();
    if (norms_back > 0) renormalise();
    if (columns == group_.ops.size()) {
      sum_columns();
      return std::move(out_);
    }
    if (norms + norms_back > 0 && whole_channels()) {
      normalise_whole_channels();
    } else {
      normalise_split_channels(norms + norms_back, norms_back);
    }
    for (const std::uint32_t i : group_.ops) {
      if (view_.flow_op(i).kind == OpKind::row_norm_backward && !view_.is_group_norm(i)) {
        sum_gradient_rows(i);
      }
    }
    sum_columns();
    if (norms + norms_back > 0) sum_all();
    return std::move(out_);
  }

 private:
  /// Whether the operation adds up all elements: the gradient of one factor of a whole tensor.
  bool adds_all(std::uint32_t op) const {
    const auto outs = view_.outputs(op);
    return c_.plan.roles[op] == FuseRole::row && view_.flow_op(op).kind == OpKind::reduction &&
           outs.size() == 1 && view_.tensor(outs[0]).elements == 1;
  }

  /// Sums over everything beside a norm of channels, whose loops are others: a kernel each, which
  /// computes again what is added up.
  void sum_all() {
    for (const std::uint32_t i : group_.ops) {
      if (!adds_all(i) || view_.input(i, 0) == no_row) continue;
      const std::uint32_t maker = view_.tensor(view_.input(i, 0)).producer;
      reduce(view_.inputs(view_.holds(maker) ? maker : i), {.inner = true});
    }
  }

  /// The images that the gradient of an interpolation adds to start as zeros.
  void fill_corners() {
    for (const std::uint32_t i : group_.ops) {
      if (c_.plan.roles[i] != FuseRole::spread) continue;
      for (int corner = 0; corner < spread_places(view_.flow_op(i)); ++corner) {
        GeneratedKernel k;
        k.writes = view_.outputs(i);
        k.bytes = view_.bytes(k.writes);
        k.us = generated_us(c_.gpu, c_.law.generated, {.bytes = k.bytes});
        k.geometry = pointwise_geometry(view_.largest(k));
        out_.push_back(std::move(k));
      }
    }
  }

  void normalise_split_channels(std::size_t norms, std::size_t norms_back) {
    for (const std::uint32_t i : group_.ops) {
      if (c_.plan.roles[i] == FuseRole::channel_norm) {
        statistics(i, {view_.loaded(view_.input(i, 0))}, 1);
      }
    }
    if (norms_back > 1) share_gradient();
    for (const std::uint32_t i : group_.ops) {
      if (c_.plan.roles[i] != FuseRole::channel_norm_backward) continue;
      statistics(i, norms_back > 1 ? view_.inputs(i) : group_.reads, 2,
                 norms_back > 1 ? 0 : view_.widened_bytes());
      if (norms_back > 1) add(GeneratedKind::pointwise, view_.inputs(i), view_.outputs(i));
    }
    if (norms_back > 1) return;
    const bool window = view_.count(FuseRole::window) > 0;
    const std::uint32_t pixels = window ? no_row : view_.pixel_sum();
    if (pixels != no_row) {
      add_pixel_sum(pixels, norms);
      return;
    }
    const bool rows = norms == 0 && !window &&
                      std::any_of(group_.ops.begin(), group_.ops.end(), [&](std::uint32_t i) {
                        return c_.plan.roles[i] == FuseRole::row && !adds_all(i);
                      });
    add_whole(rows ? view_.row_kind() : GeneratedKind::pointwise);
  }
};

}  // namespace

std::vector<GeneratedKernel> group_kernels(const KernelContext& context, const FusionGroup& group) {
  return GroupKernels(context, group).build();
}

}  // namespace tandem
