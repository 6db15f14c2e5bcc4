// How one kernel of a trace changes with the batch: scale class, times at both batches, geometry.
#pragma once

#include <cstdint>

#include "models/arch/gpu_arch.h"
#include "models/kernel/classify/classify.h"
#include "models/kernel/residual.h"
#include "models/step/batch/roles.h"
#include "models/whatif/batch/law.h"

namespace tandem {

/// How a kernel's time depends on the batch.
enum class ScaleClass : std::uint8_t {
  constant,   // does not depend on it
  memory,     // bytes it moves
  matrix,     // matrix product or convolution on its best tile
  norm,       // batch normalisation, a block per channel
  attention,  // waves of blocks
  reduction,  // sums, as the framework cuts them into threads and blocks
  embedding,  // gradient of an embedding table
  affine,     // floor plus a part proportional to the batch: no model, or no shapes
};
std::string_view to_string(ScaleClass scale);

/// Both batches and what the laws need of the machine.
struct BatchChange {
  const GpuArch& gpu;
  const BatchLaw& law;
  std::int64_t base = 0;
  std::int64_t batch = 0;
  double floor_scale = 1;  // launch floor of the trace / that of the constants
  double ratio() const { return static_cast<double>(batch) / static_cast<double>(base); }
};

/// What one kernel is, as the laws see it.
struct BatchKernel {
  ActivityKind activity = ActivityKind::kernel;
  KernelClass kernel;
  LaunchGeometry geometry;
  std::int64_t bytes = 0;           // of copies and memsets
  const BatchOp* op = nullptr;      // null: unknown
  const BatchOp* around = nullptr;  // the operation that contains it; null: none
};

/// What residual.h needs to carry a measured time over to the new batch.
struct KernelScaling {
  ScaleClass scale = ScaleClass::constant;
  double floor_us = 0;
  Damping damping{.floor_share = 0, .us = 0};
  double base_us = 1;      // modelled body at the base batch
  double target_us = 1;    // and at the new one
  double computing = 0;    // growth of what bytes do not explain; 0: all follows the bodies
  double launches = 1;     // at the new batch over those at the base; stands for their number
  bool switches = false;   // the library is likely to choose another algorithm
  TileChoice from, to;     // of a product
  bool recurrent = false;  // of a recurrent layer
  double predict_us(double measured_us) const;
};

KernelScaling scale_kernel(const BatchChange& change, const BatchKernel& kernel,
                           const OpTensors& target);

/// The launch geometry at the new batch.
/// Errors: InputError if CUDA cannot launch that many blocks.
LaunchGeometry resize_geometry(const BatchChange& change, const BatchKernel& kernel,
                               const OpTensors& target, ScaleClass scale);

}  // namespace tandem
