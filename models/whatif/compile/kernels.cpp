#include "models/whatif/compile/kernels.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "models/whatif/compile/group_cycles.h"
#include "models/whatif/compile/inductor/splits.h"

namespace tandem {
namespace {

/// Of channels, image by image, each sum in so many parts.
SumOrder image_order(const SumShape& sum, double parts) {
  return std::fmod(sum.addends, parts) == 0 ? SumOrder::images : SumOrder::uneven_images;
}

/// Without its time.
GeneratedKernel kernel_of(const GroupView& view, GeneratedKind kind,
                          std::vector<std::uint32_t> reads, std::vector<std::uint32_t> writes) {
  GeneratedKernel k;
  k.kind = kind;
  k.reads = std::move(reads);
  k.writes = std::move(writes);
  k.bytes = view.bytes(k.reads) + view.bytes(k.writes) + view.scattered_bytes();
  k.geometry = pointwise_geometry(view.largest(k));
  return k;
}

/// What a kernel of rows does with each of them.
void set_rows(const GroupView& view, const GeneratedKernel& k, GeneratedWork& work) {
  const double largest = view.largest(k);
  work.row_elements = view.row_elements();
  work.rows = largest / work.row_elements;
  work.row_sums = view.row_sums();
  work.row_vector = view.row_vector();
  work.softmax = view.has_softmax();
  work.gradient = view.group().phase == FlowPhase::backward;
  work.row_operands = 0;
  for (const std::uint32_t t : k.reads) {
    const double elements = double(view.read_elements(t));
    work.operand_elements += elements;
    if (elements >= largest) ++work.row_operands;
  }
  for (const std::uint32_t t : k.writes) work.operand_elements += double(view.tensor(t).elements);
  work.row_operands = std::max(1.0, work.row_operands);
}

/// Whether what the operation adds up is a copy of what was rolled.
bool sums_rolled(const GroupView& view, std::uint32_t op) {
  std::uint32_t maker = view.tensor(view.input(op, 0)).producer;
  while (maker != no_row && view.flow_op(maker).kind == OpKind::cast &&
         view.flow_op(maker).input_count > 0) {
    maker = view.tensor(view.inputs(maker).back()).producer;
  }
  return maker != no_row && view.flow_op(maker).row->is(rolls);
}

/// The places are those before the roll, which an index gives: the sum is left to as few blocks as
/// there are columns, eight in each.
GeneratedKernel rolled_sum(const GroupView& view, std::uint32_t op, double columns) {
  const GeneratedCode& code = view.context().law.generated;
  GeneratedKernel k;
  k.kind = GeneratedKind::reduction;
  k.reads = {view.input(op, 0)};
  k.bytes = view.bytes(k.reads);
  const double rows = view.largest(k) / columns;
  k.us = std::max(code.reduction.floor_us + rows * code.rolled_row_us,
                  streamed_us(view.context().gpu, code.column_sum, k.bytes));
  k.geometry = flat_geometry(columns / 8, 512);
  return k;
}

/// Writes down kernels of a group one after the other.
class KernelWriter {
 public:
  KernelWriter(const KernelContext& context, const FusionGroup& group)
      : c_(context), group_(group), view_(context, group) {}

  void add(GeneratedKind kind, std::vector<std::uint32_t> reads,
           std::vector<std::uint32_t> writes) {
    GeneratedKernel k = kernel_of(view_, kind, std::move(reads), std::move(writes));
    k.us = generated_us(c_.gpu, c_.law.generated, adding_work_of(k));
    out_.push_back(std::move(k));
  }

  /// Everything that the group computes but statistics, in one kernel.
  void add_whole(GeneratedKind kind, SumOrder order = SumOrder::streamed) {
    GeneratedKernel k = kernel_of(view_, kind, group_.reads, group_.writes);
    k.bytes += view_.widened_bytes() + view_.place_bytes();
    GeneratedWork work = adding_work_of(k);
    work.order = order;
    work.adds = view_.adds();
    work.lane_cycles = lane_cycles(view_);
    work.random_numbers = view_.random_numbers();
    if (kind == GeneratedKind::pointwise) {
      work.elements = view_.largest(k);
      work.transposed = view_.turns_images();
    } else {
      work.transposed = view_.strided_rows();
      work.looped = kind == GeneratedKind::reduction && view_.loops_for_order();
      set_rows(view_, k, work);
      work.softmax_cycles = softmax_cycles(view_);
      work.lane_cycles +=
          work.looped ? looped_cycles(view_, work.row_operands) : held_softmax_cycles(view_);
      k.geometry = flat_geometry(work.rows, 64);
    }
    k.us = std::max(generated_us(c_.gpu, c_.law.generated, work), view_.unstated_window_us());
    out_.push_back(std::move(k));
  }

  double moments_us(const std::vector<std::uint32_t>& reads, SumOrder order) const {
    double elements = 0;
    for (const std::uint32_t t : reads) elements += double(view_.tensor(t).elements);
    return generated_moments_us(c_.gpu, c_.law.generated, view_.bytes(reads), elements, order);
  }

  void finish(double columns, double us) {
    GeneratedKernel k;
    k.kind = GeneratedKind::row;
    k.us = us;
    k.geometry = flat_geometry(columns / 128, 256);
    out_.push_back(std::move(k));
  }

  /// What a reduction adds up.
  struct Sums {
    double columns = 1;     // results of each kind
    int kinds = 1;          // of results
    bool moments = false;   // running means and variances
    bool inner = false;     // over neighbours
    bool images = false;    // of channels, image by image
    bool across = false;    // neighbouring columns lie far from each other
    bool plain = false;     // nothing else is computed, of one operand
    double more_bytes = 0;  // read besides the operands
  };

  /// Of fewer columns a block takes 16 with 32 rows of each at a time, else 64 with 8 (heuristics
  /// of TorchInductor).
  static constexpr double fewest_wide_columns = 32768;

  /// Sums over rows for each of the columns, in parts that further kernels add up.
  void reduce(std::vector<std::uint32_t> reads, const Sums& sums) {
    std::erase(reads, no_row);
    GeneratedKernel k;
    k.kind = GeneratedKind::reduction;
    k.reads = std::move(reads);
    k.bytes = view_.bytes(k.reads) + sums.more_bytes;
    const double columns = sums.columns;
    const SumShape sum{columns, std::ceil(view_.largest(k) / columns)};
    const double parts = sums.inner ? inner_parts(c_.gpu, sum) : outer_parts(c_.gpu, sum);
    GeneratedWork work = work_of(k);
    if (sums.images) work.order = image_order(sum, parts);
    const bool narrow = columns * parts < fewest_wide_columns;
    work.steps = std::ceil(std::ceil(sum.addends / parts) / (narrow ? 32 : 8));
    if (sums.inner) work.steps = 0;
    work.transposed = sums.across;
    k.us = sums.plain ? streamed_us(c_.gpu, c_.law.generated.column_sum, k.bytes)
                      : sum_us(k, work, sums.moments);
    k.geometry = flat_geometry(columns * parts / (narrow ? 16 : 64), 128);
    out_.push_back(std::move(k));
    const double again = sums.inner ? 1 : outer_parts(c_.gpu, {columns, parts});
    if (again > 1) {
      GeneratedKernel middle;
      middle.kind = GeneratedKind::reduction;
      middle.us = c_.law.generated.reduction.floor_us;
      middle.geometry = flat_geometry(columns * again / 4, 128);
      out_.push_back(std::move(middle));
    }
    const double finish_us = c_.law.generated.finishing_us(columns * parts);
    for (int i = 0; i < sums.kinds && parts > 1; ++i) finish(columns, finish_us);
  }

  double sum_us(const GeneratedKernel& k, const GeneratedWork& work, bool moments) const {
    const GeneratedCode& code = c_.law.generated;
    if (!moments) return generated_us(c_.gpu, code, work);
    return std::max(moments_us(k.reads, work.order),
                    code.reduction.floor_us + work.steps * code.sum_step_us);
  }

  /// Each operand is copied to its place. An operand of several concatenations is read once for
  /// four of them (DenseNet-121 under TorchInductor 2.11).
  void gather_operands(std::uint32_t op) {
    constexpr std::size_t most_results = 4;
    for (const std::uint32_t t : view_.inputs(op)) {
      std::size_t before = 0, after = 0;
      for (const std::uint32_t i : c_.plan.readers[t]) {
        if (c_.plan.roles[i] == FuseRole::gathered) ++(i < op ? before : after);
      }
      if (before % most_results != 0) continue;
      add(GeneratedKind::pointwise, {t},
          std::vector<std::uint32_t>(std::min(after, most_results), t));
    }
  }

 protected:
  GeneratedWork work_of(const GeneratedKernel& k) const {
    GeneratedWork work;
    work.kind = k.kind;
    work.bytes = k.bytes;
    work.cold_bytes = view_.cold_bytes(k.reads);
    return work;
  }

  /// ... of one that adds to tables, if the group does.
  GeneratedWork adding_work_of(const GeneratedKernel& k) const {
    GeneratedWork work = work_of(k);
    work.half_adds = view_.half_adds();
    work.adds_in_turn = view_.adds_in_turn();
    return work;
  }

  const KernelContext& c_;
  const FusionGroup& group_;
  GroupView view_;
  std::vector<GeneratedKernel> out_;
};

/// Kernels of norms over channels.
class ChannelNorms : protected KernelWriter {
 public:
  using KernelWriter::KernelWriter;

  /// The norm of a forward group again, for the gradient of what follows it.
  void renormalise() {
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

  /// Sums over neighbours that are not split leave their channel to one block, which can go over it
  /// again to normalise it.
  bool whole_channels() const {
    return std::all_of(group_.ops.begin(), group_.ops.end(), [&](std::uint32_t i) {
      const FuseRole role = c_.plan.roles[i];
      if (role != FuseRole::channel_norm && role != FuseRole::channel_norm_backward) return true;
      return !view_.norms_last(i) && inner_parts(c_.gpu, channel_sums(i)) == 1;
    });
  }

  SumShape channel_sums(std::uint32_t op) const {
    if (view_.is_group_norm(op)) return view_.group_sums(op);
    const bool back = c_.plan.roles[op] == FuseRole::channel_norm_backward;
    const std::uint32_t scale = view_.input(op, back ? 2 : 1), x = view_.input(op, back ? 1 : 0);
    const double channels = scale == no_row ? 1 : double(view_.tensor(scale).elements);
    const double all = x == no_row ? 1 : double(view_.tensor(x).elements);
    return {std::max(1.0, channels), std::max(1.0, all / std::max(1.0, channels))};
  }

  void normalise_whole_channels() {
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

  /// Groups of channels lie in one piece, channels do not.
  SumOrder whole_order(std::uint32_t op) const {
    const bool streamed = view_.is_group_norm(op) || view_.shifts_pixels(op);
    return streamed ? SumOrder::streamed : SumOrder::images;
  }

  /// Means and variances, or the two sums of a norm's backward.
  void statistics(std::uint32_t op, std::vector<std::uint32_t> reads, int results,
                  double more_bytes = 0) {
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

  /// The rows of a group norm lie across images in channels-last order: what a block reads of them
  /// brings sectors of others along. A block that holds a whole group takes its channels of a pixel
  /// together; parts of a split one are pixels of one channel. Gradients are summed by image and
  /// channel, then by group, then over images.
  void group_statistics(std::uint32_t op, std::vector<std::uint32_t> reads, int results) {
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

  /// Two norms that read one gradient: it is written first.
  void share_gradient() {
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
};

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
      if (sums_rolled(view_, i)) {
        out_.push_back(rolled_sum(view_, i, columns));
      } else {
        reduce({view_.input(i, 0)}, {.columns = columns, .plain = true});
      }
    }
  }
};

/// Generated code computes in FP32 what has no type of its own.
DataType generated_type(DataType type) {
  return type == DataType::unknown || type == DataType::tf32 ? DataType::fp32 : type;
}

}  // namespace

std::vector<GeneratedKernel> group_kernels(const KernelContext& context, const FusionGroup& group) {
  return GroupKernels(context, group).build();
}

PredictedKernel generated_kernel(const LibraryNames& names, GeneratedKind kind,
                                 std::string_view what) {
  constexpr LibraryUse uses[] = {LibraryUse::generated_pointwise, LibraryUse::generated_reduction,
                                 LibraryUse::generated_row};
  PredictedKernel out = names.kernel(uses[static_cast<std::size_t>(kind)]);
  out.name.append("_").append(what);
  return out;
}

PredictedKernel generated_kernel(const KernelContext& context, GeneratedKind kind,
                                 const FusionGroup& group) {
  std::set<std::string> parts;
  for (const std::uint32_t i : group.ops) {
    const FlowOp& op = context.flow.ops[i];
    std::string_view name =
        without_framework(text_of(context.step.trace, context.step.trace.ops.name[op.op]));
    if (op.kind == OpKind::cast) name = "_to_copy";
    while (name.ends_with('_')) name.remove_suffix(1);
    parts.emplace(name);
  }
  std::string what;
  for (const std::string& part : parts) what.append(what.empty() ? "" : "_").append(part);
  return generated_kernel(context.names, kind, what);
}

Operands generated_operands(const KernelContext& context, const FusionGroup& group,
                            const GeneratedKernel& kernel) {
  const GroupView view(context, group);
  Operands out;
  out.has_shapes = true;
  const auto add = [&](std::uint32_t t, std::int64_t elements) {
    TensorShape shape;
    shape.rank = 1;
    shape.dims[0] = elements;
    shape.type = generated_type(view.tensor(t).type);
    out.tensors.add(out.argument_count++, shape);
  };
  for (const std::uint32_t t : kernel.reads) add(t, view.read_elements(t));
  for (const std::uint32_t t : kernel.writes) add(t, view.tensor(t).elements);
  return out;
}

}  // namespace tandem
