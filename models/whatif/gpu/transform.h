// The row of transforms() for another GPU, or other numbers of it.
#pragma once

#include "models/whatif/reported.h"
#include "models/whatif/transform.h"

namespace tandem {

/// The GPU that the scenario's step runs on, of a trace whose GPU is known. Errors: InputError for
/// a GPU or a number that nobody knows.
GpuArch target_gpu(const TransformInput& input);

Transform gpu_transform();
ReportedObject gpu_report();

}  // namespace tandem
