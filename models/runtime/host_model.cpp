#include "models/runtime/host_model.h"

#include <fmt/format.h>

#include "sim/core/fields/constants.h"

namespace tandem {

namespace {

constexpr std::int64_t most_launches = 1'000'000'000;

std::vector<Field<HostModel>> host_fields() {
  using H = HostModel;
  const auto us = [](std::string_view name, std::string_view doc, double H::*member) {
    return field<H>(name, "us", doc, member, Range::non_negative);
  };
  return {
      us("launch_latency_us", "end of the launch call to the start on an idle stream",
         &H::launch_latency_us),
      us("kernel_gap_near_us", "kernel to kernel, host less than 100 us ahead",
         &H::kernel_gap_near_us),
      us("kernel_gap_far_us", "kernel to kernel, host further ahead", &H::kernel_gap_far_us),
      us("memset_gap_us", "gap with a memset or copy on one side", &H::memset_gap_us),
      us("graph_node_gap_us", "node to node inside a graph, under the profiler",
         &H::graph_node_gap_us),
      us("graph_memset_gap_us", "the same with a memset on one side", &H::graph_memset_gap_us),
      us("graph_launch_gap_us", "graph to graph, under the profiler", &H::graph_launch_gap_us),
      us("event_latency_us", "end of work to start of work of a stream that waits for it",
         &H::event_latency_us),
      field<H>("queue_depth", "launches", "launches a stream takes before the host blocks",
               &H::queue_depth),
      us("sync_return_us", "end of device work to the return of the call that waits for it",
         &H::sync_return_us),
      us("sync_call_us", "a synchronize with nothing to wait for", &H::sync_call_us),
      us("blocking_return_us", "end of a kernel to the return of its blocking launch",
         &H::blocking_return_us),
      field<H>("gap_scale_aligned", "ratio", "unprofiled gap / minimum over steps of that gap",
               &H::gap_scale_aligned),
      field<H>("gap_scale_single", "ratio", "unprofiled gap / traced gap, steps not aligned",
               &H::gap_scale_single),
      us("bare_stretch_us",
         "of a longer stretch of host time without an operation, the rest takes as long without "
         "the profiler",
         &H::bare_stretch_us),
      us("launch_call_us", "a launch call without the profiler", &H::launch_call_us),
      field<H>("graph_hiding_threads", "threads",
               "smallest kernel of a graph that hides the next one's preparation",
               &H::graph_hiding_threads),
      us("graph_hidden_us", "what it hides without the profiler", &H::graph_hidden_us),
      us("graph_profiler_memset_us", "what the profiler adds to a memset of a graph",
         &H::graph_profiler_memset_us),
      us("graph_launch_call_us", "cudaGraphLaunch, constant part", &H::graph_launch_call_us),
      us("graph_launch_node_us", "cudaGraphLaunch, per node", &H::graph_launch_node_us),
      us("eager_launch_us", "host time per launch of an eager op, for traces without ops",
         &H::eager_launch_us),
  };
}

}  // namespace

HostModel load_host_model(const std::string& path) {
  const HostModel host = load_constants(path, host_fields());
  const Place constants = Place{path, ""} / "constants";
  if (host.launch_call_us > host.eager_launch_us) {  // which holds the call
    (constants / "launch_call_us")
        .fail("number " + fmt::format("{}", host.launch_call_us),
              fmt::format("at most eager_launch_us, {}", host.eager_launch_us));
  }
  if (host.queue_depth > most_launches) {
    (constants / "queue_depth")
        .fail(std::to_string(host.queue_depth), "at most " + std::to_string(most_launches));
  }
  return host;
}

}  // namespace tandem
