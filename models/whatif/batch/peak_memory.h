// Peak of the caching allocator as a function of the batch, and the largest batch that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "models/arch/gpu_arch.h"
#include "models/step/step.h"
#include "models/whatif/batch/law.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Peak of allocated memory, measured at a batch.
struct MemoryPoint {
  std::int64_t batch = 0;
  double peak_bytes = 0;
};

/// peak = max(fixed_bytes + item_bytes x batch, floor_bytes)
struct PeakMemory {
  std::int64_t parameters = 0;          // elements, shared ones once
  std::int64_t table_rows_updated = 0;  // of them in tables whose gradients are sparse
  bool training = false;
  int optimizer_states = 0;   // values kept per parameter
  double fixed_bytes = 0;     // parameters, gradients, states, library workspaces
  double gradient_bytes = 0;  // of fixed_bytes: of parameters, while all of them are there
  double copy_bytes = 0;      // of fixed_bytes: parameters in another type
  double floor_bytes = 0;     // the parameter update alone, with its temporary copies
  double item_bytes = 0;      // per item of the batch
  std::size_t points = 0;     // measurements used; 0: activations estimated from shapes
  double uncertainty = 0;     // relative standard deviation of item_bytes
};

/// Parameters and the state of the optimizer from the shapes of one step; activations from the
/// results of its forward operations, which is good to a factor of about 1.5. Errors: InputError
/// for a trace without shapes.
PeakMemory peak_memory(const Trace& trace, const Links& links, std::int64_t base_batch,
                       const BatchLaw& law);

/// By the liveness of the step's tensors alone; nothing if the trace has no shapes.
std::optional<PeakMemory> live_memory(const Step& step, std::int64_t base_batch,
                                      const BatchLaw& law);

/// `live`, made to pass through what was measured at one or two batches, in ascending order.
/// Errors: InputError at `path` for points that contradict each other.
PeakMemory through_points(const PeakMemory& live, std::span<const MemoryPoint> points,
                          const std::string& path);

double peak_bytes(const PeakMemory& memory, std::int64_t batch);
/// Against the memory that allocations can use: less the context and the driver's reserve.
bool fits(const PeakMemory& memory, std::int64_t batch, const GpuArch& gpu, const BatchLaw& law);
/// 0: not even one item.
std::int64_t largest_batch(const PeakMemory& memory, const GpuArch& gpu, const BatchLaw& law);

}  // namespace tandem
