// A step of an eager runtime with an executor (TensorFlow), as its profiler would show it.
#pragma once

#include "workloads/generate.h"

namespace tandem {

/// The program enqueues, waits for values that it reads back, and the executor runs nodes: kernels
/// of the CPU, launches of kernels of the GPU, copies of inputs to the device, which it waits for.
/// Times of the host: GenerateInput::host.executor.
Trace generate_executor_trace(const GenerateInput& input);

}  // namespace tandem
