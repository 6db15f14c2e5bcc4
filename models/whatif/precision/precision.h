// The precision what-if: a step as it would run with another arithmetic. Casts appear and vanish,
// products move between FP32 pipes and tensor cores, operands take other numbers of bytes.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/arch/gpu_arch.h"
#include "models/kernel/choice/measured_layers.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/time_constants.h"
#include "models/runtime/host_model.h"
#include "models/step/step.h"
#include "models/whatif/edit/switches.h"
#include "models/whatif/precision/law.h"
#include "sim/core/error.h"
#include "sim/core/named.h"

namespace tandem {

enum class Precision : std::uint8_t {
  fp32,   // matrix products on FP32 pipes; convolutions may use TF32, the framework's default
  tf32,   // matrix products in TF32 too
  amp,    // autocast to FP16, gradients scaled
  bf16,   // autocast to BF16
  fp16w,  // weights and all else in FP16, without autocast
  bf16w,  // ... in BF16
};
std::span<const Named<Precision>> precisions();
std::string_view to_string(Precision precision);
/// Errors: InputError for a name that is none of those.
Precision parse_precision(std::string_view name);

/// Whether weights and all else have 16 bits, without autocast.
bool is_whole(Precision precision);
/// The type of 16 bits that it has, for those that have one.
DataType half_of(Precision precision);
/// From the types of its matrix products and convolutions and the names of their kernels.
Precision traced_precision(const Step& step);
/// Errors: InputError if the GPU has no tensor cores for the precision.
void require_precision(const GpuArch& gpu, Precision precision);
/// Whether the operations of the step state operands, so that their precision can be told.
bool states_types(const Step& step);

struct PrecisionReport {
  Precision from = Precision::fp32, to = Precision::fp32;
  std::uint32_t casts_added = 0, casts_removed = 0;
  std::uint32_t kernels_retyped = 0;  // that compute in another type than in the trace
  double cast_us = 0;                 // GPU time of the added less that of the removed casts
  double switch_share = 0;            // of the predicted GPU time: libraries pick other kernels
  double unmodelled_share = 0;        // ... operations without a law of their own
  AlgorithmSwitches switches;         // layers and products that run another way
  double expected_error = 0;          // relative, of the GPU time; from the scores in the README
};

/// The step in precision `to`. Operand types of the trace's operations change with it.
/// `gpu`: the GPU the step was measured on. `compiled`: a compiler gets the step then, which takes
/// layers that are one call apart by itself.
/// Errors: InputError if the GPU cannot compute in `to`, for traces without operand shapes, and for
/// compiled ones to weights of 16 bits.
Step with_precision(Step step, Precision to, const GpuArch& gpu, const PrecisionLaw& law,
                    const TimeConstants& time, const LibraryNames& names,
                    const MeasuredLayers& layers, const HostModel& host, LossList& losses,
                    PrecisionReport* report = nullptr, bool compiled = false);

}  // namespace tandem
