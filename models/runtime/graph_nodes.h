// Nodes of a CUDA graph: how they follow each other, with the profiler and without.
#pragma once

#include "models/runtime/host_model.h"
#include "sim/engine/plan.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Takes out of the gaps of `launch`'s nodes what the profiler adds to them. It writes the end of a
/// node before the next one is prepared. Without it a kernel of `graph_hiding_threads` or more,
/// whose blocks do not all run at once, hides `graph_hidden_us` of the next kernel's preparation;
/// the trace counts part of that as the next kernel's duration, so that a gap may be negative. What
/// follows a memset starts `graph_profiler_memset_us` earlier.
void remove_profiler_from_nodes(const Trace& trace, const HostModel& host, const HostItem& launch,
                                std::vector<DeviceWork>& works);

/// Makes the works of `launch` nodes of one graph, which nobody profiles, and the call the launch
/// of that graph.
void make_nodes(const Trace& trace, const HostModel& host, HostItem& launch,
                std::vector<DeviceWork>& works);

}  // namespace tandem
