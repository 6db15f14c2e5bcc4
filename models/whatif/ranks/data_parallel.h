// A step that trained alone, as one rank of several: PyTorch's DistributedDataParallel around it.
#pragma once

#include <cstdint>

#include "models/step/step.h"
#include "models/whatif/ranks/rank_kernels.h"

namespace tandem {

struct DataParallelReport {
  std::int64_t parameters = 0;  // tensors
  double gradient_bytes = 0;
  std::int64_t buckets = 0;
  std::int64_t graphs = 0;   // compiled ones that the host enters besides
  std::int64_t buffers = 0;  // statistics that rank 0 sends to the others before each step
};

/// Each gradient is copied into its bucket when it is ready; a full bucket (`first_bucket_bytes`,
/// then `bucket_bytes`) is summed over the ranks on a stream of its own while the backward pass
/// goes on; at its end every gradient is copied back. Buffers of batch norm are broadcast first.
/// Compiled graphs are cut at the buckets (bucket_cuts.h), each piece entered by itself.
/// Errors: InputError for a step without gradients whose shapes were recorded.
Step with_data_parallel(Step step, const RanksOptions& options, DataParallelReport& report);

}  // namespace tandem
