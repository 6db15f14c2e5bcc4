#include "models/runtime/modes.h"

#include <string>
#include <utility>

#include "models/ops/op_table.h"
#include "models/runtime/executor_modes.h"
#include "sim/core/copy_direction.h"

namespace tandem {

namespace {

constexpr Named<Mode> mode_table[] = {
    {Mode::as_traced, "as-traced", "the run as it was traced"},
    {Mode::eager_async, "eager-async", "launches do not wait for the device"},
    {Mode::eager_sync, "eager-sync",
     "every kernel launch waits for its kernel (CUDA_LAUNCH_BLOCKING=1)"},
    {Mode::cuda_graph, "cuda-graph",
     "one graph launch a step; what follows a wait inside the step stays eager"},
};

constexpr Named<GraphScope> scope_table[] = {
    {GraphScope::step, "step", "from the step's begin to its first host wait, or all of it"},
    {GraphScope::forward_backward, "forward-backward",
     "forward and backward only; the rest of the step is dropped"},
};

bool launches_kernel(const Trace& trace, const Plan& step, const HostItem& item) {
  if (item.kind != ItemKind::launch) return false;
  const std::uint32_t act = step.works[item.first_work].source;
  if (trace.activities.kind[act] == ActivityKind::kernel) return true;
  const std::string_view name = trace.strings.get(trace.activities.name[act]);
  return copy_direction(name) == CopyDirection::on_device;
}

/// Every launch of a kernel returns after the kernel (CUDA_LAUNCH_BLOCKING=1).
void make_synchronous(const Trace& trace, const HostModel& host, Plan& step) {
  for (HostItem& item : step.items) {
    if (!launches_kernel(trace, step, item)) continue;
    item.wait = WaitFor::own_work;
    item.return_delay = from_us(host.blocking_return_us);
  }
}

/// Turns the nodes of a graph launch into launches of their own, with a typical host cost each.
void expand_graphs(const HostModel& host, Plan& step, LossList& losses) {
  std::vector<HostItem> items;
  std::vector<std::uint32_t> moved(step.items.size());
  std::int64_t expanded = 0;
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const HostItem item = step.items[i];
    if (item.kind != ItemKind::graph_launch) {
      moved[i] = static_cast<std::uint32_t>(items.size());
      items.push_back(item);
    } else {
      for (std::uint32_t k = 0; k < item.work_count; ++k) {
        HostItem launch = item;
        launch.kind = ItemKind::launch;
        launch.call = launch.submit = from_us(host.launch_call_us);
        launch.gap = from_us(host.eager_launch_us - host.launch_call_us);
        if (k == 0) launch.gap += item.gap;
        launch.after = k == 0 ? item.after : no_index;
        launch.first_work = item.first_work + k;
        launch.work_count = 1;
        DeviceWork& work = step.works[launch.first_work];
        work.graph_node = false;
        work.takes_slot = true;
        work.pool_wait = work.pool_latency = Duration::zero();
        work.gap = from_us(host.kernel_gap_near_us);
        work.far_gap = from_us(host.kernel_gap_far_us);
        work.latency = from_us(host.launch_latency_us);
        work.item = static_cast<std::uint32_t>(items.size());
        items.push_back(launch);
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
  expand_graphs(host, step, losses);
  for (HostItem& item : step.items) {
    if (launches_kernel(trace, step, item)) item.wait = WaitFor::nothing;
  }
}

bool waits(const HostItem& item) {
  return item.wait != WaitFor::nothing && item.kind != ItemKind::graph_launch;
}

/// One past the last item that the graph captures.
std::size_t capture_end(const Trace& trace, const Plan& step, GraphScope scope) {
  std::size_t end = 0;
  std::size_t last_backward = 0;
  const std::uint16_t main = step.items.front().thread;
  bool capturing = true;
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const HostItem& item = step.items[i];
    if (item.thread != main && item.work_count > 0) last_backward = i + 1;
    if (waits(item) && !launches_kernel(trace, step, item)) capturing = false;
    if (capturing) end = i + 1;
  }
  return scope == GraphScope::forward_backward && last_backward > 0 ? last_backward : end;
}

void warn_of_other_work(const Trace& trace, LossList& losses) {
  bool attention = false;
  for (std::size_t i = 0; i < trace.ops.size() && !attention; ++i) {
    attention = op_row(trace.strings.get(trace.ops.name[i])).kind == OpKind::attention;
  }
  losses.add("capture_may_change_work", Severity::warning,
             "the step uses fused attention; under graph capture the framework may fall back to "
             "another attention backend with more and slower kernels, which this prediction does "
             "not hold",
             attention ? 1 : 0);
}

/// Puts the work of the captured items behind one graph launch on the step's first thread.
void capture(const Trace& trace, const HostModel& host, GraphScope scope, Plan& step,
             LossList& losses) {
  const std::size_t end = capture_end(trace, step, scope);
  std::size_t captured_work = 0;
  for (std::size_t i = 0; i < end; ++i) captured_work += step.items[i].work_count;
  if (captured_work == 0) {
    losses.add("graph_captures_nothing", Severity::warning,
               "the step waits for the device before its first launch: nothing can be captured");
    return;
  }
  std::vector<HostItem> items;
  std::vector<std::uint32_t> moved(step.items.size(), 0);
  items.push_back(step.items.front());  // step_begin
  HostItem launch;
  launch.kind = ItemKind::graph_launch;
  launch.thread = step.items.front().thread;
  launch.work_count = static_cast<std::uint32_t>(captured_work);
  launch.call = from_us(host.graph_launch_call_us +
                        host.graph_launch_node_us * static_cast<double>(captured_work));
  launch.submit = launch.call;
  items.push_back(launch);
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const bool captured = i < end;
    const bool dropped = !captured && scope == GraphScope::forward_backward;
    moved[i] = captured || dropped ? 1U : static_cast<std::uint32_t>(items.size());
    if (!captured && !dropped) items.push_back(step.items[i]);
  }
  for (HostItem& item : items) {
    if (item.after != no_index) item.after = moved[item.after];
  }
  if (scope == GraphScope::forward_backward) step.works.resize(captured_work);
  step.items = std::move(items);
  for (std::uint32_t w = 0; w < captured_work; ++w) {
    DeviceWork& work = step.works[w];
    work.graph_node = true;
    work.takes_slot = w + 1 == captured_work;
    work.pool_wait = work.pool_latency = Duration::zero();
    work.latency = from_us(host.launch_latency_us);
    work.gap = work.far_gap =
        from_us(w == 0 ? host.unprofiled_graph_gap_us : host.unprofiled_node_gap_us);
    work.item = 1;
  }
  for (std::uint32_t i = 2; i < step.items.size(); ++i) {
    for (std::uint32_t k = 0; k < step.items[i].work_count; ++k) {
      step.works[step.items[i].first_work + k].item = i;
    }
  }
  losses.add("graph_capture_ends_at_wait", Severity::warning,
             "the step waits for the device before its end; the graph holds what comes before the "
             "wait, these pieces of device work after it stay eager",
             static_cast<std::int64_t>(step.works.size() - captured_work));
}

}  // namespace

std::span<const Named<Mode>> modes() { return mode_table; }
std::span<const Named<GraphScope>> graph_scopes() { return scope_table; }

std::string_view to_string(Mode mode) { return name_of(mode_table, mode); }

Mode parse_mode(std::string_view text) {
  return parse_named(mode_table, text, "command line", "--mode");
}

GraphScope parse_graph_scope(std::string_view text) {
  return parse_named(scope_table, text, "command line", "--graph-scope");
}

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
    case Mode::cuda_graph:
      warn_of_other_work(trace, losses);
      return capture(trace, host, options.graph_scope, step, losses);
  }
}

}  // namespace tandem
