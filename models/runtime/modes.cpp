#include "models/runtime/modes.h"

#include <utility>

#include "models/runtime/executor_modes.h"

namespace tandem {

namespace {

constexpr Named<Mode> mode_table[] = {
    {Mode::as_traced, "as-traced", "the run as it was traced"},
    {Mode::eager_async, "eager-async", "launches do not wait for the device"},
    {Mode::eager_sync, "eager-sync",
     "every kernel launch waits for its kernel (CUDA_LAUNCH_BLOCKING=1)"},
    {Mode::cuda_graph, "cuda-graph",
     "a graph for every stretch of the step without a wait, one for all of it where nothing waits"},
};

/// Every launch of a kernel returns after the kernel (CUDA_LAUNCH_BLOCKING=1).
void make_synchronous(const Trace& trace, const HostModel& host, Plan& step) {
  for (HostItem& item : step.items) {
    if (!launches_kernel(trace, step, item)) continue;
    item.wait = WaitFor::own_work;
    item.return_delay = from_us(host.blocking_return_us);
  }
}

/// The `k`-th node of a graph launch as a launch of its own: what the host did and waited for
/// before the graph, it does before the first.
HostItem launch_of_node(const HostModel& host, const HostItem& graph, std::uint32_t k) {
  HostItem launch = graph;
  launch.kind = ItemKind::launch;
  launch.first_work = graph.first_work + k;
  launch.work_count = 1;
  launch.call = launch.submit = from_us(host.launch_call_us);
  if (k > 0) {
    launch.gap = launch.input = launch.wake = Duration::zero();
    launch.after = no_index;
    launch.own_gap = false;
  }
  launch.gap += from_us(host.eager_launch_us - host.launch_call_us);
  return launch;
}

/// A node's work as a launch of its own brings it to the device.
void start_as_launch(const HostModel& host, DeviceWork& work) {
  work.graph_node = false;
  work.takes_slot = true;
  work.pool_wait = work.pool_latency = Duration::zero();
  work.gap = from_us(host.kernel_gap_near_us);
  work.far_gap = from_us(host.kernel_gap_far_us);
  work.latency = from_us(host.launch_latency_us);
}

/// Whether the program launched a graph there; a compiler's graphs stand for its single launches.
bool launches_traced_graph(const Trace& trace, const HostItem& item) {
  return item.kind == ItemKind::graph_launch &&
         (item.source == no_index || trace.calls.api[item.source] == ApiKind::launch_graph);
}

/// Turns the nodes of a traced graph into launches of their own, with a typical host cost each.
void expand_graphs(const Trace& trace, const HostModel& host, Plan& step, LossList& losses) {
  std::vector<HostItem> items;
  std::vector<std::uint32_t> moved(step.items.size());
  std::int64_t expanded = 0;
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const HostItem item = step.items[i];
    if (!launches_traced_graph(trace, item)) {
      moved[i] = static_cast<std::uint32_t>(items.size());
      items.push_back(item);
    } else {
      for (std::uint32_t k = 0; k < item.work_count; ++k) {
        start_as_launch(host, step.works[item.first_work + k]);
        items.push_back(launch_of_node(host, item, k));
        ++expanded;
      }
      moved[i] = static_cast<std::uint32_t>(items.size() - 1);
    }
  }
  for (HostItem& item : items) {
    if (item.after != no_index) item.after = moved[item.after];
  }
  step.items = std::move(items);
  for (std::uint32_t i = 0; i < step.items.size(); ++i) {
    for (std::uint32_t k = 0; k < step.items[i].work_count; ++k) {
      step.works[step.items[i].first_work + k].item = i;
    }
  }
  losses.add("graph_expanded_to_eager", Severity::warning,
             "graph nodes that became eager launches: the trace holds no host time for them, a "
             "typical one was used",
             expanded);
}

void make_asynchronous(const Trace& trace, const HostModel& host, Plan& step, LossList& losses) {
  expand_graphs(trace, host, step, losses);
  for (HostItem& item : step.items) {
    if (launches_kernel(trace, step, item)) item.wait = WaitFor::nothing;
  }
}

}  // namespace

std::span<const Named<Mode>> modes() { return mode_table; }

std::string_view to_string(Mode mode) { return name_of(mode_table, mode); }

void apply_mode(const Trace& trace, const HostModel& host, const ModeOptions& options, Plan& step,
                LossList& losses) {
  const bool queued = has_nodes(step);
  switch (options.mode) {
    case Mode::as_traced: return;
    case Mode::eager_async:
      if (queued) return run_nodes_on_executor(trace, host.executor, step);
      return make_asynchronous(trace, host, step, losses);
    case Mode::eager_sync:
      if (queued) return run_nodes_inline(step);
      make_asynchronous(trace, host, step, losses);
      return make_synchronous(trace, host, step);
    case Mode::cuda_graph: return capture_graphs(trace, host, options.graph_scope, step, losses);
  }
}

}  // namespace tandem
