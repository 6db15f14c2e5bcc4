// From a network at given sizes to the trace that a profiler would record of a step of it.
#pragma once

#include "models/runtime/host_model.h"
#include "sim/trace/trace.h"
#include "workloads/eager_host.h"
#include "workloads/lower/lower.h"
#include "workloads/network.h"

namespace tandem {

/// What a generated step runs on.
struct GenerateInput {
  const BoundNetwork& network;
  LoweringInput lowering;
  const HostModel& host;
  const EagerHost& eager;
};

/// One step as a profiler shows it: operations with operands, nested; calls; device work with the
/// predicted kernels. Losses of the lowering are those of the trace.
Trace generate_trace(const GenerateInput& input);

}  // namespace tandem
