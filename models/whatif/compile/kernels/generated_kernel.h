// A kernel that a compiler generates: what it moves, its time, its name and its operands.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/choice/measured_layers.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/laws/library_products.h"
#include "models/whatif/compile/groups.h"
#include "models/whatif/compile/image_order.h"
#include "models/whatif/compile/inductor/fusion_law.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {

struct GeneratedKernel {
  GeneratedKind kind = GeneratedKind::pointwise;
  std::vector<std::uint32_t> reads, writes;  // tensors
  double bytes = 0;
  double us = 0;
  LaunchGeometry geometry;
};

struct KernelContext {
  const Step& step;
  const Dataflow& flow;
  const FusionPlan& plan;
  const GpuArch& gpu;
  const FusionLaw& law;
  const TimeConstants& time;
  const LibraryNames& names;
  const MeasuredLayers& layers;
  const LibraryProducts& library_products;  // whose rows are not aligned
  ImageOrder images;                        // between the operations of the compiled model
  /// Bytes that the operations before each write, and those that all of them write.
  std::vector<double> written;
};

/// As the compiler names it, without the number at the end: what it is, then what it computes.
PredictedKernel generated_kernel(const LibraryNames& names, GeneratedKind kind,
                                 std::string_view what);
PredictedKernel generated_kernel(const KernelContext& context, GeneratedKind kind,
                                 const FusionGroup& group);

/// What a kernel reads and then what it writes.
Operands generated_operands(const KernelContext& context, const FusionGroup& group,
                            const GeneratedKernel& kernel);

}  // namespace tandem
