// Peak of the caching allocator as a function of the batch, and the largest batch that fits.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/memory/lives.h"
#include "models/step/memory/device_memory.h"
#include "models/step/step.h"

namespace tandem {

/// Peak of allocated memory, measured at a batch.
struct MemoryPoint {
  std::int64_t batch = 0;
  double peak_bytes = 0;
};

/// What a peak was predicted from; each has residuals of its own.
enum class MemoryBasis : std::uint8_t {
  recorded,          // said by the user, or by the framework's allocator
  training,          // liveness of the tensors of a traced step
  inference,         // the same
  compiled,          // the same, where a compiler made its graphs
  network,           // liveness of a step without a trace
  compiled_network,  // ... as a compiler would make it
};

/// What stays in memory from one step to the next, bytes.
struct KeptParts {
  double parameters = 0;  // of sharded ones the own part and what is gathered at once
  double states = 0;      // of the optimizer
  double buckets = 0;     // in which ranks sum gradients
  double workspaces = 0;  // of libraries
  double sum() const { return parameters + states + buckets + workspaces; }
};

/// The peak at a batch is that of the worst moment there.
struct PeakMemory {
  std::int64_t parameters = 0;  // elements, shared ones once
  bool training = false;
  double kept_bytes = 0;              // parameters, states, library workspaces: there all along
  KeptParts kept;                     // of what
  double kept_item_bytes = 0;         // for each item: inputs, where it is known which they are
  double update_bytes = 0;            // gradients and temporary copies of the parameter update
  std::vector<MemoryMoment> moments;  // that can be the worst; growing_bytes of an item
  double bucket_bytes = 0;            // in which ranks sum gradients
  bool has_buckets = false;           // they are among what is kept
  std::size_t points = 0;             // measurements used; 0: by liveness alone
  MemoryBasis basis = MemoryBasis::training;
};

/// By the liveness of the step's tensors alone, with parameters and the state of the optimizer from
/// its shapes, on a GPU of that compute capability; nothing if the trace has no shapes.
std::optional<PeakMemory> live_memory(const Step& step, std::int64_t base_batch,
                                      const DeviceMemory& device, int compute_major);

/// `memory` with the tensors of `step` in place of its moments: parameters, states and the update
/// of parameters stay. Nothing if the step has no shapes.
std::optional<PeakMemory> step_memory(PeakMemory memory, const Step& step, std::int64_t base_batch);

/// `memory` with parameters, gradients and states of an optimizer of `ratio` times the width.
PeakMemory with_weights(PeakMemory memory, double ratio);

/// `live`, made to pass through what was measured at one or two batches, in ascending order.
/// Errors: InputError at `path` for points that contradict each other.
PeakMemory through_points(const PeakMemory& live, std::span<const MemoryPoint> points,
                          const std::string& path);

double peak_bytes(const PeakMemory& memory, std::int64_t batch);

}  // namespace tandem
