#include "models/kernel/kernel.h"

#include "models/kernel/kinds.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {
namespace {

bool on_tensor_cores(const KernelTraits& t) { return t.engine > Engine::simt; }

bool multiplies(const KernelClass& k) {
  return k.family == KernelFamily::gemm || k.family == KernelFamily::convolution ||
         k.family == KernelFamily::attention;
}

// The input gradient in TF32 multiplies the transposed tiles.
bool swaps_tiles(const KernelClass& k) {
  return k.traits.engine == Engine::gmma && k.math == DataType::tf32 &&
         k.traits.pass == Pass::input_gradient && !k.traits.library_gemm;
}

}  // namespace

Engine multiply_engine(const GpuArch& gpu, DataType type) {
  const double rate = type == DataType::tf32   ? gpu.tensor_tf32_fma_per_clk
                      : type == DataType::fp16 ? gpu.tensor_fp16_fma_per_clk
                      : type == DataType::bf16 ? gpu.tensor_bf16_fma_per_clk
                                               : 0;
  if (rate <= 0) return Engine::simt;
  return gpu.tensor_family == TensorFamily::gmma ? Engine::gmma : Engine::hmma;
}

bool lays_out_raster(const KernelTraits& t) {
  return t.engine == Engine::gmma && t.cluster_m * t.cluster_n == 1 && !t.states_cluster;
}

void set_pass(KernelClass& kernel, Pass pass) {
  KernelTraits& t = kernel.traits;
  t.pass = pass;
  if (!t.library_gemm) {  // channels are contiguous; the gradients sum over something else
    t.a_k_major = pass != Pass::weight_gradient;
    t.b_k_major = pass == Pass::forward;
  }
  t.swapped = swaps_tiles(kernel);
}

KernelClass retyped(KernelClass kernel, DataType from, DataType to) {
  KernelTraits& t = kernel.traits;
  if (t.data != from) return kernel;
  t.data = to;
  if (multiplies(kernel)) {  // those on FP32 pipes convert what they load
    if (!on_tensor_cores(t)) return kernel;
    const bool rounds = to == DataType::fp32;
    kernel.math = rounds ? DataType::tf32 : to;
    t.mma_k = rounds ? 8 : 16;
    t.swapped = swaps_tiles(kernel);
    return kernel;
  }
  kernel.math = to;
  if (row_of(t).loop == Loop::vectorized) {  // loads 16 bytes at once
    if (is_half(to) && t.vector_width == 4) t.vector_width = 8;
    if (!is_half(to) && t.vector_width == 8) t.vector_width = 4;
  }
  return kernel;
}

KernelClass without_tensor_cores(KernelClass kernel) {
  kernel.traits.engine = Engine::simt;
  kernel.math = kernel.traits.data;
  kernel.traits.tile_k = 8;
  return kernel;
}

}  // namespace tandem
