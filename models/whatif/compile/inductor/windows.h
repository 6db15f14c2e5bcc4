// Pooling in generated code: what its windows read and compute.
#pragma once

#include "models/kernel/time/laws/generated_code.h"
#include "models/step/dataflow.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Whether the trace says how large the windows are: reports of Nsight Systems state no arguments.
bool states_windows(const Trace& trace, const FlowOp& op);

/// Elements that one window reads; where nothing states them, as many as windows that do not
/// overlap.
double window_taps(const Trace& trace, const Dataflow& flow, const FlowOp& op);

/// Places of maxima that a pooling operation keeps for its gradient, or that the gradient reads,
/// one byte each in compiled code.
double window_places(const Dataflow& flow, const FlowOp& op);

/// Whether only the gradient of the results is read: of the image that was pooled, the gradient
/// needs the shape, and places are counted by themselves.
bool unread_by_windows(const FlowOp& op, const FlowUse& use);

/// Cycles of one FP32 lane.
double window_cycles(const Trace& trace, const Dataflow& flow, const GeneratedCode& code,
                     const FlowOp& op, bool channels_last);

}  // namespace tandem
