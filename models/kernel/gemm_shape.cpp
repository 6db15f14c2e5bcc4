#include "models/kernel/gemm_shape.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace tandem {
namespace {

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return b > 0 ? (a + b - 1) / b : 0; }
std::int64_t round_up(std::int64_t a, std::int64_t b) { return ceil_div(a, b) * b; }

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

std::int64_t dim(const TensorShape& t, int from_end) {
  return t.rank >= from_end ? t.dims[static_cast<std::size_t>(t.rank - from_end)] : 1;
}

double bytes_of(const TensorShape& t, DataType fallback) {
  const int width = element_bytes(t.type == DataType::unknown ? fallback : t.type);
  return static_cast<double>(t.elements()) /
         static_cast<double>(std::max<std::int64_t>(t.expanded, 1)) * width;
}

// Whether a batched product is that of a tensor with its own transpose: same storage, read once.
bool is_transpose(const TensorShape& a, const TensorShape& b) {
  if (a.rank != 3 || b.rank != 3 || a.strides[0] == 0) return false;
  return a.dims[0] == b.dims[0] && a.dims[1] == b.dims[2] && a.dims[2] == b.dims[1] &&
         a.strides[0] == b.strides[0] && a.strides[1] == b.strides[2] &&
         a.strides[2] == b.strides[1];
}

// rows x inner times inner x outputs; cuBLAS sees the transpose, so its m counts our outputs.
MatrixProblem product(const TensorShape& left, const TensorShape& right, DataType data) {
  MatrixProblem p;
  p.n = dim(left, 2);
  p.k = dim(left, 1);
  p.m = right.rank > 1 ? dim(right, 1) : 1;
  const std::int64_t matrix = p.n * p.k;
  p.batch = right.rank > 2 && matrix > 0 ? left.elements() / matrix : 1;
  if (right.rank <= 2 && left.rank > 2 && p.k > 0) p.n = left.elements() / p.k;
  p.a_bytes = bytes_of(right, data);
  p.b_bytes = is_transpose(left, right) ? 0 : bytes_of(left, data);
  p.c_bytes = static_cast<double>(p.batch * p.m * p.n) * element_bytes(data);
  return p;
}

// Operands of a matrix product: the first neighbours whose inner dimensions agree. Skips a bias in
// front and an `out=` tensor behind.
MatrixProblem gemm_problem(const OpContext& context, DataType data) {
  const auto& shapes = context.tensors.shapes;
  const bool bias_first = has(context.op, "addmm") || has(context.op, "addbmm") ||
                          has(context.op, "baddbmm") || has(context.op, "addmv");
  for (std::size_t i = bias_first ? 1 : 0; i + 1 < shapes.size(); ++i) {
    const TensorShape& a = shapes[i];
    const TensorShape& b = shapes[i + 1];
    if (has(context.op, "linear") && a.rank > 0 && b.rank == 2 && dim(a, 1) == dim(b, 1)) {
      TensorShape weight = b;
      std::swap(weight.dims[0], weight.dims[1]);
      return product(a, weight, data);
    }
    const bool vector = b.rank == 1 && a.rank >= 1 && dim(a, 1) == b.dims[0];
    if (vector || (a.rank >= 2 && b.rank >= 2 && dim(a, 1) == dim(b, 2))) {
      return product(a, b, data);
    }
  }
  return {};
}

struct ConvArguments {
  std::size_t image, weight, gradient;  // positions; gradient 255: none
  std::size_t stride, padding, dilation, groups, transposed;
};

// Positions of the arguments in PyTorch's operators.
std::optional<ConvArguments> conv_arguments(std::string_view op) {
  constexpr std::size_t none = 255;
  if (has(op, "aten::convolution_backward")) return ConvArguments{1, 2, 0, 4, 5, 6, 9, 7};
  if (has(op, "conv") && has(op, "backward")) return ConvArguments{0, 2, 1, 4, 3, 5, 6, none};
  if (has(op, "aten::convolution") || has(op, "aten::_convolution")) {
    return ConvArguments{0, 1, none, 3, 4, 5, 8, 6};
  }
  if (has(op, "cudnn_convolution_transpose")) return ConvArguments{0, 1, none, 4, 2, 5, 6, none};
  if (has(op, "cudnn_convolution_relu")) return ConvArguments{0, 1, none, 3, 4, 5, 6, none};
  if (has(op, "cudnn_convolution_add_relu")) return ConvArguments{0, 1, none, 5, 6, 7, 8, none};
  if (has(op, "cudnn_convolution")) return ConvArguments{0, 1, none, 3, 2, 4, 5, none};
  if (has(op, "_conv_depthwise2d")) return ConvArguments{0, 1, none, 4, 5, 6, none, none};
  if (has(op, "aten::conv")) return ConvArguments{0, 1, none, 3, 4, 5, 6, none};
  return std::nullopt;
}

// The integer at position i of an argument that may be one number for all dimensions.
std::int64_t option(const OpContext& context, std::size_t argument, std::size_t i,
                    std::int64_t fallback) {
  if (argument >= context.arguments.size()) return fallback;
  const auto values = parse_integers(context.arguments[argument]);
  if (values.empty()) return fallback;
  return values[std::min(i, values.size() - 1)];
}

bool flag(const OpContext& context, std::size_t argument) {
  return argument < context.arguments.size() && context.arguments[argument] == "True";
}

// Without recorded arguments: "same" padding, and no stride unless the gradient tells.
void set_pixels(const OpContext& context, const ConvArguments& args, const TensorShape& image,
                const TensorShape& weight, const TensorShape* gradient, ConvShape& out) {
  for (std::size_t i = 2; i < image.rank && i < weight.rank; ++i) {
    const std::int64_t size = image.dims[i], tap = weight.dims[i];
    const std::int64_t stride = option(context, args.stride, i - 2, 1);
    const std::int64_t padding = option(context, args.padding, i - 2, (tap - 1) / 2);
    const std::int64_t dilation = option(context, args.dilation, i - 2, 1);
    std::int64_t pixels = (size + 2 * padding - dilation * (tap - 1) - 1) / stride + 1;
    if (gradient != nullptr && gradient->rank > i) pixels = gradient->dims[i];
    out.in_pixels *= size;
    out.out_pixels *= std::max<std::int64_t>(pixels, 1);
    out.taps *= tap;
    const std::int64_t step =
        std::max<std::int64_t>(1, pixels > 0 ? (size + pixels / 2) / pixels : 1);
    out.strides *= step;
    out.pixels_touched *= std::min(1.0, static_cast<double>(tap) / static_cast<double>(step));
  }
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

MatrixProblem conv_problem(const KernelClass& kernel, ConvShape c) {
  const KernelTraits& t = kernel.traits;
  const ConvBytes bytes = conv_bytes(c, t.data);
  if (kind_name(t) == "conv_first_layer") {
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

// Position of the flag is_causal; efficient attention has a mask type there, 1: causal.
bool is_causal(const OpContext& context) {
  struct Position {
    std::string_view op;
    std::size_t argument;
  };
  constexpr Position positions[] = {
      {"_flash_attention_forward", 8},          {"_flash_attention_backward", 11},
      {"_efficient_attention_forward", 9},      {"_efficient_attention_backward", 14},
      {"_cudnn_attention_forward", 10},         {"_cudnn_attention_backward", 14},
      {"scaled_dot_product_flash_attention", 4}};
  for (const Position& p : positions) {
    if (!has(context.op, p.op)) continue;
    return flag(context, p.argument) || option(context, p.argument, 0, 0) == 1;
  }
  return false;
}

MatrixProblem attention_problem(const KernelClass& kernel, const AttentionShape& a) {
  const bool backward = kind_name(kernel.traits) == "flash_backward";
  MatrixProblem p;
  p.batch = a.heads * (backward ? 5 : 2);
  p.m = a.queries, p.n = a.keys, p.k = a.width;
  p.causal = a.causal;
  const double width = element_bytes(kernel.traits.data);
  const double query_bytes = static_cast<double>(a.heads * a.queries * a.width) * width;
  const double key_bytes = static_cast<double>(a.heads * a.keys * a.width) * width;
  p.a_bytes = query_bytes * (backward ? 3 : 1);  // backward also reads the output and its gradient
  p.b_bytes = 2 * key_bytes;
  p.c_bytes = backward ? query_bytes + 2 * key_bytes : query_bytes;
  return p;
}

struct RecurrentShape {
  std::int64_t width = 0, hidden = 0, gates = 0, batch = 0, steps = 0;
};

// aten::_cudnn_rnn(input, weights, stride, buffer, hx, cx, mode, ...); its backward has four more
// tensors before the mode.
std::optional<RecurrentShape> recurrent_shape(const OpContext& context) {
  const TensorShape* input = context.tensors.at(0);
  const TensorShape* state = context.tensors.at(4);
  if (input == nullptr || state == nullptr || input->rank != 3 || state->rank != 3) {
    return std::nullopt;
  }
  constexpr std::array<std::int64_t, 4> gates_of_mode{1, 1, 4, 3};  // RNN, RNN, LSTM, GRU
  const std::int64_t mode = option(context, has(context.op, "backward") ? 10 : 6, 0, 2);
  RecurrentShape r;
  r.width = input->dims[2];
  r.hidden = state->dims[2];
  r.batch = state->dims[1];
  r.steps = input->dims[0] * input->dims[1] / std::max<std::int64_t>(r.batch, 1);
  r.gates = r.hidden * gates_of_mode[static_cast<std::size_t>(mode & 3)];
  return r;
}

// The GEMMs of a recurrent layer: one a time step, and one over all steps where nothing is
// recurrent. The operand order tells the pass, the grid which of the two.
MatrixProblem recurrent_problem(const KernelClass& kernel, const OpContext& context) {
  const auto r = recurrent_shape(context);
  if (!r) return {};
  const KernelTraits& t = kernel.traits;
  const bool backward = has(context.op, "backward");
  const std::int64_t all = r->batch * r->steps;
  MatrixProblem step, whole;
  step.batch = whole.batch = 1;
  if (!backward) {
    step.m = whole.m = r->gates, step.n = r->batch, whole.n = all;
    step.k = r->hidden, whole.k = r->width;
  } else if (!t.a_k_major && !t.b_k_major) {  // weights
    step.m = whole.m = r->hidden, step.n = whole.n = r->gates;
    step.k = r->batch, whole.k = all;
  } else {
    step.m = r->hidden, whole.m = r->width, step.n = r->batch, whole.n = all;
    step.k = whole.k = r->gates;
  }
  const auto& g = context.geometry.grid;
  const std::int64_t blocks = std::int64_t{g[0]} * g[1] * g[2];
  const std::int64_t many = tile_grid(t, whole, context.geometry).tiles;
  const bool fits = many <= blocks && many > 0 && (t.persistent || blocks % many == 0);
  MatrixProblem p = fits ? whole : step;
  const double width = element_bytes(t.data);
  p.a_bytes = static_cast<double>(p.m * p.k) * width;
  p.b_bytes = static_cast<double>(p.n * p.k) * width;
  p.c_bytes = static_cast<double>(p.m * p.n) * width;
  return p;
}

}  // namespace

std::optional<ConvShape> conv_shape(const OpContext& context) {
  const auto args = conv_arguments(context.op);
  if (!args) return std::nullopt;
  const TensorShape* image = context.tensors.at(args->image);
  const TensorShape* weight = context.tensors.at(args->weight);
  const TensorShape* gradient = context.tensors.at(args->gradient);
  if (image == nullptr || weight == nullptr || image->rank < 3 || weight->rank != image->rank) {
    return std::nullopt;
  }
  ConvShape out;
  out.images = image->dims[0];
  out.in_channels = image->dims[1];
  out.out_channels = weight->dims[0];
  out.groups = std::max<std::int64_t>(1, option(context, args->groups, 0, 1));
  if (args->groups == 255 && weight->dims[1] == 1) out.groups = out.in_channels;
  out.in_pixels = out.out_pixels = out.taps = 1;
  out.channels_last = image->channels_last;
  const bool transposed = flag(context, args->transposed) || has(context.op, "transpose");
  if (!transposed) {
    set_pixels(context, *args, *image, *weight, gradient, out);
  } else if (gradient != nullptr) {  // the gradient's shape is that of the (larger) output
    set_pixels(context, *args, *gradient, *weight, image, out);
    out.in_channels = gradient->dims[1];
  }
  return out;
}

std::optional<AttentionShape> attention_shape(const OpContext& context) {
  const bool backward = has(context.op, "backward");
  const TensorShape* query = context.tensors.at(backward ? 1 : 0);
  const TensorShape* key = context.tensors.at(backward ? 2 : 1);
  if (query == nullptr || key == nullptr || query->rank != 4 || key->rank != 4) {
    return std::nullopt;
  }
  // The inner operators of flash and efficient attention take (batch, length, heads, width).
  const bool length_first =
      has(context.op, "aten::_flash_attention") || has(context.op, "aten::_efficient_attention");
  const std::size_t length = length_first ? 1 : 2, heads = length_first ? 2 : 1;
  AttentionShape out;
  out.heads = query->dims[0] * query->dims[heads];
  out.queries = query->dims[length];
  out.keys = key->dims[length];
  out.width = query->dims[3];
  out.causal = is_causal(context);
  return out;
}

// Where the result is stored transposed, the library computes the transposed product; the grid of a
// kernel with a block per tile shows it. A single row counts as a column.
void orient(const KernelTraits& t, const LaunchGeometry& geometry, MatrixProblem& p) {
  MatrixProblem other = p;
  std::swap(other.m, other.n);
  std::swap(other.a_bytes, other.b_bytes);
  const std::int64_t blocks = std::int64_t{geometry.grid[0]} * geometry.grid[1] * geometry.grid[2];
  const std::int64_t tiles = tile_grid(t, p, geometry).tiles;
  const std::int64_t others = tile_grid(t, other, geometry).tiles;
  const bool misfit = !t.persistent && tiles > blocks && others <= blocks;
  if (misfit || (t.nvjet && p.m == 1)) p = other;
}

MatrixProblem matrix_problem(const KernelClass& kernel, const OpContext& context) {
  if (kernel.family == KernelFamily::attention) {
    const auto shape = attention_shape(context);
    return shape ? attention_problem(kernel, *shape) : MatrixProblem{};
  }
  if (has(context.op, "_rnn") || has(context.op, "miopen_rnn"))
    return recurrent_problem(kernel, context);
  if (const auto shape = conv_shape(context)) return conv_problem(kernel, *shape);
  MatrixProblem p = gemm_problem(context, kernel.traits.data);
  if (kernel.traits.tile_m > 0) orient(kernel.traits, context.geometry, p);
  return p;
}

TileGrid tile_grid(const KernelTraits& t, const MatrixProblem& p, const LaunchGeometry& geometry) {
  TileGrid out;
  if (p.batch == 0 || t.tile_m == 0 || t.tile_n == 0) return out;
  std::int64_t rows = round_up(ceil_div(p.m, t.tile_m), t.cluster_m);
  std::int64_t columns = round_up(ceil_div(p.n, t.tile_n), t.cluster_n);
  const bool raster = t.engine == Engine::gmma && t.cluster_m * t.cluster_n == 1 && !t.nvjet;
  if (raster) {
    std::int64_t& side = t.swapped ? columns : rows;
    side = round_up(side, geometry.grid[1]);
  }
  out.tiles = p.batch * rows * columns;
  out.k_steps = ceil_div(p.k, std::max<std::int64_t>(t.tile_k, 1));
  if (p.causal && rows > 0) {  // only blocks of keys up to the queries' own
    const double share = 0.5 * (1 + std::max(t.tile_m, t.tile_n) / static_cast<double>(p.m));
    out.tiles = static_cast<std::int64_t>(static_cast<double>(out.tiles) * std::min(1.0, share));
  }
  out.padded_macs = static_cast<double>(out.tiles) * static_cast<double>(out.k_steps) * t.tile_m *
                    t.tile_n * std::max<int>(t.tile_k, 1);
  return out;
}

}  // namespace tandem
