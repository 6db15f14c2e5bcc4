#include "models/whatif/compile/kernels.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace tandem {
namespace {

std::uint32_t blocks(double count) {
  return static_cast<std::uint32_t>(std::clamp(std::ceil(count), 1.0, 2147483647.0));
}

LaunchGeometry geometry(std::uint32_t grid, std::uint32_t threads) {
  LaunchGeometry g;
  g.grid = {grid, 1, 1};
  g.block = {threads, 1, 1};
  g.registers_per_thread = 32;
  return g;
}

/// What a group reads, makes and computes.
class GroupView {
 public:
  GroupView(const KernelContext& context, const FusionGroup& group) : c_(context), group_(group) {}

  const FlowOp& flow_op(std::uint32_t i) const { return c_.flow.ops[i]; }
  const FlowTensor& tensor(std::uint32_t t) const { return c_.flow.tensors[t]; }

  std::size_t count(FuseRole role) const {
    return static_cast<std::size_t>(
        std::count_if(group_.ops.begin(), group_.ops.end(),
                      [&](std::uint32_t i) { return c_.plan.roles[i] == role; }));
  }

  std::uint32_t input(std::uint32_t op, std::uint8_t argument) const {
    for (const FlowUse& use : c_.flow.inputs_of(flow_op(op))) {
      if (use.argument == argument) return c_.plan.same_as[use.tensor];
    }
    return no_row;
  }
  std::vector<std::uint32_t> inputs(std::uint32_t op) const {
    std::vector<std::uint32_t> list;
    for (const FlowUse& use : c_.flow.inputs_of(flow_op(op))) {
      list.push_back(c_.plan.same_as[use.tensor]);
    }
    return list;
  }
  std::vector<std::uint32_t> outputs(std::uint32_t op) const {
    const auto list = c_.flow.outputs_of(flow_op(op));
    return {list.begin(), list.end()};
  }

  double bytes(const std::vector<std::uint32_t>& list) const {
    double sum = 0;
    for (const std::uint32_t t : list) sum += tensor(t).bytes();
    return sum;
  }
  /// Rows that are added to a table are read and written there.
  double scattered_bytes() const {
    double sum = 0;
    for (const std::uint32_t i : group_.ops) {
      if (flow_op(i).kind != OpKind::scatter || input(i, 0) == no_row) continue;
      sum += 2 * tensor(input(i, 0)).bytes();
    }
    return sum;
  }
  double largest(const GeneratedKernel& k) const {
    double n = 1;
    for (const std::uint32_t t : k.reads) n = std::max(n, double(tensor(t).elements));
    for (const std::uint32_t t : k.writes) n = std::max(n, double(tensor(t).elements));
    return n;
  }

  /// Elements of one row: those of the norm's scale, else unknown and short.
  double row_elements() const {
    for (const std::uint32_t i : group_.ops) {
      const OpKind kind = flow_op(i).kind;
      const std::uint32_t scale = input(i, kind == OpKind::row_norm ? 2 : 5);
      const bool norm = kind == OpKind::row_norm || kind == OpKind::row_norm_backward;
      if (norm && scale != no_row) return double(tensor(scale).elements);
    }
    return c_.law.persistent_columns;
  }

  GeneratedKind row_kind() const {
    return row_elements() > c_.law.persistent_columns ? GeneratedKind::reduction
                                                      : GeneratedKind::row;
  }

 private:
  const KernelContext& c_;
  const FusionGroup& group_;
};

/// The kernels of a group, in the order in which they run.
class GroupKernels {
 public:
  GroupKernels(const KernelContext& context, const FusionGroup& group)
      : c_(context), group_(group), view_(context, group) {}

  std::vector<GeneratedKernel> build() {
    const std::size_t norms = view_.count(FuseRole::channel_norm);
    const std::size_t norms_back = view_.count(FuseRole::channel_norm_backward);
    const std::size_t rows = view_.count(FuseRole::row);
    const std::size_t columns = view_.count(FuseRole::column_sum);
    if (columns == group_.ops.size()) {
      sum_columns();
      return std::move(out_);
    }
    for (const std::uint32_t i : group_.ops) {
      if (c_.plan.roles[i] == FuseRole::channel_norm) statistics(i, {view_.input(i, 0)}, 1);
    }
    if (norms_back > 1) share_gradient();
    for (const std::uint32_t i : group_.ops) {
      if (c_.plan.roles[i] != FuseRole::channel_norm_backward) continue;
      statistics(i, norms_back > 1 ? view_.inputs(i) : group_.reads, 2);
      if (norms_back > 1) add(GeneratedKind::pointwise, view_.inputs(i), view_.outputs(i));
    }
    if (norms_back <= 1) {
      const bool window = view_.count(FuseRole::window) > 0;
      add(rows > 0 && norms + norms_back == 0 && !window ? view_.row_kind()
                                                         : GeneratedKind::pointwise,
          group_.reads, group_.writes);
      add_random();
    }
    for (const std::uint32_t i : group_.ops) {
      if (view_.flow_op(i).kind == OpKind::row_norm_backward)
        statistics(i, {view_.input(i, 0), view_.input(i, 1)}, 2);
    }
    sum_columns();
    return std::move(out_);
  }

 private:
  void add(GeneratedKind kind, std::vector<std::uint32_t> reads,
           std::vector<std::uint32_t> writes) {
    GeneratedKernel k;
    k.kind = kind;
    k.reads = std::move(reads);
    k.writes = std::move(writes);
    k.bytes = view_.bytes(k.reads) + view_.bytes(k.writes) + view_.scattered_bytes();
    k.us = generated_us(c_.gpu, c_.law.generated, kind, k.bytes);
    k.geometry = kind == GeneratedKind::pointwise
                     ? pointwise_geometry(view_.largest(k))
                     : geometry(blocks(view_.largest(k) / view_.row_elements()), 64);
    out_.push_back(std::move(k));
  }

  void finish(double columns) {
    GeneratedKernel k;
    k.kind = GeneratedKind::row;
    k.us = c_.law.generated.finish_us;
    k.geometry = geometry(blocks(columns / 128), 256);
    out_.push_back(std::move(k));
  }

  /// Sums over rows for each of `columns`, in parts that further kernels add up.
  void reduce(std::vector<std::uint32_t> reads, double columns, int results, bool moments = false) {
    std::erase(reads, no_row);
    GeneratedKernel k;
    k.kind = GeneratedKind::reduction;
    k.reads = std::move(reads);
    k.bytes = view_.bytes(k.reads);
    k.us = moments ? generated_moments_us(c_.gpu, c_.law.generated, k.bytes, view_.largest(k))
                   : generated_us(c_.gpu, c_.law.generated, k.kind, k.bytes);
    const double parts = std::ceil(view_.largest(k) / columns / c_.law.split_elements);
    k.geometry = geometry(blocks(columns * parts / (columns * parts < 32768 ? 16 : 64)), 128);
    out_.push_back(std::move(k));
    if (parts > c_.law.split_elements) {
      GeneratedKernel middle;
      middle.kind = GeneratedKind::reduction;
      middle.us = c_.law.generated.reduction.floor_us;
      middle.geometry = geometry(blocks(columns * parts / c_.law.split_elements / 4), 128);
      out_.push_back(std::move(middle));
    }
    for (int i = 0; i < results && parts > 1; ++i) finish(columns);
  }

  /// Means and variances, or the two sums of a norm's backward. Outputs beyond the first, or the
  /// scale, have one element a column.
  void statistics(std::uint32_t op, std::vector<std::uint32_t> reads, int results) {
    const bool channels = c_.plan.roles[op] != FuseRole::row;
    const std::uint32_t scale = view_.input(op, channels ? (results == 1 ? 1 : 2) : 5);
    const double columns = scale == no_row ? 1 : double(view_.tensor(scale).elements);
    const bool moments = c_.plan.roles[op] == FuseRole::channel_norm;
    reduce(std::move(reads), std::max(1.0, columns), results, moments);
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

  void add_random() {
    double numbers = 0;
    for (const std::uint32_t i : group_.ops) {
      const bool draws =
          view_.flow_op(i).kind == OpKind::dropout && group_.phase == FlowPhase::forward;
      if (draws && view_.input(i, 0) != no_row)
        numbers += double(view_.tensor(view_.input(i, 0)).elements);
    }
    out_.back().us += random_numbers_us(c_.gpu, c_.law.generated, numbers);
  }

  void sum_columns() {
    for (const std::uint32_t i : group_.ops) {
      if (c_.plan.roles[i] != FuseRole::column_sum || view_.input(i, 0) == no_row) continue;
      const auto outs = view_.outputs(i);
      const double columns = outs.empty() ? 1 : double(view_.tensor(outs[0]).elements);
      reduce({view_.input(i, 0)}, std::max(1.0, columns), 1);
    }
  }

  const KernelContext& c_;
  const FusionGroup& group_;
  GroupView view_;
  std::vector<GeneratedKernel> out_;
};

/// Generated code computes in FP32 what has no type of its own.
DataType generated_type(DataType type) {
  return type == DataType::unknown || type == DataType::tf32 ? DataType::fp32 : type;
}

}  // namespace

LaunchGeometry pointwise_geometry(double elements) {
  const double per_block = elements < 4e6 ? 512 : 1024;
  return geometry(blocks(elements / per_block), 128);
}

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

Operands generated_operands(const Dataflow& flow, const GeneratedKernel& kernel) {
  Operands out;
  out.has_shapes = true;
  for (const auto* list : {&kernel.reads, &kernel.writes}) {
    for (const std::uint32_t t : *list) {
      TensorShape shape;
      shape.rank = 1;
      shape.dims[0] = flow.tensors[t].elements;
      shape.type = generated_type(flow.tensors[t].type);
      out.tensors.add(out.argument_count++, shape);
    }
  }
  return out;
}

}  // namespace tandem
