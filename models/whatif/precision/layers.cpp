#include "models/whatif/precision/layers.h"

#include <vector>

#include "models/kernel/choice/depthwise_rule.h"
#include "models/kernel/choice/layer_rule.h"
#include "models/kernel/kinds.h"
#include "models/kernel/launch_rules.h"

namespace tandem {
namespace {

/// The kernels of one pass of a layer.
struct LayerPass {
  LayerShape shape;
  std::vector<std::uint32_t> works;
  std::vector<LayerKernel> kernels;  // of the works
  double us = 0;
  LayerClass traced;
};

LayerPass pass_of(const TypedStep& s, const ConvShape& shape, Pass pass,
                  std::span<const std::uint32_t> works) {
  LayerPass out;
  out.shape = layer_shape(shape, pass);
  for (const std::uint32_t w : works) {
    out.works.push_back(w);
    out.kernels.push_back({&s.kernel_class(w), s.us(w)});
    out.us += s.us(w);
  }
  out.traced = layer_class_of(out.kernels);
  return out;
}

std::vector<LayerPass> layer_passes(const TypedStep& s, const FlowOp& op, const ConvShape& shape) {
  std::vector<std::uint32_t> works;
  std::vector<LayerKernel> kernels;
  for (const std::uint32_t w : s.flow.works_of(op)) {
    if (!is_of_pass(s.kernel_class(w))) continue;
    works.push_back(w);
    kernels.push_back({&s.kernel_class(w), s.us(w)});
  }
  const std::span<const std::uint32_t> all(works);
  std::vector<LayerPass> out;
  const bool backward = op.kind == OpKind::convolution_backward;
  for (const PassKernels& p : passes_of(kernels, backward, is_transposed(s.context(op.op)))) {
    out.push_back(pass_of(s, shape, p.pass, all.subspan(p.begin, p.end - p.begin)));
  }
  return out;
}

/// Depthwise layers in the framework's order of images: the framework runs them, in FP16 some are
/// the library's. Nothing where the traced kernels are not what the rule says.
std::optional<MeasuredChange> depthwise_change(const TypedStep& s, const LayerPass& p,
                                               DataType from, DataType to) {
  const bool suits = library_runs_depthwise(p.shape);
  const bool before = suits && from == DataType::fp16, after = suits && to == DataType::fp16;
  if (before == (p.traced.path == LayerPath::framework)) return {};
  // Both types take as long where the taps bound a kernel, which they do.
  if (before == after) return MeasuredChange{{p.traced, p.us, 0}, {p.traced, p.us, 0}};
  return type_change(s.c.layers, p.shape, after, p.traced);
}

std::optional<MeasuredChange> change_of(const TypedStep& s, const LayerPass& p, DataType from,
                                        DataType to) {
  if (is_depthwise(p.shape) && !p.shape.channels_last && !p.shape.line) {
    return depthwise_change(s, p, from, to);
  }
  if (is_half(from) == is_half(to)) return MeasuredChange{{p.traced, p.us, 0}, {p.traced, p.us, 0}};
  return type_change(s.c.layers, p.shape, is_half(to), p.traced);
}

LibraryUse depthwise_use(LayerPath path, Pass pass) {
  const bool framework = path == LayerPath::framework;
  switch (pass) {
    case Pass::forward:
      return framework ? LibraryUse::depthwise_forward : LibraryUse::library_depthwise_forward;
    case Pass::input_gradient:
      return framework ? LibraryUse::depthwise_input_gradient
                       : LibraryUse::library_depthwise_input_gradient;
    default:
      return framework ? LibraryUse::depthwise_weight_gradient
                       : LibraryUse::library_depthwise_weight_gradient;
  }
}

/// What the library calls the kernel that takes the place of another one.
std::optional<PredictedKernel> kernel_of(const TypedStep& s, LayerPath path, Pass pass,
                                         DataType to) {
  const int major = s.c.gpu.compute_major;
  const DataType math = to == DataType::fp32 ? DataType::tf32 : to;
  const LibraryKernel* found = nullptr;
  switch (path) {
    case LayerPath::product: return s.c.names.kernel(LibraryUse::product, math, major);
    case LayerPath::direct:
    case LayerPath::framework: {
      PredictedKernel out = s.c.names.kernel(depthwise_use(path, pass), to, major);
      set_pass(out.kernel, pass);
      return out;
    }
    case LayerPath::implicit:
      found =
          s.c.names.find(major, multiply_engine(s.c.gpu, math), KernelFamily::convolution, math);
      break;
    case LayerPath::lanes:
      found = s.c.names.find(major, Engine::simt, KernelFamily::convolution, DataType::fp32);
  }
  if (found == nullptr) return {};
  return predicted_kernel(*found, {}, pass);
}

/// How the library's kernels for channels by themselves are launched: for gradients of windows a
/// block has one channel of all images, else eight channels and some nine rows of one.
LaunchGeometry depthwise_geometry(const TensorShape& image, Pass pass, LaunchGeometry before) {
  constexpr std::int64_t channels = 8, rows = 9;
  LaunchGeometry out = before;
  if (pass == Pass::weight_gradient) {
    out.grid = {1, grid_side(image.dims[1]), 1};
    out.block = {lanes_per_warp, 4, 1};
    return out;
  }
  out.grid = {grid_side(ceil_div(image.dims[3], lanes_per_warp)),
              grid_side(ceil_div(image.dims[1], channels) *
                        std::max<std::int64_t>(1, image.dims[2] / rows)),
              grid_side(image.dims[0])};
  out.block = {lanes_per_warp, 8, 1};
  return out;
}

/// Of the kernel that takes the place of one launched as `before`. Where y would be a raster, the
/// blocks stand along x.
LaunchGeometry geometry_of(const KernelTraits& kernel, const OpContext& context, Pass pass,
                           const LaunchGeometry& before) {
  const TensorShape* const image =
      context.tensors.at(op_row(context.op).arguments.at(ArgumentName::input));
  const bool library =
      kernel.kind == Kind::depthwise_shared || kernel.kind == Kind::depthwise_shared_weights;
  if (library && image != nullptr && image->rank == image_rank) {
    return depthwise_geometry(*image, pass, before);
  }
  LaunchGeometry out = before;
  if (lays_out_raster(kernel)) {
    out.grid = grid_of_tiles(kernel, {before.grid[0], before.grid[1], before.grid[2]});
  }
  return out;
}

void insert_transform(TypedStep& s, const FlowOp& op, std::uint32_t main, bool before, DataType to,
                      double us) {
  NewKernel k = s.new_kernel(
      op, main,
      s.c.names.kernel(before ? LibraryUse::to_channels_last : LibraryUse::to_channels_first, to),
      us);
  k.op.clear();  // part of the layer, which what-ifs behind this one find whole
  if (before) {
    s.edit.insert_before(main, std::move(k));
  } else {
    s.edit.insert_after(main, std::move(k));
  }
}

/// The longest kernel of the pass that multiplies: a transform of a large image may take longer.
std::uint32_t multiplying_work(const TypedStep& s, const LayerPass& p) {
  std::vector<std::uint32_t> works;
  for (std::size_t i = 0; i < p.works.size(); ++i) {
    if (does_products(*p.kernels[i].kernel)) works.push_back(p.works[i]);
  }
  return s.main_work(works.empty() ? p.works : works);
}

/// One kernel does the work, between the transforms that are there or now needed.
void switch_kernels(TypedStep& s, const FlowOp& op, const LayerPass& p, const LayerTime& after,
                    DataType to) {
  const std::uint32_t main = multiplying_work(s, p);
  const std::uint32_t first = s.flow.works_of(op).front();
  std::vector<std::uint32_t> transforms;
  for (std::size_t i = 0; i < p.works.size(); ++i) {
    const std::uint32_t w = p.works[i];
    if (w == main) continue;
    constexpr std::size_t most = 2;  // of images: an operand and the result, or two operands
    const bool transform = p.kernels[i].kernel->family == KernelFamily::layout;
    if (transform && after.layer_class.turned && transforms.size() < most) {
      transforms.push_back(w);
    } else {
      s.edit.drop(w, w != first);
    }
  }
  const double turning = after.layer_class.turned ? after.turning_us : 0;
  s.set_time(main, after.us - turning);
  for (const std::uint32_t w : transforms) {
    s.set_time(w, turning / static_cast<double>(transforms.size()));
  }
  if (transforms.empty() && turning > 0) {
    insert_transform(s, op, main, true, to, turning / 2);
    insert_transform(s, op, main, p.shape.pass == Pass::weight_gradient, to, turning / 2);
  }
  if (after.layer_class.path == p.traced.path) return;
  if (const auto kernel = kernel_of(s, after.layer_class.path, p.shape.pass, to)) {
    s.edit.set_kernel(main, *kernel);
    s.edit.set_geometry(
        main, geometry_of(kernel->kernel.traits, s.context(op.op), p.shape.pass, s.geometry(main)));
  }
}

/// Three-dimensional images were not measured.
bool is_volume(const OpContext& context) {
  const OpRow& row = op_row(context.op);
  const TensorShape* image = context.tensors.at(row.arguments.at(ArgumentName::input));
  return image == nullptr || image->rank > image_rank;
}

void retype_pass(TypedStep& s, const FlowOp& op, const LayerPass& p, const MeasuredChange& change,
                 DataType to) {
  LayerTime after = change.to;
  after.us = carried_layer_us(s.c.layers, change, p.us);
  after.turning_us *= after.us / change.to.us;
  if (after.layer_class == p.traced) {
    for (const std::uint32_t w : p.works) s.set_time(w, s.us(w) * after.us / p.us);
    return;
  }
  add_switch(s.report.switches, describe(p.traced), describe(after.layer_class), after.us);
  s.switched_us += after.us;
  switch_kernels(s, op, p, after, to);
}

}  // namespace

void state_ruled_switches(TypedStep& s, const FlowOp& op, DataType from, DataType to) {
  const auto shape = conv_shape(s.context(op.op));
  if (!shape) return;
  for (const LayerPass& p : layer_passes(s, op, *shape)) {
    const LayerClass before = layer_class_by_rule(s.c.gpu, p.shape, from);
    const LayerClass after = layer_class_by_rule(s.c.gpu, p.shape, to);
    if (before == after || !(before == p.traced)) continue;
    double us = 0;
    const Step& step = s.edit.step();
    for (const std::uint32_t w : p.works) {
      us += to_us(step.trace.activities.duration[step.plan.works[w].source]);
    }
    add_switch(s.report.switches, describe(before), describe(after), us);
  }
}

bool retype_layer(TypedStep& s, const FlowOp& op, DataType from, DataType to) {
  if (s.c.layers.compute_major != s.c.gpu.compute_major) return false;
  const OpContext context = s.context(op.op);
  const auto shape = conv_shape(context);
  if (!shape || is_volume(context)) return false;
  const std::vector<LayerPass> passes = layer_passes(s, op, *shape);
  std::vector<MeasuredChange> changes;
  for (const LayerPass& p : passes) {
    const auto change = p.us > 0 ? change_of(s, p, from, to) : std::nullopt;
    if (!change) return false;
    changes.push_back(*change);
  }
  for (std::size_t i = 0; i < passes.size(); ++i) retype_pass(s, op, passes[i], changes[i], to);
  return true;
}

}  // namespace tandem
