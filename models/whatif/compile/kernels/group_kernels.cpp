#include "models/whatif/compile/kernels/group_kernels.h"

#include <algorithm>
#include <cmath>

#include "models/whatif/compile/inductor/splits.h"
#include "models/whatif/compile/kernels/channel_norms.h"
#include "models/whatif/compile/kernels/column_sums.h"

namespace tandem {
namespace {

/// The kernels of a group, in the order in which they run.
class GroupKernels : private ChannelNorms {
 public:
  using ChannelNorms::ChannelNorms;

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

  /// Images that the group stores, as many elements as `like` has.
  std::vector<std::uint32_t> stored_images(std::uint32_t like) const {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t t : group_.writes) {
      if (view_.tensor(t).elements == view_.tensor(like).elements) out.push_back(t);
    }
    return out;
  }

  /// Sums over the pixels of channels-last images are columns: where they are split, a kernel of
  /// its own adds up what the group computes, or what it stores.
  void add_pixel_sum(std::uint32_t op, std::size_t norms) {
    const auto outs = view_.outputs(op);
    const std::uint32_t x = view_.input(op, 0);
    const double results = std::max(1.0, double(view_.tensor(outs.front()).elements));
    const SumShape sum{results, std::ceil(double(view_.tensor(x).elements) / results)};
    if (outer_parts(c_.gpu, sum) == 1) {
      const bool whole = holds_columns(sum);
      add_whole(GeneratedKind::reduction, whole ? SumOrder::short_columns : SumOrder::streamed);
    } else if (const auto stored = stored_images(x); norms > 0 || !stored.empty()) {
      add_whole(GeneratedKind::pointwise);
      reduce(norms > 0 ? std::vector{x} : stored, {.columns = results});
    } else {
      reduce(group_.reads, {.columns = results});
    }
  }

  /// The gradients of a row norm's scale and shift: sums over all rows. Where rows are many, the
  /// kernel that holds them takes the sums along and only their parts are left to be added.
  void sum_gradient_rows(std::uint32_t op) {
    const std::uint32_t scale = view_.input(op, 5), grad = view_.input(op, 0);
    const double columns = scale == no_row ? 1 : double(view_.tensor(scale).elements);
    const double all = grad == no_row ? 1 : double(view_.tensor(grad).elements);
    const bool across = view_.saved_across(op);
    if (sums_along_rows(all / columns, columns) && !across) {
      for (int i = 0; i < 2; ++i) finish(columns, c_.law.generated.mixed_sum_us);
      return;
    }
    reduce({grad, view_.input(op, 1)},
           {.columns = std::max(1.0, columns), .kinds = 2, .across = across});
  }

  void sum_columns() {
    for (const std::uint32_t i : group_.ops) {
      if (c_.plan.roles[i] != FuseRole::column_sum || view_.input(i, 0) == no_row) continue;
      const auto outs = view_.outputs(i);
      const double columns =
          outs.empty() ? 1 : std::max(1.0, double(view_.tensor(outs[0]).elements));
      const std::uint32_t scores = summed_scores(view_, i);
      if (sums_rolled(view_, i)) {
        out_.push_back(rolled_sum(view_, i, columns));
      } else if (scores != no_row) {
        const double row_us = walks_windows(view_, i) ? c_.law.generated.window_row_us : 0;
        reduce({view_.loaded(view_.input(scores, 0)), view_.input(scores, 1)},
               {.columns = columns, .row_us = row_us});
      } else {
        reduce({view_.input(i, 0)}, {.columns = columns, .plain = true});
      }
    }
  }
};

}  // namespace

std::vector<GeneratedKernel> group_kernels(const KernelContext& context, const FusionGroup& group) {
  return GroupKernels(context, group).build();
}

}  // namespace tandem
