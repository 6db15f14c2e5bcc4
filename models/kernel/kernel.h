// The kernel model's input and output: KernelLaunch x GpuArch -> KernelCost.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/arch/gpu_arch.h"
#include "sim/core/device.h"
#include "sim/core/kernel/kernel_family.h"
#include "sim/core/kernel/kernel_limits.h"
#include "sim/core/named.h"
#include "sim/core/tensors/tensor.h"

namespace tandem {

enum class Kind : std::uint16_t;  // kinds.h

/// What multiplies: no matrix product, FP32 pipes, warp-wide or warp-group-wide tensor
/// instructions.
enum class Engine : std::uint8_t { none, simt, hmma, gmma };

/// Which product of a layer a matrix kernel computes.
enum class Pass : std::uint8_t { forward, input_gradient, weight_gradient };

/// What a kernel's name says beyond its family; see classify.h. Zero: not stated.
struct KernelTraits {
  Kind kind{};                        // `unknown`: no rule matched the name
  DataType data = DataType::unknown;  // type of the operands in memory
  Engine engine = Engine::none;
  Pass pass = Pass::forward;
  std::uint16_t tile_m = 0, tile_n = 0, tile_k = 0, stages = 0;
  std::uint8_t cluster_m = 1, cluster_n = 1;
  bool cooperative_n = false;   // two warp groups share a tile along n
  bool states_cluster = false;  // the name does, as in the cuBLAS kernels of Hopper
  bool library_gemm = false;    // a plain matrix product, also where it serves a convolution
  bool persistent = false;      // blocks loop over tiles
  bool split_k = false;
  bool pad_channels = false;  // a convolution that pads the channels of every tap to tile_k
  bool swapped = false;       // the tensor instruction's n lies along tile_m
  bool a_k_major = true, b_k_major = true;  // operands contiguous along k
  std::uint8_t load_bytes = 16;             // of one operand load of a thread
  std::uint8_t mma_k = 0;                   // k of the tensor instruction
  std::uint8_t vector_width = 0;            // elements a thread loads at once
  std::uint8_t operands = 0;  // pointers of an elementwise kernel, outputs first; of a multi-tensor
                              // one, lists read and one more
  std::uint16_t functor = 0;  // row of the functor table; 0: none
  std::uint64_t fused = 0;    // of a generated kernel: fused_operations() of its name
  friend bool operator==(const KernelTraits&, const KernelTraits&) = default;
};

/// What a kernel is. Of a traced one it is read off the name (classify.h), of a predicted one it
/// is stated.
struct KernelClass {
  KernelFamily family = KernelFamily::generic;
  DataType math = DataType::unknown;  // type of the arithmetic, e.g. tf32
  KernelTraits traits;
  friend bool operator==(const KernelClass&, const KernelClass&) = default;
};

/// What multiplies elements of the type on the GPU: its newest tensor instruction, else FP32 pipes.
Engine multiply_engine(const GpuArch& gpu, DataType type);

/// Whether blocks of the kernel loop over tiles in an order that its launch lays out: grid[1] is a
/// raster of a few lines of tiles, and tells nothing of the product. Libraries whose names state
/// clusters do it otherwise.
bool lays_out_raster(const KernelTraits& traits);

/// Makes a matrix kernel one of another pass of its layer: with it goes the order of the operands.
void set_pass(KernelClass& kernel, Pass pass);
/// The kernel that does the same with elements of type `to` where it has such of type `from`. FP32
/// products on tensor cores round their operands to TF32.
KernelClass retyped(KernelClass kernel, DataType from, DataType to);
/// The kernel that does the same without tensor cores.
KernelClass without_tensor_cores(KernelClass kernel);

/// A matrix product as the library sees it: C[batch][m][n] = sum over k, tile_m along m.
struct MatrixProblem {
  std::int64_t batch = 0, m = 0, n = 0, k = 0;   // batch 0: unknown
  double a_bytes = 0, b_bytes = 0, c_bytes = 0;  // unique bytes in memory
  bool causal = false;                           // only tiles up to the diagonal
  bool drops_out = false;                        // attention: some of its scores
  double mask_bytes = 0;                         // of attention's mask in memory; 0: none
  std::int64_t steps = 0;  // of a recurrent layer, which one launch computes; 0: not one
};

/// What one launch has to do, derived from the shapes of its operation.
struct KernelWork {
  double elements = 0;    // of the tensor that the kernel walks over; 0: unknown
  int index_dims = 1;     // dimensions an elementwise kernel cannot merge; it divides by each
  int operands = 0;       // of an elementwise kernel, its result among them; 0: unknown
  double rows = 0;        // independent rows of a reduction or normalisation
  double read_bytes = 0;  // unique operand bytes
  double write_bytes = 0;
  double l1_read_bytes = 0;  // of the sectors that strided loads touch; 0: as many as read_bytes
  double accesses = 0;       // warp-wide loads and stores of a generated kernel; 0: unknown
  double converted = 0;      // elements that it loads or stores in another type than FP32
  double passed = 0;         // steps in which its warps pass results of rows from lane to lane
  bool in_place = false;     // writes what it reads
  int written = 1;           // tensors of one size that write_bytes are of
  MatrixProblem matrix;
  double flops = 0;    // of the operation's formula (flops.h); 0: no product, or not known
  bool exact = false;  // from shapes; false: estimated from the launch geometry
};

/// One kernel launch, in the terms that a trace or a generator states.
struct KernelLaunch {
  std::string_view name;  // kernel name as the profiler prints it; may be empty for a generator
  std::string_view op;    // innermost framework operation, e.g. "aten::addmm"
  KernelFamily family = KernelFamily::generic;
  DataType math = DataType::unknown;  // type of the arithmetic, e.g. tf32
  KernelTraits traits;
  LaunchGeometry geometry;
  KernelWork work;
  std::span<const TensorShape> tensors;  // inputs of the operation; empty: unknown
  double duration_us = 0;                // as traced; 0: not measured
};

/// What a run of the kernel costs. Counters are sums over the device, as Nsight Compute's `.sum`.
struct KernelCost {
  double time_us = 0;
  double confidence = 0;  // 0..1; 0: generic model
  double smsp_elapsed_cycles = 0;
  double smsp_active_cycles = 0;  // cycles with at least one warp resident
  double smsp_issue_cycles = 0;   // cycles in which an instruction was issued
  double tc_active_cycles = 0;    // sm__pipe_tensor_cycles_active.sum (adds the SMSPs)
  double tc_issue_cycles = 0;     // tensor-core warp instructions
  double warp_active_cycles = 0;  // sm__warps_active.sum
  double l1_sectors = 0;          // 32 bytes each
  double l2_sectors = 0;
  double dram_read_sectors = 0;
  double dram_write_sectors = 0;
  double shared_wavefronts = 0;  // 128 bytes each
  double clock_mhz = 0;          // of SMs while it runs
  bool clamped = false;          // more than the GPU can do in the time: cut to what it can
};

/// Whether the caches hold what earlier kernels of the step left, or were flushed before the
/// kernel.
enum class CacheState : std::uint8_t { warm, cold };
inline constexpr Named<CacheState> cache_states[] = {{CacheState::warm, "warm"},
                                                     {CacheState::cold, "cold"}};

}  // namespace tandem
