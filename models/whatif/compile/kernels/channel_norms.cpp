#include "models/whatif/compile/kernels/channel_norms.h"

#include <algorithm>

#include "models/whatif/compile/inductor/splits.h"

namespace tandem {

void ChannelNorms::renormalise() {
  const double written = view_.renormalised_bytes();
  if (written == 0) return;
  std::uint32_t x = no_row;
  bool last = false;
  for (const std::uint32_t i : group_.ops) {
    if (c_.plan.roles[i] != FuseRole::channel_norm_backward) continue;
    x = view_.input(i, 1);
    last = view_.norms_last(i);
  }
  const GeneratedCode& code = c_.law.generated;
  double cycles = last ? code.last_norm_lane_cycles : code.norm_lane_cycles;
  if (view_.widened_bytes() > 0) cycles += code.beside_norm_lane_cycles;
  GeneratedKernel k;
  k.reads = {x};
  k.bytes = view_.tensor(x).bytes() + written;
  k.us = generated_us(c_.gpu, c_.law.generated,
                      {.bytes = k.bytes,
                       .elements = double(view_.tensor(x).elements),
                       .lane_cycles = cycles * double(view_.tensor(x).elements)});
  k.geometry = pointwise_geometry(double(view_.tensor(x).elements));
  out_.push_back(std::move(k));
}

bool ChannelNorms::whole_channels() const {
  return std::all_of(group_.ops.begin(), group_.ops.end(), [&](std::uint32_t i) {
    const FuseRole role = c_.plan.roles[i];
    if (role != FuseRole::channel_norm && role != FuseRole::channel_norm_backward) return true;
    return !view_.norms_last(i) && inner_parts(c_.gpu, channel_sums(i)) == 1;
  });
}

SumShape ChannelNorms::channel_sums(std::uint32_t op) const {
  if (view_.is_group_norm(op)) return view_.group_sums(op);
  const bool back = c_.plan.roles[op] == FuseRole::channel_norm_backward;
  const std::uint32_t scale = view_.input(op, back ? 2 : 1), x = view_.input(op, back ? 1 : 0);
  const double channels = scale == no_row ? 1 : double(view_.tensor(scale).elements);
  const double all = x == no_row ? 1 : double(view_.tensor(x).elements);
  return {std::max(1.0, channels), std::max(1.0, all / std::max(1.0, channels))};
}

void ChannelNorms::normalise_whole_channels() {
  const double floor = c_.law.generated.reduction.floor_us;
  double passes = 0;
  for (const std::uint32_t i : group_.ops) {
    if (c_.plan.roles[i] == FuseRole::channel_norm) {
      passes += moments_us({view_.loaded(view_.input(i, 0))}, whole_order(i)) - floor;
    }
  }
  if (view_.count(FuseRole::channel_norm_backward) > 0) {
    GeneratedWork sums{.kind = GeneratedKind::reduction, .bytes = view_.bytes(group_.reads)};
    passes += generated_us(c_.gpu, c_.law.generated, sums) - floor;
  }
  // Forward the block walks over its channel once more at the pace of its sums.
  const bool forward = view_.count(FuseRole::channel_norm) > 0;
  const GeneratedKind pace = forward ? GeneratedKind::reduction : GeneratedKind::pointwise;
  add_whole(pace);
  out_.back().kind = GeneratedKind::reduction;
  out_.back().us += passes + floor - c_.law.generated.rate(pace).floor_us;
}

SumOrder ChannelNorms::whole_order(std::uint32_t op) const {
  const bool streamed = view_.is_group_norm(op) || view_.shifts_pixels(op);
  return streamed ? SumOrder::streamed : SumOrder::images;
}

void ChannelNorms::statistics(std::uint32_t op, std::vector<std::uint32_t> reads, int results,
                              double more_bytes) {
  if (view_.is_group_norm(op)) {
    group_statistics(op, std::move(reads), results);
    return;
  }
  const bool inner = !view_.norms_last(op);
  reduce(std::move(reads), {.columns = channel_sums(op).results,
                            .kinds = results,
                            .moments = c_.plan.roles[op] == FuseRole::channel_norm,
                            .inner = inner,
                            .images = inner && !view_.shifts_pixels(op),
                            .more_bytes = more_bytes});
}

void ChannelNorms::group_statistics(std::uint32_t op, std::vector<std::uint32_t> reads,
                                    int results) {
  const bool back = c_.plan.roles[op] == FuseRole::channel_norm_backward;
  const std::size_t first = out_.size();
  reduce(std::move(reads), {.columns = view_.group_sums(op).results,
                            .kinds = results,
                            .moments = !back,
                            .inner = !back || !c_.images.channels_last});
  if (back) {
    const double columns = view_.group_sums(op).results;
    for (int i = 0; i < 2; ++i) finish(columns, c_.law.generated.finish_us);
  } else if (c_.images.channels_last) {
    const bool split = inner_parts(c_.gpu, view_.group_sums(op)) > 1;
    double sectors = 0;
    for (const std::uint32_t t : out_[first].reads) {
      const double shared = split ? 1 : view_.shared_sector(op, t);
      sectors += double(view_.tensor(t).elements) / shared;
    }
    out_[first].us =
        std::max(out_[first].us, generated_gathered_us(c_.gpu, c_.law.generated, sectors));
  }
}

void ChannelNorms::share_gradient() {
  std::vector<std::uint32_t> reads, writes;
  for (const std::uint32_t i : group_.ops) {
    if (c_.plan.roles[i] != FuseRole::pointwise) continue;
    for (const std::uint32_t t : view_.inputs(i)) {
      const bool outside =
          std::find(group_.reads.begin(), group_.reads.end(), t) != group_.reads.end();
      if (outside && std::find(reads.begin(), reads.end(), t) == reads.end()) reads.push_back(t);
    }
    writes = view_.outputs(i);
  }
  if (!reads.empty()) add(GeneratedKind::pointwise, reads, writes);
}

}  // namespace tandem
