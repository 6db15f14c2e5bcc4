// Trace -> Plan: the run exactly as it was measured, ready to be re-simulated or transformed.
#pragma once

#include <string>
#include <vector>

#include "models/runtime/device_timing.h"
#include "models/runtime/host_model.h"
#include "models/runtime/traced_pool.h"
#include "sim/engine/plan.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// The items and the work of one step of a Plan.
struct PlanStep {
  std::string name;
  std::uint32_t first_item = 0;  // the step_begin marker
  std::uint32_t end_item = 0;    // one past the step_end marker
};

struct MeasuredPlan {
  Plan plan;
  std::vector<PlanStep> steps;
  bool blocking_launches = false;  // most launches wait for their kernel (CUDA_LAUNCH_BLOCKING)
  bool graph_launches = false;     // most device work comes from CUDA graphs
  bool device_only = false;        // nothing is known of the host: device work and its gaps
  bool executor = false;           // an eager runtime's executor takes operations from a queue
  LossList losses;
};

/// Host program order per thread with hand-offs between threads, launch -> work, stream order,
/// cross-stream edges (inferred from late starts), host waits (synchronisations, blocking copies,
/// blocking launches). Durations and host gaps are measured; device gaps and latencies come from
/// `timing`. `pool` tells waits for events from waits for places on the SMs.
MeasuredPlan measured_plan(const Trace& trace, const Links& links, const HostModel& host,
                           const DeviceTiming& timing, const TracedPool& pool = {});

}  // namespace tandem
