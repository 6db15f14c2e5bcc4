// Matrix products and attention.
#include <algorithm>
#include <cmath>

#include "models/kernel/time/attention.h"
#include "models/kernel/time/tile_tables.h"
#include "models/ops/op_table.h"
#include "sim/core/tensors/data_type.h"
#include "workloads/lower/matrix.h"

namespace tandem::lowering {
namespace {

/// A transposed view: the second to last dimension is the contiguous one.
bool is_transposed(const TensorShape& t) {
  return t.rank >= 2 && t.strides[t.rank - 2U] == 1 && t.strides[t.rank - 1U] != 1;
}

}  // namespace

LoweredKernel matrix_kernel(const Context& c, const KernelTime& time, KernelFamily family,
                            DataType type, Pass pass) {
  const LibraryNames& names = c.input.libraries;
  Engine engine = multiply_engine(c.gpu(), type);
  const LibraryKernel* kernel = nullptr;
  for (const KernelFamily wanted : {family, KernelFamily::gemm}) {
    for (const Engine e : {engine, Engine::hmma, Engine::simt}) {
      if (kernel == nullptr) kernel = names.find(c.gpu().compute_major, e, wanted, type);
    }
  }
  if (kernel == nullptr) {
    kernel = names.find(c.gpu().compute_major, Engine::simt, KernelFamily::gemm, DataType::fp32);
  }
  PredictedLaunch predicted = predicted_launch(*kernel, time, pass);
  LoweredKernel out;
  out.name = std::move(predicted.kernel.name);
  out.geometry = predicted.geometry;
  out.duration_us = time.time_us;
  return out;
}

namespace {

/// The best tile whose blocks share no result: products that add a bias are not split.
KernelTime unsplit_time(const Context& c, GemmShape shape) {
  const bool tensor = multiply_engine(c.gpu(), shape.type) != Engine::simt;
  KernelTime best;
  for (const MatrixTile& tile : tile_menu(c.gpu(), MatrixUse::linear, tensor).tiles) {
    shape.tile_m = tile.m;
    shape.tile_n = tile.n;
    shape.split = 1;
    const KernelTime time = gemm_time(c.gpu(), shape, c.input.time);
    if (best.time_us <= 0 || time.time_us < best.time_us) best = time;
  }
  return best;
}

/// The best tile and split of k. Products without a bias are split far more readily than the menu
/// of FP32 kernels says, which holds for those with one.
KernelTime best_time(const Context& c, GemmShape shape) {
  KernelTime best = product_time(c.gpu(), shape, c.input.time);
  const bool tensor = multiply_engine(c.gpu(), shape.type) != Engine::simt;
  if (tensor || shape.batch > 1) return best;
  constexpr int splits[] = {2, 3, 4, 5, 6, 8, 10, 13, 16, 20, 27, 40};
  constexpr std::int64_t shortest = 64, most_waves = 8;
  for (const MatrixTile& tile : tile_menu(c.gpu(), MatrixUse::linear, tensor).tiles) {
    const std::int64_t blocks = ceil_div(shape.n, tile.m) * ceil_div(shape.m, tile.n);
    shape.tile_m = tile.m;
    shape.tile_n = tile.n;
    for (const int split : splits) {
      if (shape.k < shortest * split || blocks * split > most_waves * c.gpu().sm_count) break;
      shape.split = split;
      const KernelTime time = gemm_time(c.gpu(), shape, c.input.time);
      if (time.time_us < best.time_us) best = time;
    }
  }
  return best;
}

// Kernels of the rule of a product with a bias, beside the sum of split parts.
enum ProductPart : std::size_t { scale_first = 1, add_bias = 2, vector_product = 3, gelu = 4 };

/// Whether the product applies GELU to its result, which the library's FP32 products leave to a
/// kernel of their own. A ReLU is part of any product.
bool applies_gelu(const Context& c) {
  const std::uint8_t at = op_row(c.op.name).arguments.at(ArgumentName::mode);
  return c.has_kernel(gelu) && c.operands.argument(at) != Argument(false);
}

/// Products whose tiles leave most SMs without work.
bool is_small(const Context& c, const GemmShape& s) {
  constexpr std::int64_t tile = 64;
  return 2 * ceil_div(s.m, tile) * ceil_div(s.n, tile) < c.gpu().sm_count;
}

/// They are split although a bias follows: blocks add to a result that was cleared, and the bias is
/// added last. The library's kernel for them loads few operands at once.
void add_small_biased(const Context& c, const GemmShape& shape, const KernelTime& time,
                      Kernels& out) {
  const double result = static_cast<double>(shape.m * shape.n) * element_bytes(shape.type);
  out.push_back(memset_of(c, 4 * time.grid_x * time.grid_y));
  const KernelTemplate& scale = c.kernel(scale_first);
  out.push_back(make(c, scale, shape.type, {ceil_div(shape.m * shape.n, 8192)}, result));
  LoweredKernel main = matrix_kernel(c, time, KernelFamily::gemm, shape.type, Pass::forward);
  main.duration_us /= scale.share;
  out.push_back(std::move(main));
  out.push_back(
      make(c, c.kernel(add_bias), shape.type, {ceil_div(shape.m * shape.n, 256)}, 2 * result));
}

/// Results beyond which blocks add up in place, after a memset, rather than in a second kernel.
constexpr std::int64_t sum_kernel_results = 1 << 20;
/// The library splits where that clearly pays.
constexpr double split_gain = 0.92;

}  // namespace

void add_product(const Context& c, const GemmShape& shape, Kernels& out, bool may_split) {
  KernelTime time = best_time(c, shape);
  if (time.split > 1) {
    const KernelTime whole = unsplit_time(c, shape);
    if (!may_split && c.has_kernel(add_bias) && is_small(c, shape)) {
      add_small_biased(c, shape, time, out);
      return;
    }
    if (!may_split || time.time_us > split_gain * whole.time_us) time = whole;
  }
  LoweredKernel main = matrix_kernel(c, time, KernelFamily::gemm, shape.type, Pass::forward);
  const double result = static_cast<double>(shape.m * shape.n) * element_bytes(shape.type);
  if (time.split == 1) {
    out.push_back(std::move(main));
    return;
  }
  if (shape.m * shape.n > sum_kernel_results) {
    out.push_back(memset_of(c, 4 * time.grid_x * time.grid_y));
    out.push_back(std::move(main));
    return;
  }
  // The law's time holds the addition of the parts; here it is a kernel of its own.
  const KernelTemplate& row = c.kernel(0);
  const auto parts = static_cast<double>(time.split);
  LoweredKernel sum;
  sum.name = name_of(c, row, shape.type);
  // A thread adds up two results, of one column.
  constexpr std::uint32_t columns = 32, rows = 16;
  sum.geometry = geometry_of(row, {ceil_div(shape.n, columns), ceil_div(shape.m, 2 * rows)});
  sum.geometry.block = {columns, rows, 1};
  const double part = static_cast<double>(shape.m * shape.n) * element_bytes(DataType::fp32);
  sum.duration_us = stream_time_us(c, part * parts + result);
  main.duration_us = std::max(main.duration_us - sum.duration_us, main.duration_us / 2);
  out.push_back(std::move(main));
  out.push_back(std::move(sum));
}

void lower_product(const Context& c, Kernels& out) {
  const auto factors = product_operands(context_of(c));
  if (!factors) return;
  const TensorShape &a = factors->left, &b = factors->right;
  GemmShape shape;
  const bool in_tf32 = c.rule.tf32 > 0 && c.gpu().tensor_tf32_fma_per_clk > 0;
  shape.type = in_tf32 && a.type == DataType::fp32 ? DataType::tf32 : a.type;
  shape.batch = factors->batch;
  shape.m = factors->rows;
  shape.n = factors->columns;
  shape.k = factors->inner;
  shape.a_k_major = !is_transposed(a);
  shape.b_k_major = is_transposed(b);
  if (shape.m == 0 || shape.n == 0 || shape.k == 0 || shape.batch == 0) return;
  const bool is_vector = std::min(shape.m, shape.n) == 1 && shape.k > 1;
  if (is_vector && c.has_kernel(vector_product)) {
    const KernelTemplate& row = c.kernel(vector_product);
    const std::int64_t results = std::max(shape.m, shape.n);
    out.push_back(
        make(c, row, shape.type,
             {static_cast<std::int64_t>(std::ceil(static_cast<double>(results) / row.per_block)), 1,
              shape.batch},
             bytes_of(a) + bytes_of(b)));
    out.back().duration_us = c.gpu().graph_kernel_period_us +
                             reached_us(c, row, stream_time_us(c, bytes_of(a) + bytes_of(b))) +
                             row.start_us;
    return;
  }
  const bool has_bias = c.operands.tensors.shapes.size() > 2 && shape.batch == 1;
  add_product(c, shape, out, !has_bias);
  if (!applies_gelu(c)) return;
  constexpr std::int64_t block_results = 1 << 16;
  const std::int64_t results = shape.m * shape.n;
  const double bytes = 2 * static_cast<double>(results) * element_bytes(shape.type);
  out.push_back(make(c, c.kernel(gelu), shape.type, {ceil_div(results, block_results)}, bytes));
}

void lower_attention(const Context& c, Kernels& out) {
  const bool backward = c.op.phase == Phase::backward;
  const auto s = attention_shape(context_of(c));
  if (!s) return;
  const TensorShape& query = *c.tensor(backward ? 1 : 0);
  const KernelTemplate& row = c.kernel(0);
  if (backward && c.has_kernel(3)) {  // the row sums of gradient times result, and cleared sums
    const std::int64_t elements = query.elements();
    out.push_back(
        make(c, c.kernel(1), query.type, {ceil_div(elements, 1024)}, 3 * bytes_of(query)));
    out.push_back(make(c, c.kernel(2), query.type, {ceil_div(elements, 1024)}, bytes_of(query)));
    out.push_back(make(c, c.kernel(3), query.type, {ceil_div(elements, 1024)}, bytes_of(query)));
  }
  LoweredKernel kernel;
  kernel.name = name_of(c, row, query.type);
  kernel.geometry = geometry_of(
      row, {static_cast<std::int64_t>(std::ceil(static_cast<double>(s->queries) / row.per_block)),
            s->heads / query.dims[0], query.dims[0]});
  kernel.duration_us = attention_us(c.gpu(), c.input.time, *s, query.type, backward);
  out.push_back(std::move(kernel));
}

}  // namespace tandem::lowering
