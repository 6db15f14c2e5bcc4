// Convolutions as matrix products.
#include <algorithm>
#include <array>
#include <cmath>

#include "models/kernel/work/layer_products.h"
#include "sim/core/bounds/limits.h"

namespace tandem {
namespace {

/// Whether stride, padding and dilation are those of a convolution, as far as they are recorded.
bool has_valid_options(const OpContext& context, const OpArguments& args) {
  constexpr std::int64_t most = 1 << 20;
  const auto within = [&](ArgumentName name, std::int64_t least) {
    if (args.at(name) >= context.arguments.size()) return true;
    const auto values = integers_of(context.arguments[args.at(name)]);
    return std::all_of(values.begin(), values.end(),
                       [&](std::int64_t v) { return v >= least && v <= most; });
  };
  return within(ArgumentName::stride, 1) && within(ArgumentName::padding, 0) &&
         within(ArgumentName::dilation, 1) && within(ArgumentName::groups, 1);
}

// Without recorded arguments: "same" padding, and no stride unless the gradient tells.
void set_pixels(const OpContext& context, const OpArguments& args, const TensorShape& image,
                const TensorShape& weight, const TensorShape* gradient, ConvShape& out) {
  for (std::size_t i = 2; i < image.rank && i < weight.rank; ++i) {
    const std::int64_t size = image.dims[i], tap = weight.dims[i];
    const std::int64_t stride = option(context, args.at(ArgumentName::stride), i - 2, 1);
    const std::int64_t padding =
        option(context, args.at(ArgumentName::padding), i - 2, (tap - 1) / 2);
    const std::int64_t dilation = option(context, args.at(ArgumentName::dilation), i - 2, 1);
    // Dimensions and options are bounded: this stays below 2^62.
    std::int64_t pixels = (size + 2 * padding - dilation * (tap - 1) - 1) / stride + 1;
    if (gradient != nullptr && gradient->rank > i) pixels = gradient->dims[i];
    out.in_pixels = limits::product(out.in_pixels, size);
    out.out_pixels = limits::product(out.out_pixels, std::max<std::int64_t>(pixels, 1));
    out.taps = limits::product(out.taps, tap);
    if (tap > 1) out.dilation = std::max(out.dilation, dilation);
    const std::int64_t step =
        std::max<std::int64_t>(1, pixels > 0 ? (size + pixels / 2) / pixels : 1);
    out.strides = limits::product(out.strides, step);
    out.pixels_touched *= std::min(1.0, static_cast<double>(tap) / static_cast<double>(step));
  }
}

/// Of a window of an image; 1 for one of a line, which a library is handed as images of one row.
double window_aspect(const TensorShape& weight, bool line) {
  if (line || weight.rank != image_rank || weight.dims[2] <= 0 || weight.dims[3] <= 0) return 1;
  return static_cast<double>(weight.dims[3]) / static_cast<double>(weight.dims[2]);
}

/// Of a transposed convolution, without what output_padding adds.
TensorShape transposed_result(const OpContext& context, const OpArguments& args,
                              const TensorShape& image, const TensorShape& weight,
                              std::int64_t groups) {
  TensorShape out = image;
  out.dims[1] = limits::product(weight.dims[1], groups);
  for (std::size_t i = 2; i < image.rank; ++i) {
    const std::int64_t stride = option(context, args.at(ArgumentName::stride), i - 2, 1);
    const std::int64_t padding = option(context, args.at(ArgumentName::padding), i - 2, 0);
    const std::int64_t dilation = option(context, args.at(ArgumentName::dilation), i - 2, 1);
    // Bounded as in set_pixels.
    const std::int64_t size =
        (image.dims[i] - 1) * stride - 2 * padding + dilation * (weight.dims[i] - 1) + 1;
    out.dims[i] = std::max<std::int64_t>(size, 1);
  }
  return out;
}

struct ConvBytes {
  double image = 0, weight = 0, result = 0;
};

ConvBytes conv_bytes(const ConvShape& c, DataType data) {
  const double width = element_bytes(data);
  return {
      static_cast<double>(c.images * c.in_channels) * static_cast<double>(c.in_pixels) * width,
      static_cast<double>(c.out_channels * (c.in_channels / c.groups) * c.taps) * width,
      static_cast<double>(c.images * c.out_channels) * static_cast<double>(c.out_pixels) * width};
}

void set_bytes(MatrixProblem& p, Pass pass, const ConvBytes& bytes, double touched) {
  const std::array<double, 3> first{bytes.image * touched, bytes.result, bytes.result};
  const std::array<double, 3> second{bytes.weight, bytes.weight, bytes.image * touched};
  const std::array<double, 3> result{bytes.result, bytes.image, bytes.weight};
  const auto i = static_cast<std::size_t>(pass);
  p.a_bytes = first[i], p.b_bytes = second[i], p.c_bytes = result[i];
}

// A 1x1 convolution as plain products: one per image in NCHW order, one for all in NHWC order,
// where the library sees the transpose.
MatrixProblem plain_conv_problem(Pass pass, const ConvShape& c) {
  MatrixProblem p;
  const std::int64_t pixels = c.channels_last ? c.images * c.out_pixels : c.out_pixels;
  p.batch = c.channels_last ? 1 : c.images;
  p.m = pixels, p.n = c.out_channels, p.k = c.in_channels * c.taps;
  if (pass == Pass::input_gradient) p.n = c.in_channels * c.taps, p.k = c.out_channels;
  if (pass == Pass::weight_gradient) {
    p.m = c.in_channels * c.taps, p.n = c.out_channels, p.k = pixels;
  } else if (c.channels_last) {
    std::swap(p.m, p.n);
  }
  return p;
}

MatrixProblem implicit_conv_problem(const KernelTraits& t, const ConvShape& c) {
  MatrixProblem p;
  const std::int64_t in = c.in_channels / c.groups, outputs = c.out_channels / c.groups;
  const std::int64_t padded = t.pad_channels ? t.tile_k : 1;
  p.batch = c.groups;
  switch (t.pass) {
    case Pass::forward:
      p.m = c.images * c.out_pixels, p.n = outputs, p.k = round_up(in, padded) * c.taps;
      break;
    case Pass::input_gradient:  // with strides: as many phases, each with its share of the taps
      p.m = c.images * ceil_div(c.in_pixels, c.strides), p.n = in;
      p.k = round_up(outputs, padded) * c.taps;
      break;
    case Pass::weight_gradient:
      p.m = outputs, p.n = in * c.taps, p.k = c.images * c.out_pixels;
      break;
  }
  return p;
}

// First-layer kernels pad channels, and the taps of a row, to 8.
constexpr std::int64_t first_layer_channels = 8;

/// Whether products of the shape's numbers stay whole numbers: operands that do not belong together
/// may name any.
bool is_countable(const ConvShape& c) {
  constexpr auto most = 1e18;
  const auto n = [](std::int64_t v) { return static_cast<double>(std::max<std::int64_t>(v, 1)); };
  return n(c.images) * n(c.in_channels) * n(c.in_pixels) < most &&
         n(c.images) * n(c.out_channels) * n(c.out_pixels) < most &&
         n(c.out_channels) * n(c.in_channels) * n(c.taps) < most &&
         n(c.in_channels) * n(c.taps) * n(c.images) < most && n(c.strides) < most;
}

/// [n, channels, length], also as the framework hands it to a library: as images of one row.
bool is_line(const TensorShape& image, const TensorShape& weight) {
  if (image.rank != image_rank) return image.rank == 3;
  return image.dims[2] == 1 && image.dims[3] > 1 && weight.dims[2] == 1;
}

}  // namespace

MatrixProblem conv_problem(const KernelClass& kernel, ConvShape c) {
  const KernelTraits& t = kernel.traits;
  const ConvBytes bytes = conv_bytes(c, t.data);
  if (t.kind == Kind::conv_first_layer) {
    const auto side =
        static_cast<std::int64_t>(std::lround(std::sqrt(static_cast<double>(c.taps))));
    c.in_channels = first_layer_channels;
    const std::int64_t padded = round_up(side, first_layer_channels);
    c.taps = padded * padded;
  }
  MatrixProblem p = t.library_gemm ? plain_conv_problem(t.pass, c) : implicit_conv_problem(t, c);
  set_bytes(p, t.pass, bytes, c.pixels_touched);
  return p;
}

bool is_transposed(const OpContext& context) {
  const OpRow& row = op_row(context.op);
  return flag(context, row.arguments.at(ArgumentName::transposed)) ||
         row.is(transposed_convolution);
}

std::optional<ConvShape> conv_shape(const OpContext& context) {
  const OpRow& row = op_row(context.op);
  if (!is_convolution(row)) return std::nullopt;
  const OpArguments& args = row.arguments;
  const TensorShape* image = context.tensors.at(args.at(ArgumentName::input));
  const TensorShape* weight = context.tensors.at(args.at(ArgumentName::weight));
  const TensorShape* gradient = context.tensors.at(args.at(ArgumentName::grad));
  if (image == nullptr || weight == nullptr || image->rank < 3 || weight->rank != image->rank) {
    return std::nullopt;
  }
  if (!has_valid_options(context, args)) return std::nullopt;
  ConvShape out;
  out.images = image->dims[0];
  out.in_channels = image->dims[1];
  out.out_channels = weight->dims[0];
  out.groups = std::max<std::int64_t>(1, option(context, args.at(ArgumentName::groups), 0, 1));
  // Channels say as much, where groups are not recorded.
  const bool states_groups = args.at(ArgumentName::groups) < context.arguments.size();
  const std::int64_t group = weight->dims[1];
  if (!states_groups && !is_transposed(context) && group > 0 && out.in_channels % group == 0) {
    out.groups = std::max<std::int64_t>(1, out.in_channels / group);
  }
  out.in_pixels = out.out_pixels = out.taps = 1;
  out.channels_last = image->channels_last;
  out.line = is_line(*image, *weight);
  out.aspect = window_aspect(*weight, out.line);
  if (!is_transposed(context)) {
    set_pixels(context, args, *image, *weight, gradient, out);
  } else {  // the input gradient of a convolution from the (larger) result to the image
    const TensorShape larger = gradient != nullptr
                                   ? *gradient
                                   : transposed_result(context, args, *image, *weight, out.groups);
    set_pixels(context, args, larger, *weight, image, out);
    out.in_channels = larger.dims[1];
  }
  if (!is_countable(out)) return std::nullopt;
  return out;
}

}  // namespace tandem
