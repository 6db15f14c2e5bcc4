// Matrix products and attention.
#include <algorithm>

#include "sim/core/data_type.h"
#include "workloads/lower/matrix.h"

namespace tandem::lowering {
namespace {

/// Engine that multiplies this type on the GPU.
Engine engine_of(const GpuArch& gpu, DataType type) {
  double rate = 0;
  if (type == DataType::tf32) rate = gpu.tensor_tf32_fma_per_clk;
  if (type == DataType::fp16) rate = gpu.tensor_fp16_fma_per_clk;
  if (type == DataType::bf16) rate = gpu.tensor_bf16_fma_per_clk;
  if (rate <= 0) return Engine::simt;
  return gpu.tensor_family == TensorFamily::gmma ? Engine::gmma : Engine::hmma;
}

/// A transposed view: the second to last dimension is the contiguous one.
bool is_transposed(const TensorShape& t) {
  return t.rank >= 2 && t.strides[t.rank - 2U] == 1 && t.strides[t.rank - 1U] != 1;
}

}  // namespace

LoweredKernel matrix_kernel(const Context& c, const KernelTime& time, KernelFamily family,
                            DataType type, Pass pass) {
  const LibraryNames& names = c.input.libraries;
  Engine engine = engine_of(c.gpu(), type);
  const LibraryKernel* kernel = nullptr;
  for (const KernelFamily wanted : {family, KernelFamily::gemm}) {
    for (const Engine e : {engine, Engine::hmma, Engine::simt}) {
      if (kernel == nullptr) kernel = names.find(c.gpu().compute_major, e, wanted, type);
    }
  }
  if (kernel == nullptr) {
    kernel = names.find(c.gpu().compute_major, Engine::simt, KernelFamily::gemm, DataType::fp32);
  }
  LoweredKernel out;
  const Tile tile{time.tile_m > 0 ? time.tile_m : 128, time.tile_n > 0 ? time.tile_n : 128};
  out.name = kernel_name(*kernel, tile, pass);
  KernelTemplate shape;
  shape.threads = kernel->threads;
  shape.registers = kernel->registers_per_thread;
  shape.shared_bytes = kernel->shared_bytes;
  out.geometry = geometry_of(shape, {time.grid_x, time.grid_y, time.grid_z});
  out.duration_us = time.time_us;
  return out;
}

void add_product(const Context& c, const GemmShape& shape, Kernels& out) {
  const KernelTime time = gemm_time(c.gpu(), shape, c.input.time);
  LoweredKernel main = matrix_kernel(c, time, KernelFamily::gemm, shape.type, Pass::forward);
  const double result = static_cast<double>(shape.m * shape.n) * element_bytes(shape.type);
  if (time.split == 1) {
    out.push_back(std::move(main));
    return;
  }
  // The law's time holds the addition of the parts; here it is a kernel of its own.
  const KernelTemplate& row = c.kernel(0);
  const auto parts = static_cast<double>(time.split);
  LoweredKernel sum;
  sum.name = name_of(c, row, shape.type);
  sum.geometry = geometry_of(row, {ceil_div(shape.m, 32), ceil_div(shape.n, 32)});
  sum.duration_us = stream_time_us(c, result * (parts + 1));
  main.duration_us = std::max(main.duration_us - sum.duration_us, main.duration_us / 2);
  out.push_back(std::move(main));
  out.push_back(std::move(sum));
}

void lower_product(const Context& c, Kernels& out) {
  // addmm and baddbmm: a bias before the two factors.
  std::vector<const TensorShape*> factors;
  for (const TensorShape& t : c.operands.tensors.shapes) factors.push_back(&t);
  if (factors.size() < 2) return;
  const TensorShape& a = *factors[factors.size() - 2];
  const TensorShape& b = *factors[factors.size() - 1];
  if (a.rank < 2 || b.rank < 1) return;
  GemmShape shape;
  shape.type = a.type;
  shape.batch = a.rank > 2 ? a.dims[0] : 1;
  for (std::size_t d = 1; d + 2 < a.rank; ++d) shape.batch *= a.dims[d];
  shape.m = a.dims[a.rank - 2U];
  shape.k = a.dims[a.rank - 1U];
  shape.n = b.rank > 1 ? b.dims[b.rank - 1U] : 1;
  shape.a_k_major = !is_transposed(a);
  shape.b_k_major = is_transposed(b);
  if (shape.m == 0 || shape.n == 0 || shape.k == 0 || shape.batch == 0) return;
  add_product(c, shape, out);
}

void lower_attention(const Context& c, Kernels& out) {
  // Operands are (batch, length, heads, width).
  const bool backward = c.op.phase == Phase::backward;
  const TensorShape* query = c.tensor(backward ? 1 : 0);
  if (query == nullptr || query->rank != 4) return;
  const KernelTemplate& row = c.kernel(0);
  const std::int64_t length = query->dims[1];
  LoweredKernel kernel = make(c, row, query->type,
                              {ceil_div(length, static_cast<std::int64_t>(row.per_block)),
                               query->dims[2], query->dims[0]});
  out.push_back(std::move(kernel));
}

}  // namespace tandem::lowering
