// Memory of the device that a traced step holds: recorded by the framework's allocator, or by the
// liveness of the tensors that its operations make.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/memory/compiled_lives.h"
#include "models/memory/lives.h"
#include "models/step/batch/roles.h"
#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// What `[memory]` events say of the steps of a trace.
struct RecordedMemory {
  double peak_bytes = 0;
  /// False: the trace holds changes only (before 2022); the peak is what the steps add to what was
  /// there when they began.
  bool complete = true;
};

/// Of the busiest device (traced_devices.h), over the steps; nothing without such events.
std::optional<RecordedMemory> recorded_memory(const Trace& trace, const Links& links);

/// What compilers tell apart of a data flow's phases: all but the two passes is the optimizer's.
GraphPhase graph_phase(FlowPhase phase);

/// A tensor lives from the operation that makes it to the last one that reads it, forward or
/// backward; what is written in place lives on; gradients of parameters live until the optimizer
/// has used them. Sizes are whole blocks of the caching allocator. `batch`: items of the step, with
/// which activations, their gradients and the inputs grow (growth.h); gradients of parameters and
/// copies of parameters in another type do not. Parameters themselves
/// and the state of the optimizer come on top. The worst moments, by rising growing bytes; none if
/// no operation states shapes.
std::vector<MemoryMoment> live_tensors(const Step& step, std::int64_t batch);
/// The same where data flow and operations at that batch, at least 1, are known already.
std::vector<MemoryMoment> live_tensors(const Step& step, const Dataflow& flow, const BatchOps& ops,
                                       std::int64_t batch);

/// The same of an eager step, whose data flow is `flow`, as a compiler would run its operations;
/// `added`: what those hold besides then.
std::vector<MemoryMoment> compiled_tensors(const Step& step, const Dataflow& flow,
                                           std::int64_t batch, Saving saving,
                                           std::span<const Life> added = {});

}  // namespace tandem
