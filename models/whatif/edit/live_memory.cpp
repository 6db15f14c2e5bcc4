#include "models/whatif/edit/live_memory.h"

#include "models/step/memory/peak_memory.h"

namespace tandem {

const PeakMemory& held_memory(const TransformInput& in, const Rewritten& out) {
  return out.memory.after ? *out.memory.after : *in.memory;
}

double change_live_memory(const TransformInput& in, Rewritten& out) {
  if (in.memory == nullptr || !in.traced.batch) return 1;
  const std::int64_t batch = *in.traced.batch;
  const PeakMemory& held = held_memory(in, out);
  const std::optional<PeakMemory> as_before = step_memory(held, in.traced.step, batch);
  const std::optional<PeakMemory> after = step_memory(held, out.step, batch);
  if (!as_before || !after) return 1;
  if (!out.memory.before) out.memory.before = as_before;
  const double before = peak_bytes(*as_before, batch);
  out.memory.after = after;
  return peak_bytes(*after, batch) / before;
}

}  // namespace tandem
