// The matrix product behind a GEMM, convolution, attention or recurrent kernel, from the shapes of
// its operation.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "models/kernel/classify/classify.h"
#include "sim/core/tensors/operands.h"

namespace tandem {

/// What launched a kernel, as far as the trace tells.
struct OpContext {
  std::string_view op;  // innermost operation
  const OpTensors& tensors;
  std::span<const Argument> arguments;  // values by position; may be empty
  const LaunchGeometry& geometry;
};

/// A convolution of `images` images; pixels and taps are products over the spatial dimensions.
struct ConvShape {
  std::int64_t images = 0, in_channels = 0, out_channels = 0;
  std::int64_t in_pixels = 0, out_pixels = 0, taps = 0, groups = 1;
  std::int64_t strides = 1;     // product over the spatial dimensions
  std::int64_t dilation = 1;    // the widest
  double aspect = 1.0;          // last side of the window over the first one, of an image
  double pixels_touched = 1.0;  // share of the input pixels that any tap reads
  bool channels_last = false;
  bool line = false;  // over one dimension: sound, text
};
/// Empty if the operation is no convolution or its shapes are missing.
std::optional<ConvShape> conv_shape(const OpContext& context);
/// Whether the operation is the input gradient of a convolution from its result.
bool is_transposed(const OpContext& context);

/// An attention operation: products of queries, keys and head width over batch x heads.
struct AttentionShape {
  std::int64_t heads = 0;  // of all items
  std::int64_t items = 1;
  std::int64_t queries = 0, keys = 0, width = 0;
  bool causal = false;
  bool drops_out = false;
  std::int64_t mask_elements = 0;  // of a mask in memory, 0: none
  bool learned_mask = false;       // which gets a gradient
};
std::optional<AttentionShape> attention_shape(const OpContext& context);
/// Forward the scores and the results; backward the scores again and four gradients.
constexpr int attention_products(bool backward) { return backward ? 5 : 2; }

/// The factors of a matrix product among the operands of its operation: [batch][rows][inner] times
/// [inner][columns]. Weights of a layer are [columns][inner]; `right` is their transpose.
struct ProductOperands {
  TensorShape left, right;
  std::int64_t batch = 1, rows = 0, inner = 0, columns = 0;
};
/// The first neighbours whose inner dimensions agree, which skips a bias in front and an `out=`
/// tensor behind; empty if there are none.
std::optional<ProductOperands> product_operands(const OpContext& context);

/// The product that a kernel computes; batch 0 if its operation does not tell.
MatrixProblem matrix_problem(const KernelClass& kernel, const OpContext& context);

/// Whether a product of a recurrent layer sums over the sequences; the operand order tells.
bool is_recurrent_weight_gradient(const KernelClass& kernel, std::string_view op);

/// Blocks along m and n after padding, rounded up to whole clusters; where the name does not state
/// clusters, to the second dimension of the grid, which is how the library lays out its raster.
struct TileGrid {
  std::int64_t tiles = 0;    // over batch, m and n, without split-K
  std::int64_t k_steps = 0;  // tile_k steps of one tile over the whole of k
  double padded_macs = 0;    // multiply-adds the tensor cores or FP32 pipes perform
};
TileGrid tile_grid(const KernelTraits& traits, const MatrixProblem& problem,
                   const LaunchGeometry& geometry);

}  // namespace tandem
