// What a compiler makes of a step: generated kernels in place of chains of memory-bound
// operations, convolutions in channels-last order, host calls of compiled code.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/choice/measured_layers.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/laws/library_products.h"
#include "models/kernel/time/time_constants.h"
#include "models/runtime/host_model.h"
#include "models/step/step.h"
#include "models/whatif/compile/host/bucket_cuts.h"
#include "models/whatif/compile/inductor/fusion_law.h"
#include "models/whatif/compile/masks/untold_masks.h"
#include "sim/core/error.h"
#include "sim/core/named.h"

namespace tandem {

enum class Compiler : std::uint8_t {
  inductor,         // torch.compile of the model; loss and optimizer stay as they are
  reduce_overhead,  // the same, its graphs launched as CUDA graphs
  xla,          // the same fusion, loss and gradient scaling included, launched by an executable
  torchscript,  // the same kernels with less host time
};
std::span<const Named<Compiler>> compilers();
/// Errors: InputError that lists the names.
Compiler parse_compiler(std::string_view name);

struct JitOptions {
  Compiler compiler = Compiler::inductor;
  AttentionPath attention = AttentionPath::automatic;
  /// Of ranks that train the model together. Ranks: as in the trace, or as many as will.
  GradientBuckets buckets = {};
  std::optional<std::int64_t> ranks = {};
};

/// The way of all attention, or automatic: XLA keeps the kernels of the trace unless told.
AttentionPath asked_attention(const JitOptions& options);

/// One generated kernel and what it replaces.
struct FusedKernel {
  std::string name;
  std::uint32_t operations = 0;  // of the framework, whose work it does
  double bytes = 0;              // read and written
  double us = 0;
};

struct JitReport {
  std::vector<FusedKernel> kernels;
  std::size_t kernels_before = 0, kernels_after = 0;  // of the whole step, copies included
  double gpu_before_us = 0, gpu_after_us = 0;
  double bytes_before = 0, bytes_after = 0;  // operands of the memory-bound operations
  double host_before_us = 0, host_after_us = 0;
  std::size_t bucket_cuts = 0;  // places where it is cut at a bucket of gradients
  std::size_t breaks = 0;       // places in the forward pass where the compiled graph ends early
  std::size_t graphs = 0;       // CUDA graphs that a step launches
  double layout_us = 0;         // saved by channels-last order
  /// GPU time if attention keeps its kernels, if these read a mask, and if it is computed by
  /// products of its own; the way that most of it is predicted to go.
  double attention_keep_us = 0, attention_masked_us = 0, attention_math_us = 0;
  AttentionPath attention = AttentionPath::keep;
  UntoldMasks untold = {};
  double unknown_share = 0;  // of the GPU time, in operations of the model without shapes
  double expected_error = 0;
};

/// What tells the time of compiled code.
struct JitConstants {
  const GpuArch& gpu;  // that the step was measured on
  const FusionLaw& law;
  const TimeConstants& time;
  const LibraryNames& names;
  const MeasuredLayers& layers;
  const HostModel& host;
  const LibraryProducts& products;  // of rows that are not aligned
};

/// `step` as `options.compiler` would run it. Errors: InputError if the trace has no operator
/// shapes. Losses: `jit_*`.
Step with_jit(Step step, const JitOptions& options, const JitConstants& constants, LossList& losses,
              JitReport* report = nullptr);

}  // namespace tandem
