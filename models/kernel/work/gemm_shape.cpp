#include "models/kernel/work/gemm_shape.h"

#include <algorithm>

#include "models/kernel/work/features.h"
#include "models/kernel/work/layer_products.h"
#include "models/kernel/work/operand_bytes.h"
#include "sim/core/bounds/limits.h"

namespace tandem {
namespace {

std::int64_t dim(const TensorShape& t, int from_end) {
  return t.rank >= from_end ? t.dims[static_cast<std::size_t>(t.rank - from_end)] : 1;
}

// Whether a batched product is that of a tensor with its own transpose: same storage, read once.
bool is_transpose(const TensorShape& a, const TensorShape& b) {
  if (a.rank != 3 || b.rank != 3 || a.strides[0] == 0) return false;
  return a.dims[0] == b.dims[0] && a.dims[1] == b.dims[2] && a.dims[2] == b.dims[1] &&
         a.strides[0] == b.strides[0] && a.strides[1] == b.strides[2] &&
         a.strides[2] == b.strides[1];
}

TensorShape transposed(TensorShape weight) {
  std::swap(weight.dims[0], weight.dims[1]);
  std::swap(weight.strides[0], weight.strides[1]);
  return weight;
}

ProductOperands product(const TensorShape& left, const TensorShape& right) {
  ProductOperands p;
  p.left = left, p.right = right;
  p.rows = dim(left, 2);
  p.inner = dim(left, 1);
  p.columns = right.rank > 1 ? dim(right, 1) : 1;
  const std::int64_t matrix = limits::product(p.rows, p.inner);
  if (right.rank > 2 && matrix > 0) p.batch = left.elements() / matrix;
  if (right.rank <= 2 && left.rank > 2 && p.inner > 0) p.rows = left.elements() / p.inner;
  return p;
}

/// Whether the elements of operands and result are whole numbers: bounded tensors that do not
/// belong together may make a product of any size.
bool is_countable(const MatrixProblem& p) {
  constexpr double most = 1e17;
  const auto n = [](std::int64_t v) { return static_cast<double>(std::max<std::int64_t>(v, 1)); };
  const double parts = n(p.batch);
  return p.m >= 0 && p.n >= 0 && p.k >= 0 && parts * n(p.m) * n(p.n) < most &&
         parts * n(p.m) * n(p.k) < most && parts * n(p.n) * n(p.k) < most;
}

// Rows by which a block of causal attention moves along the diagonal. Where warp groups multiply,
// one of them loads for the others, each of which has rows of its own.
double causal_step(const KernelTraits& t, const LaunchGeometry& geometry) {
  const double tile = std::max(t.tile_m, t.tile_n);
  if (t.engine != Engine::gmma) return tile;
  const double groups = double(geometry.block[0]) * geometry.block[1] * geometry.block[2] /
                        (lanes_per_warp * group_warps);
  return std::max(tile, gmma_rows * (groups - 1));
}

// cuBLAS sees the transpose, so its m counts our columns.
MatrixProblem gemm_problem(const ProductOperands& o, DataType data) {
  MatrixProblem p;
  p.batch = o.batch;
  p.n = o.rows, p.k = o.inner, p.m = o.columns;
  p.a_bytes = bytes_of(o.right, data);
  p.b_bytes = is_transpose(o.left, o.right) ? 0 : bytes_of(o.left, data);
  p.c_bytes = static_cast<double>(p.batch) * static_cast<double>(p.m) * static_cast<double>(p.n) *
              element_bytes(data);
  return p;
}

}  // namespace

std::optional<ProductOperands> product_operands(const OpContext& context) {
  const auto& shapes = context.tensors.shapes;
  const OpArguments& args = op_row(context.op).arguments;
  const bool layer = is_layer_product(op_row(context.op));
  for (std::size_t i = args.has(ArgumentName::left) ? args.at(ArgumentName::left) : 0;
       i + 1 < shapes.size(); ++i) {
    const TensorShape& a = shapes[i];
    const TensorShape& b = shapes[i + 1];
    if (layer && a.rank > 0 && b.rank == 2 && dim(a, 1) == dim(b, 1)) {
      return product(a, transposed(b));
    }
    const bool vector = b.rank == 1 && a.rank >= 1 && dim(a, 1) == b.dims[0];
    if (vector || (a.rank >= 2 && b.rank >= 2 && dim(a, 1) == dim(b, 2))) return product(a, b);
  }
  return std::nullopt;
}

// The same product with its result transposed.
MatrixProblem transposed(MatrixProblem p) {
  std::swap(p.m, p.n);
  std::swap(p.a_bytes, p.b_bytes);
  return p;
}

// Where the result is stored transposed, the library computes the transposed product; the grid of a
// kernel with a block per tile shows it. A single row counts as a column.
void orient(const KernelTraits& t, const LaunchGeometry& geometry, MatrixProblem& p) {
  const MatrixProblem other = transposed(p);
  const std::int64_t blocks = blocks_of(geometry);
  const std::int64_t tiles = tile_grid(t, p, geometry).tiles;
  const std::int64_t others = tile_grid(t, other, geometry).tiles;
  const bool misfit = !t.persistent && tiles > blocks && others <= blocks;
  if (misfit || (t.states_cluster && p.m == 1)) p = other;
}

// A plain product that serves a convolution may be computed transposed: a grid with a block per
// tile tells; persistent blocks take the order that pads less.
void orient_convolution(const KernelTraits& t, const LaunchGeometry& geometry, MatrixProblem& p) {
  if (t.engine != Engine::gmma || t.states_cluster) return;
  const MatrixProblem other = transposed(p);
  const std::int64_t blocks = blocks_of(geometry);
  const TileGrid grid = tile_grid(t, p, geometry), others = tile_grid(t, other, geometry);
  const bool told = (grid.tiles == blocks) != (others.tiles == blocks);
  if (told ? others.tiles == blocks : others.padded_macs < grid.padded_macs) p = other;
}

// The integer at position i of an argument that may be one number for all dimensions.
std::int64_t option(const OpContext& context, std::size_t argument, std::size_t i,
                    std::int64_t fallback) {
  if (argument >= context.arguments.size()) return fallback;
  const auto values = integers_of(context.arguments[argument]);
  if (values.empty()) return fallback;
  return values[std::min(i, values.size() - 1)];
}

bool flag(const OpContext& context, std::size_t argument) {
  return argument < context.arguments.size() && context.arguments[argument] == Argument(true);
}

namespace {

MatrixProblem problem_of(const KernelClass& kernel, const OpContext& context) {
  if (kernel.family == KernelFamily::attention) {
    const auto shape = attention_shape(context);
    return shape ? attention_problem(kernel, *shape) : MatrixProblem{};
  }
  const OpRow& row = op_row(context.op);
  if (row.kind == OpKind::recurrent) return recurrent_problem(kernel, context);
  if (const auto shape = conv_shape(context)) {
    MatrixProblem p = conv_problem(kernel, *shape);
    if (kernel.traits.library_gemm) orient_convolution(kernel.traits, context.geometry, p);
    return p;
  }
  // A convolution whose operands are not recorded as such is no product of the images.
  if (kernel.family == KernelFamily::convolution || is_convolution(row)) return {};
  const auto operands = product_operands(context);
  if (!operands) return {};
  MatrixProblem p = gemm_problem(*operands, kernel.traits.data);
  if (is_countable(p) && kernel.traits.tile_m > 0) orient(kernel.traits, context.geometry, p);
  return p;
}

}  // namespace

MatrixProblem matrix_problem(const KernelClass& kernel, const OpContext& context) {
  const MatrixProblem p = problem_of(kernel, context);
  return is_countable(p) ? p : MatrixProblem{};
}

TileGrid tile_grid(const KernelTraits& t, const MatrixProblem& p, const LaunchGeometry& geometry) {
  TileGrid out;
  if (p.batch == 0 || t.tile_m == 0 || t.tile_n == 0) return out;
  std::int64_t rows = round_up(ceil_div(p.m, t.tile_m), t.cluster_m);
  std::int64_t columns = round_up(ceil_div(p.n, t.tile_n), t.cluster_n);
  if (lays_out_raster(t)) {
    std::int64_t& side = t.swapped ? columns : rows;
    side = round_up(side, geometry.grid[1]);
  }
  out.tiles = p.batch * rows * columns;
  out.k_steps = ceil_div(p.k, std::max<std::int64_t>(t.tile_k, 1));
  if (p.causal && rows > 0) {  // only blocks of keys up to the queries' own
    const double share = 0.5 * (1 + causal_step(t, geometry) / static_cast<double>(p.m));
    out.tiles = static_cast<std::int64_t>(static_cast<double>(out.tiles) * std::min(1.0, share));
  }
  out.padded_macs = static_cast<double>(out.tiles) * static_cast<double>(out.k_steps) * t.tile_m *
                    t.tile_n * std::max<int>(t.tile_k, 1);
  return out;
}

}  // namespace tandem
