#include "models/whatif/compile/library.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>

#include "models/kernel/time/attention.h"
#include "models/kernel/work/gemm_shape.h"
#include "models/whatif/compile/products.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

bool is_convolution(OpKind kind) {
  return kind == OpKind::convolution || kind == OpKind::convolution_backward;
}

}  // namespace

OpContext context_of(const Trace& trace, const FlowOp& op) {
  static const LaunchGeometry none;
  const Operands& operands = operands_of(trace, op.op);
  return {text_of(trace, trace.ops.name[op.op]), operands.tensors, operands.arguments, none};
}

namespace {

const OpTensors& operands(const Trace& trace, const FlowOp& op) {
  return operands_of(trace, op.op).tensors;
}

/// A transform of the tensor whose 32 x 32 tiles of pixels and channels make up the grid.
bool transforms(const LaunchGeometry& g, double pixels, double channels) {
  const auto tiles = [](double n) { return static_cast<std::uint32_t>((n + 31) / 32); };
  return g.grid[0] == tiles(pixels) && g.grid[1] == tiles(channels);
}

/// What the rules ask of a convolution whose images change their order; elements of its operands,
/// bytes an element.
struct Convolution {
  DataType type = DataType::unknown;
  bool backward = false;
  bool channels_last = false;  // already: the library runs it as it did
  bool padded = false;         // the library pads the input channels
  bool depthwise = false;      // one filter a channel
  bool product = false;        // 1x1: a matrix product once channels are contiguous
  double width = 0, channels = 0, pixels = 0, taps = 0;
  double inputs = 0, outputs = 0, weights = 0;
  double macs = 0;
  double bytes() const { return width * (inputs + outputs + weights); }
};

std::optional<Convolution> convolution_of(const Trace& trace, const Dataflow& flow,
                                          const FlowOp& op, const FusionLaw& law) {
  const OpTensors in = operands(trace, op);
  Convolution c;
  c.backward = op.kind == OpKind::convolution_backward;
  const TensorShape* x = in.at(c.backward ? 1 : 0);
  const TensorShape* w = in.at(c.backward ? 2 : 1);
  const auto shape = conv_shape(context_of(trace, op));
  if (x == nullptr || w == nullptr || !shape || x->rank != image_rank) return {};
  if (!of_pictures(trace, flow, op, c.backward ? 1 : 0)) return {};
  c.channels_last = shape->channels_last;
  c.type = x->type;
  c.width = element_bytes(x->type);
  if (c.width == 0) return {};
  const auto vector = static_cast<std::int64_t>(law.products.aligned_bytes / c.width);
  c.padded = x->dims[1] % vector != 0 && shape->groups == 1;
  c.depthwise = shape->groups > 1 && shape->groups == shape->in_channels;
  const bool aligned = !c.padded && shape->out_channels % vector == 0;
  c.product = shape->taps == 1 && shape->strides == 1 && shape->groups == 1 && aligned;
  c.channels = double(x->dims[1]);
  c.pixels = double(shape->in_pixels);
  c.taps = double(shape->taps);
  c.inputs = double(x->elements());
  c.weights = double(w->elements());
  c.outputs = double(shape->images * shape->out_pixels * shape->out_channels);
  c.macs = double(shape->images * shape->out_pixels) * c.weights;
  return c;
}

double generated_passing_us(const KernelContext& context, double bytes) {
  return generated_us(context.gpu, context.law.generated, {.bytes = bytes});
}

/// With channels contiguous a transform only pads; 0: it is not needed at all.
double padding_us(const KernelContext& context, const Convolution& c, const LaunchGeometry& g) {
  const bool image = transforms(g, c.pixels, c.channels);
  if (!c.padded || (!image && !transforms(g, c.taps, c.channels))) return 0;
  constexpr double padding = 4;  // channels of the library's first-layer kernels
  const double moved = (image ? c.inputs : c.weights) * c.width *
                       (1 + std::ceil(c.channels / padding) * padding / c.channels);
  return generated_passing_us(context, moved);
}

double depthwise_us(const KernelContext& context, const Convolution& c, Pass pass) {
  const bool input = c.backward && pass != Pass::weight_gradient;
  return depthwise_us(context.gpu, context.law.products, c.taps, input ? c.inputs : c.outputs,
                      c.bytes(), input);
}

/// Mixed precision permutes within its casts; without casts the compiler adds copies.
void add_permutes(const KernelContext& context, const Convolution& c, LibraryChange& change) {
  if (is_half(c.type) || c.backward) return;
  for (const double elements :
       {c.taps > 1 && c.channels > 1 ? c.weights : 0.0, c.padded ? c.inputs : 0.0}) {
    if (elements == 0) continue;
    const double moved = 2 * elements * c.width;
    change.before.push_back(
        {generated_kernel(context.names, GeneratedKind::pointwise, "convolution"),
         "aten::convolution", generated_passing_us(context, moved), moved,
         pointwise_geometry(elements)});
  }
}

bool on_tensor_cores(const KernelClass& k) {
  return k.traits.engine == Engine::hmma || k.traits.engine == Engine::gmma;
}

}  // namespace

const KernelClass& LibraryRewrite::kernel_class(std::uint32_t work) const {
  return c_.step.kernels.of(c_.step.plan.works[work].source);
}

double LibraryRewrite::aligned_us(double flops, double bytes, DataType type) const {
  return aligned_product_us(c_.gpu, c_.law.products, flops, bytes, type);
}

/// Layers of one tap, in groups or depthwise and first ones, where they were measured in both
/// orders: in channels-last order the library runs many another way. False where nothing tells. (Of
/// other windows, which only lose their transforms, measured layers told less than the kernels at
/// hand.)
bool LibraryRewrite::measured_convolution(const FlowOp& op, DataType type,
                                          LibraryChange& change) const {
  constexpr std::int64_t colours = 4;  // channels of the library's first-layer kernels
  const auto shape = conv_shape(context_of(c_.step.trace, op));
  const bool back = op.kind == OpKind::convolution_backward;
  if (!shape || (shape->groups == 1 && shape->taps > 1 && shape->in_channels > colours) ||
      c_.layers.compute_major != c_.gpu.compute_major) {
    return false;
  }
  const bool grouped = shape->groups > 1 && shape->groups < shape->in_channels;
  if (grouped && back) return false;
  std::vector<std::uint32_t> works;
  std::vector<LayerKernel> kernels;
  for (const std::uint32_t work : c_.flow.works_of(op)) {
    if (!is_of_pass(kernel_class(work))) continue;
    works.push_back(work);
    kernels.push_back({&kernel_class(work), to_us(c_.step.plan.works[work].duration)});
  }
  LibraryChange found;
  for (const PassKernels& p : passes_of(kernels, back)) {
    const auto own = std::span(kernels).subspan(p.begin, p.end - p.begin);
    const auto layers =
        order_change(c_.layers, layer_shape(*shape, p.pass), is_half(type), layer_class_of(own));
    if (!layers || !reorder_pass(own, *layers, std::span(works).subspan(p.begin), found))
      return false;
  }
  change = std::move(found);
  return !works.empty();
}

/// The kernels of one pass as the library has them in channels-last order: transforms vanish where
/// it needs none.
bool LibraryRewrite::reorder_pass(std::span<const LayerKernel> kernels,
                                  const MeasuredChange& layers,
                                  std::span<const std::uint32_t> works,
                                  LibraryChange& change) const {
  const bool turned = layers.to.layer_class.turned;
  const auto vanishes = [&](const LayerKernel& k) {
    return !turned && k.kernel->family == KernelFamily::layout;
  };
  double before = 0, kept = 0;
  for (const LayerKernel& k : kernels) {
    before += k.us;
    if (!vanishes(k)) kept += k.us;
  }
  if (kept <= 0) return false;
  const double after = carried_layer_us(c_.layers, layers, before);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    if (vanishes(kernels[i])) {
      change.dropped.push_back(works[i]);
    } else {
      change.retimed.emplace_back(works[i], kernels[i].us * after / kept);
    }
  }
  return true;
}

void LibraryRewrite::convolution(const FlowOp& op, LibraryChange& change) {
  const Trace& trace = c_.step.trace;
  const auto c = convolution_of(trace, c_.flow, op, c_.law);
  if (!c || c->channels_last) return;
  if (measured_convolution(op, c->type, change)) {
    add_permutes(c_, *c, change);
    return;
  }
  for (const std::uint32_t work : c_.flow.works_of(op)) {
    const KernelClass& k = kernel_class(work);
    const std::uint32_t a = c_.step.plan.works[work].source;
    double best = to_us(trace.activities.duration[a]);
    if (k.family == KernelFamily::layout) {
      const GeometryId g = trace.activities.geometry[a];
      const double us = g.valid() ? padding_us(c_, *c, trace.geometries[g.index()]) : 0;
      if (us == 0) {
        change.dropped.push_back(work);
        continue;
      }
      best = std::min(best, us);
    } else if (c->product && on_tensor_cores(k)) {
      best = std::min(best, aligned_us(2 * c->macs, c->bytes(), c->type));
    } else if (c->depthwise && k.family == KernelFamily::convolution) {
      best = std::min(best, depthwise_us(c_, *c, k.traits.pass));
    } else {
      continue;
    }
    change.retimed.emplace_back(work, best);
  }
  add_permutes(c_, *c, change);
}

void LibraryRewrite::replace_product(const FlowOp& op, const ProductOperands& p, double bytes,
                                     double us, LibraryChange& change) const {
  const auto works = c_.flow.works_of(op);
  const DataType type = c_.flow.tensors[c_.flow.outputs_of(op)[0]].type;
  change.dropped.assign(works.begin(), works.end());
  change.before.push_back({c_.names.kernel(LibraryUse::score_product, type), "aten::bmm", us, bytes,
                           product_geometry(p.batch, p.rows, p.columns),
                           product_factors(p.batch, p.rows, p.inner, p.columns, type)});
}

void LibraryRewrite::lowered_product(const FlowOp& op, const ProductOperands& p,
                                     LibraryChange& change) const {
  const auto m = double(p.rows), k = double(p.inner), n = double(p.columns);
  const auto batch = double(std::max<std::int64_t>(p.batch, 1));
  const DataType type = c_.flow.tensors[c_.flow.outputs_of(op)[0]].type;
  const double bytes = element_bytes(type) * batch * (m * k + k * n + m * n);
  const GemmShape shape = gemm_shape(p, type);
  const double us = aligned_product(shape, c_.law.products.aligned_bytes)
                        ? aligned_us(2 * batch * m * n * k, bytes, type)
                        : library_product_time(c_.gpu, c_.library_products, shape, c_.time,
                                               c_.law.products.floor_us)
                              .time_us;
  replace_product(op, p, bytes, us, change);
}

void LibraryRewrite::product_of_items(const FlowOp& op, const ProductOperands& p,
                                      LibraryChange& change) const {
  const double whole_us = works_us(c_.step, c_.flow.works_of(op));
  const AlignedProducts& products = c_.law.products;
  const DataType type = p.left.type;
  const GemmShape shape{.m = p.rows, .n = p.columns, .k = p.inner, .batch = p.batch, .type = type};
  const double us = item_product_us(c_.gpu, c_.law.item_products, shape, products.aligned_bytes,
                                    products.dram_share, whole_us);
  const auto m = double(p.rows), k = double(p.inner), n = double(p.columns);
  const double bytes = element_bytes(type) * (double(p.batch) * m * (k + n) + k * n);
  replace_product(op, p, bytes, us, change);
}

/// Operands of one product have sizes of their own, which tell them apart among its inputs.
bool LibraryRewrite::is_made(const FlowOp& op, const TensorShape& shape) const {
  const auto inputs = c_.flow.inputs_of(op);
  return std::any_of(inputs.begin(), inputs.end(), [&](const FlowUse& use) {
    const FlowTensor& t = c_.flow.tensors[use.tensor];
    return t.elements == shape.elements() && t.producer != no_row &&
           fusable(c_.plan.roles[t.producer]);
  });
}

bool LibraryRewrite::fused_attention(const FlowOp& op, LibraryChange& change) const {
  const std::uint32_t place = c_.flow.place_of(op);
  const auto found = std::find_if(
      c_.plan.attention.begin(), c_.plan.attention.end(),
      [&](const WrittenAttention& a) { return a.scores == place || a.results == place; });
  if (found == c_.plan.attention.end()) return false;
  const auto works = c_.flow.works_of(op);
  change.dropped.assign(works.begin(), works.end());
  if (found->results != place) return true;
  const AttentionShape& shape = found->shape;
  change.before.push_back(
      {.kernel = c_.names.kernel(LibraryUse::attention_forward, found->type, c_.gpu.compute_major),
       .op = "aten::scaled_dot_product_attention",
       .us = attention_us(c_.gpu, c_.time, shape, found->type, false),
       .geometry = attention_geometry(shape),
       .operands = attention_operands(shape, found->type)});
  return true;
}

void LibraryRewrite::matmul(const FlowOp& op, LibraryChange& change) {
  if (fused_attention(op, change)) return;
  const auto p = product_operands(context_of(c_.step.trace, op));
  if (p && is_lowered(c_.step.trace, c_.flow, op)) return lowered_product(op, *p, change);
  if (!turns_weights_) {
    const auto items = unfolded_product(c_.step.trace, c_.flow, op);
    if (items) return product_of_items(op, *items, change);
  }
  const bool padded = p && (is_half(p->left.type) || p->left.type == DataType::fp32);
  if (!padded || p->batch > 1) return;
  const auto padding =
      product_padding(c_.gpu, c_.law.padding, *p, {is_made(op, p->left), is_made(op, p->right)});
  if (!padding) return;
  const DataType type = p->left.type;
  const auto m = double(p->rows), k = double(p->inner), n = double(p->columns);
  const double fast =
      aligned_us(2 * m * n * k, element_bytes(type) * (m * k + k * n + m * n), type);
  for (const std::uint32_t work : c_.flow.works_of(op)) {
    if (!on_tensor_cores(kernel_class(work))) continue;
    if (!keeps_padding(*padding, to_us(c_.step.plan.works[work].duration), fast)) continue;
    change.retimed.emplace_back(work, fast);
    change.before.push_back({generated_kernel(c_.names, GeneratedKind::pointwise, "mm"),
                             "aten::constant_pad_nd", generated_passing_us(c_, padding->moved),
                             padding->moved,
                             pointwise_geometry(padding->moved / (2 * element_bytes(type)))});
  }
}

LibraryChange LibraryRewrite::rewrite(const FlowOp& op) {
  LibraryChange change;
  if (blocks_.holds(op)) return change;  // the framework's, as it ran
  if (is_convolution(op.kind) && c_.images.channels_last) convolution(op, change);
  if (is_convolution(op.kind) && turns_weights_) turn_weights(op, change);
  if (op.kind == OpKind::convolution_backward && c_.images.channels_last && !turns_weights_) {
    restore_gradient(op, change);
  }
  if (op.kind == OpKind::matmul) matmul(op, change);
  if (blocks_.leaves_in_pieces(op)) take_apart(op, change);
  return change;
}

void LibraryRewrite::take_apart(const FlowOp& op, LibraryChange& change) const {
  for (const FlowUse& use : c_.flow.inputs_of(op)) {
    const ArgumentName mask = ArgumentName::mask;
    if (use.argument == op.row->arguments.at(mask)) continue;
    const double elements = double(c_.flow.elements_of(use));
    const double bytes = 2 * elements * element_bytes(c_.flow.tensors[use.tensor].type);
    change.before.push_back({generated_kernel(c_.names, GeneratedKind::pointwise, "add_clone"),
                             "aten::clone", generated_passing_us(c_, bytes), bytes,
                             pointwise_geometry(elements)});
  }
}

/// Of one tap or one channel a group both orders are the same; a program in channels-last order has
/// its parameters in it.
void LibraryRewrite::restore_gradient(const FlowOp& op, LibraryChange& change) const {
  const OpTensors in = operands(c_.step.trace, op);
  const TensorShape* w = in.at(2);
  if (w == nullptr || w->rank != image_rank || w->channels_last || w->dims[1] == 1) return;
  const std::int64_t filters = w->dims[0] * w->dims[1];
  if (w->elements() <= filters) return;
  // A weight that a cast of the step made has an FP32 parameter behind it.
  double width = element_bytes(w->type);
  for (const FlowUse& use : c_.flow.inputs_of(op)) {
    const std::uint32_t maker = c_.flow.tensors[use.tensor].producer;
    const bool cast = maker != no_row && c_.flow.ops[maker].kind == OpKind::cast;
    if (use.argument == 2 && cast) width = element_bytes(DataType::fp32);
  }
  const double bytes = 2 * width * double(w->elements());
  const LaunchGeometry geometry = pointwise_geometry(double(w->elements()));
  change.after.push_back({c_.names.kernel(LibraryUse::ordered_copy, DataType::fp32), "aten::clone",
                          streamed_us(c_.gpu, c_.law.gradient_copy, bytes), bytes, geometry});
}

void LibraryRewrite::turn_weights(const FlowOp& op, LibraryChange& change) const {
  const auto c = convolution_of(c_.step.trace, c_.flow, op, c_.law);
  if (!c) return;
  // Parameters and gradients are FP32 on the program's side.
  const double bytes = c->weights * (c->width + element_bytes(DataType::fp32));
  const double share = is_half(c->type) ? c_.law.transpose_cast_share : c_.law.transpose_share;
  const double us = streamed_us(c_.gpu, {c_.law.generated.pointwise.floor_us, share}, bytes);
  change.before.push_back({generated_kernel(c_.names, GeneratedKind::pointwise, "transpose"),
                           "aten::transpose", us, bytes, pointwise_geometry(c->weights)});
}

}  // namespace tandem
