// From an operation and a GPU to the kernels that the framework and its libraries launch for it.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "models/arch/gpu_arch.h"
#include "models/kernel/choice/measured_layers.h"
#include "models/kernel/library_names.h"
#include "models/kernel/time/laws/framework_sums.h"
#include "models/kernel/time/time_model.h"
#include "sim/core/error.h"
#include "sim/trace/trace.h"
#include "workloads/lower/rules.h"
#include "workloads/network.h"

namespace tandem {

/// One kernel, copy or memset that an operation launches.
struct LoweredKernel {
  ActivityKind kind = ActivityKind::kernel;
  std::string name;  // as a profiler prints it
  LaunchGeometry geometry;
  double duration_us = 0;
  std::int64_t bytes = 0;  // of copies and memsets
};

/// What single layers were measured to take, and the GPU that they ran on.
struct MeasuredOn {
  const MeasuredLayers& layers;
  const GpuArch& gpu;
};

/// What lowering reads besides the operation.
struct LoweringInput {
  const GpuArch& gpu;
  const TimeConstants& time;
  const LibraryNames& libraries;
  const LoweringRules& rules;
  const SumPace& sums;
  const MeasuredOn* measured = nullptr;  // null: laws alone
};

/// The kernels of an operation, in order. Operations without a rule count as a loss and are timed
/// as a stream over their operands. Equal operations are lowered once.
class Lowering {
 public:
  explicit Lowering(const LoweringInput& input) : input_(input) {}
  const std::vector<LoweredKernel>& kernels(const NetworkOp& op, const BoundOp& bound,
                                            LossList& losses);

 private:
  struct Known {
    const BoundOp* bound = nullptr;
    std::vector<LoweredKernel> kernels;
  };
  LoweringInput input_;
  std::unordered_map<std::size_t, std::vector<Known>> known_;
};

}  // namespace tandem
