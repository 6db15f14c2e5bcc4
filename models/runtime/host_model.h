// Constants of the host side: CUDA launch path, synchronisation, the profiler's cost.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/runtime/executor_model.h"
#include "sim/core/fields/provenance.h"
#include "sim/core/time.h"

namespace tandem {

/// Read from configs/hosts/*.json, where every number carries unit, source and kind.
/// The device-side gaps are defaults: a trace that shows enough of them is its own measurement
/// (models/runtime/device_timing.h).
struct HostModel {
  std::string name;

  // Device side of the launch path.
  double launch_latency_us = 0;    // end of the launch call -> start on an idle stream
  double kernel_gap_near_us = 0;   // kernel -> kernel, host no further ahead than far_lead
  double kernel_gap_far_us = 0;    // kernel -> kernel, host further ahead
  double memset_gap_us = 0;        // any gap with a memset or copy on one side
  double graph_node_gap_us = 0;    // node -> node inside a graph, under the profiler
  double graph_memset_gap_us = 0;  // the same with a memset on one side
  double graph_launch_gap_us = 0;  // graph -> graph, under the profiler
  double event_latency_us = 0;     // end of work -> start of work of another stream that waits
  std::int64_t queue_depth = 0;    // launches a stream takes before the host blocks

  // Returning from waits.
  double sync_return_us = 0;      // end of device work -> synchronize returns
  double sync_call_us = 0;        // a synchronize that has nothing to wait for
  double blocking_return_us = 0;  // end of a kernel -> its blocking launch returns

  // The run without the profiler.
  double gap_scale_aligned = 0;           // x the minimum over steps of the same gap
  double gap_scale_single = 0;            // x the gap, where steps cannot be aligned
  double bare_stretch_us = 0;             // a stretch without operations keeps what exceeds it
  double launch_call_us = 0;              // a launch call without the profiler
  std::int64_t graph_hiding_threads = 0;  // a kernel of as many hides the next one's preparation
  double graph_hidden_us = 0;             // ... so much of it
  double graph_profiler_memset_us = 0;    // what the profiler adds to a memset of a graph
  double graph_launch_call_us = 0;        // cudaGraphLaunch on the host, constant part
  double graph_launch_node_us = 0;        // ... and per node
  double eager_launch_us = 0;  // host time per launch of an eager op, for traces that hold no ops

  std::vector<Provenance> origins;  // of these
  ExecutorModel executor;           // of runtimes that queue operations; a file of its own
};

/// Throws InputError for a missing or malformed file.
HostModel load_host_model(const std::string& path);

}  // namespace tandem
