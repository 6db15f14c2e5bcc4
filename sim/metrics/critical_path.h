// What makes a step as long as it is: the chain of host time, calls, waits, gaps and kernels in
// which each link begins when the one before it ends.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/engine/plan.h"
#include "sim/engine/timeline.h"
#include "sim/metrics/work_names.h"
#include "sim/trace/trace.h"

namespace tandem {

enum class PathKind : std::uint8_t {
  host,            // operations and Python between calls
  call,            // launch calls and other runtime calls
  work,            // kernels, copies, memsets
  launch_latency,  // from submission to start
  device_gap,      // between two pieces of work of a stream
  stream_wait,     // from the end of work to the start of work of another stream
  queue_full,      // from the end of work to the call that waited for room
  host_return,     // from the end of work to the return of the call that waited for it
};

/// One link; `row` is a row of Trace::calls (host, call, queue_full, host_return) or of
/// Trace::activities (work, launch_latency, device_gap, stream_wait), or none.
struct PathLink {
  PathKind kind = PathKind::host;
  std::uint32_t row = no_index;
  TimePoint begin;
  TimePoint end;
  std::uint32_t executed = no_index;  // of an eager runtime's items: row of Trace::nodes
};

/// Builds the dependency graph of the plan (Boost.Graph; vertices are items and work, edges carry
/// the delay between the end of one and the begin of the other) and walks from the event that ends
/// last among the vertices before `end_item` / `end_work` back to `from`. Links in order of time.
std::vector<PathLink> critical_path(const Plan& plan, const Timeline& timeline, TimePoint from,
                                    std::size_t end_item, std::size_t end_work);

std::string_view to_string(PathKind kind);
/// Links of the device: their rows are of Trace::activities.
bool of_device(PathKind kind);
/// Those of them that faster launches would not shorten: a launch on its way is the host's.
bool of_gpu(PathKind kind);

/// What a link is called in reports. `op_of_call`: per call its operation, or empty.
std::string link_name(const Trace& trace, std::span<const std::string_view> op_of_call,
                      const PathLink& link);

/// A stretch of the critical path of one step, merged over all places with the same name.
struct PathShare {
  PathKind kind = PathKind::host;
  std::string name;
  std::int64_t count = 0;
  double time_us = 0;
  double share = 0;  // of the path
};

/// Merges links by kind and name, longest first.
std::vector<PathShare> summarize_path(const Trace& trace,
                                      std::span<const std::string_view> op_of_call,
                                      const std::vector<PathLink>& links);

/// All stretches of the critical path of a step that are alike. The parts of a step sum to its
/// time, to the picosecond.
struct StepPart {
  PathKind kind = PathKind::host;
  std::string op;     // framework operation; empty: none is known
  std::string layer;  // type of layer, of what the device does
  std::string name;   // of the kernel or the call; empty for host time and for gaps
  std::int64_t count = 0;
  Duration time{};
};

/// Merges links that are alike, in the order of kind, operation, layer, name. `names`: of the work
/// of `trace`.
std::vector<StepPart> step_parts(const Trace& trace, const WorkNames& names,
                                 const std::vector<PathLink>& links);

}  // namespace tandem
