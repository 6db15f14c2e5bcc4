// Small plans for tests, written in microseconds.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/runtime/host_model.h"
#include "sim/engine/plan.h"

namespace tandem::test {

constexpr TimePoint at_us(double us) { return TimePoint{from_us(us)}; }

/// A host whose constants are round numbers, so that a sum can be checked by eye.
inline HostModel round_host() {
  HostModel host;
  host.name = "round";
  host.launch_latency_us = 2;
  host.kernel_gap_near_us = 1;
  host.kernel_gap_far_us = 1.5;
  host.memset_gap_us = 2.5;
  host.graph_node_gap_us = 0.5;
  host.graph_launch_gap_us = 8;
  host.event_latency_us = 1.5;
  host.queue_depth = 1000;
  host.sync_return_us = 5;
  host.sync_call_us = 2;
  host.blocking_return_us = 3;
  host.gap_scale_aligned = 0.5;
  host.gap_scale_single = 0.25;
  host.bare_stretch_us = 100;
  host.launch_call_us = 4;
  host.graph_hiding_threads = 100'000;
  host.graph_hidden_us = 0.25;
  host.graph_profiler_memset_us = 0.5;
  host.graph_memset_gap_us = 1;
  host.graph_launch_call_us = 2.5;
  host.graph_launch_node_us = 0.5;
  host.eager_launch_us = 12;
  return host;
}

struct WorkSpec {
  double us = 10;
  double latency_us = 2;
  double gap_us = 1;
  std::optional<double> far_gap_us = {};  // default: gap_us
  int stream = 0;
  DeviceEngine engine = DeviceEngine::compute;
  std::vector<WorkEdge> edges = {};
};

/// Appends items in program order; every function returns the index of what it added.
class PlanBuilder {
 public:
  explicit PlanBuilder(int threads = 1, int streams = 1) {
    for (int t = 0; t < threads; ++t) plan.threads.push_back({"thread " + std::to_string(t), {}});
    for (int s = 0; s < streams; ++s) plan.streams.push_back("stream " + std::to_string(s));
  }

  std::uint32_t call(double gap_us, double call_us, int thread = 0) {
    HostItem item;
    item.gap = from_us(gap_us);
    item.call = item.submit = from_us(call_us);
    item.thread = static_cast<std::uint16_t>(thread);
    item.first_work = static_cast<std::uint32_t>(plan.works.size());
    plan.items.push_back(item);
    return static_cast<std::uint32_t>(plan.items.size() - 1);
  }
  std::uint32_t launch(double gap_us, double call_us, const WorkSpec& work, int thread = 0) {
    const std::uint32_t i = call(gap_us, call_us, thread);
    plan.items[i].kind = ItemKind::launch;
    plan.items[i].work_count = 1;
    add_work(work, i);
    return i;
  }
  std::uint32_t graph(double gap_us, double call_us, const std::vector<WorkSpec>& nodes,
                      int thread = 0) {
    const std::uint32_t i = call(gap_us, call_us, thread);
    plan.items[i].kind = ItemKind::graph_launch;
    plan.items[i].work_count = static_cast<std::uint32_t>(nodes.size());
    for (const WorkSpec& node : nodes) {
      add_work(node, i);
      plan.works.back().graph_node = true;
      plan.works.back().takes_slot = false;
    }
    plan.works.back().takes_slot = true;
    return i;
  }
  std::uint32_t sync(double gap_us, double call_us, double return_us, std::uint32_t work,
                     int thread = 0) {
    const std::uint32_t i = call(gap_us, call_us, thread);
    HostItem& item = plan.items[i];
    item.kind = ItemKind::sync;
    item.submit = {};
    item.return_delay = from_us(return_us);
    item.wait = work == no_index ? WaitFor::all_work : WaitFor::work;
    item.wait_work = work;
    return i;
  }
  std::uint32_t marker(ItemKind kind, int thread = 0) {
    const std::uint32_t i = call(0, 0, thread);
    plan.items[i].kind = kind;
    return i;
  }
  /// Work that is on the device from the start and begins no earlier than `start_us`.
  std::uint32_t preloaded(double start_us, const WorkSpec& work) {
    plan.preloaded_start.push_back(at_us(start_us));
    return add_work(work, no_index);
  }
  std::uint32_t add_work(const WorkSpec& spec, std::uint32_t item) {
    DeviceWork work;
    work.duration = from_us(spec.us);
    work.latency = from_us(spec.latency_us);
    work.gap = from_us(spec.gap_us);
    work.far_gap = from_us(spec.far_gap_us.value_or(spec.gap_us));
    work.stream = static_cast<std::uint16_t>(spec.stream);
    work.engine = spec.engine;
    work.item = item;
    work.source = 0;
    work.first_edge = static_cast<std::uint32_t>(plan.edges.size());
    work.edge_count = static_cast<std::uint32_t>(spec.edges.size());
    plan.edges.insert(plan.edges.end(), spec.edges.begin(), spec.edges.end());
    plan.works.push_back(work);
    return static_cast<std::uint32_t>(plan.works.size() - 1);
  }

  Plan plan;
};

}  // namespace tandem::test
