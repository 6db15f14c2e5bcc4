#include "sim/metrics/runtime_metrics.h"

#include <algorithm>
#include <array>
#include <utility>

#include "sim/metrics/intervals.h"

namespace tandem {

namespace {

using M = RuntimeMetrics;
constexpr std::array<RuntimeMetricInfo, 18> runtime_infos{{
    {"runtime_gpu_kernel_share", "ratio", "time with a kernel on the GPU", &M::gpu_kernel_share},
    {"runtime_cpu_kernel_share", "ratio", "the executor computes", &M::cpu_kernel_share},
    {"runtime_dequeue_share", "ratio", "the executor takes a node and launches", &M::dequeue_share},
    {"runtime_copy_share", "ratio", "copies between host and device", &M::copy_share},
    {"runtime_waiting_share", "ratio", "none of these: the tandem waits for the program",
     &M::waiting_share},
    {"runtime_overlap_share", "ratio", "kernels run on GPU and CPU at once", &M::overlap_share},
    {"scheduling_queue_busy_us", "us", "time in which the scheduling queue holds a node",
     &M::queue_busy_us},
    {"scheduling_queue_empty_share", "ratio", "time in which it holds none", &M::queue_empty_share},
    {"scheduling_queue_mean_depth", "nodes", "in the queue, mean over time", &M::queue_mean_depth},
    {"scheduling_queue_max_depth", "nodes", "most nodes in the queue at one time",
     &M::queue_max_depth},
    {"node_enqueue_us", "us", "time of the program to enqueue an operation", &M::enqueue_mean_us},
    {"node_dequeue_us", "us", "time of the executor for a node, CPU kernels excluded",
     &M::dequeue_mean_us},
    {"node_gpu_kernel_us", "us", "duration of a kernel on the GPU", &M::gpu_kernel_mean_us},
    {"node_cpu_kernel_us", "us", "duration of a kernel on the CPU", &M::cpu_kernel_mean_us},
    {"waiting_while_loaded_share", "ratio",
     "waiting and copies, of the time in which the queue holds a node",
     &M::waiting_while_loaded_share},
    {"waiting_while_loaded_no_copies_share", "ratio",
     "waiting, of the time in which the queue holds a node",
     &M::waiting_while_loaded_no_copies_share},
    {"runtime_nodes", "count", "nodes that the executor ran", &M::nodes},
    {"runtime_cpu_kernels", "count", "nodes that computed on the CPU", &M::cpu_kernels},
}};

struct Phases {
  std::vector<Interval> gpu, cpu, dequeue, copy, queued;
};

double sum_us(const std::vector<Interval>& intervals) {
  Duration sum{};
  for (const Interval& i : intervals) sum += i.end - i.begin;
  return to_us(sum);
}

double mean_us(const std::vector<Interval>& intervals) {
  return intervals.empty() ? 0 : sum_us(intervals) / static_cast<double>(intervals.size());
}

/// One past the last item that belongs to the node of item `i`.
std::size_t node_end(const Plan& plan, std::size_t i) {
  std::size_t end = i + 1;
  while (end < plan.items.size() && plan.items[end].executed == plan.items[i].executed) ++end;
  return end;
}

/// From the begin of the node to its end without what its calls waited for.
void add_dequeue(const Plan& plan, const Timeline& t, std::size_t i, std::size_t end,
                 std::vector<Interval>& dequeue) {
  TimePoint begin = t.item_begin[i];
  for (std::size_t k = i; k < end; ++k) {
    if (plan.items[k].wait == WaitFor::nothing) continue;
    dequeue.push_back({begin, t.item_begin[k] + plan.items[k].call});
    begin = t.item_end[k];
  }
  dequeue.push_back({begin, t.item_end[end - 1]});
}

void add_node(const Plan& plan, const Timeline& t, std::size_t i, Phases& phases) {
  const HostItem& item = plan.items[i];
  const TimePoint begin = t.item_begin[i];
  const std::size_t end = node_end(plan, i);
  if (end == i + 1) {  // no calls: it computes itself
    phases.dequeue.push_back({begin, begin + item.submit});
    if (item.call > item.submit) phases.cpu.push_back({begin + item.submit, t.item_end[i]});
  } else {
    add_dequeue(plan, t, i, end, phases.dequeue);
  }
  if (item.after != no_index && t.item_end[item.after] < begin) {
    phases.queued.push_back({t.item_end[item.after], begin});
  }
}

Phases phases_of(const Trace& trace, const Plan& plan, const Timeline& t) {
  Phases phases;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    if (plan.items[i].kind == ItemKind::node) add_node(plan, t, i, phases);
  }
  for (std::size_t w = 0; w < plan.works.size(); ++w) {
    const bool kernel = trace.activities.kind[plan.works[w].source] == ActivityKind::kernel;
    (kernel ? phases.gpu : phases.copy).push_back({t.work_begin[w], t.work_end[w]});
  }
  return phases;
}

Duration length(std::vector<Interval> intervals, TimePoint end) {
  return union_length(intervals, TimePoint{}, end);
}

std::vector<Interval> joined(std::vector<Interval> a, const std::vector<Interval>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Length of the part of `a` in which nothing of `b` runs.
Duration outside(const std::vector<Interval>& a, const std::vector<Interval>& b, TimePoint end) {
  return length(joined(a, b), end) - length(b, end);
}

void add_queue(const Plan& plan, const Timeline& t, RuntimeMetrics& m) {
  double depth_us = 0;
  QueueDepth last{TimePoint{}, 0};
  for (const QueueDepth& point : scheduling_queue(plan, t)) {
    depth_us += static_cast<double>(last.depth) * to_us(point.time - last.time);
    m.queue_max_depth = std::max(m.queue_max_depth, static_cast<double>(point.depth));
    last = point;
  }
  m.queue_mean_depth = depth_us / to_us(t.end - TimePoint{});
}

}  // namespace

std::span<const RuntimeMetricInfo> runtime_metric_infos() { return runtime_infos; }

std::vector<QueueDepth> scheduling_queue(const Plan& plan, const Timeline& t) {
  std::vector<QueueDepth> changes;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const HostItem& item = plan.items[i];
    if (item.kind != ItemKind::node || item.after == no_index) continue;
    if (t.item_begin[i] <= t.item_end[item.after]) continue;
    changes.push_back({t.item_end[item.after], +1});
    changes.push_back({t.item_begin[i], -1});
  }
  return curve_of(std::move(changes));
}

std::optional<RuntimeMetrics> runtime_metrics(const Trace& trace, const Plan& plan,
                                              const Timeline& t) {
  Phases phases = phases_of(trace, plan, t);
  if (phases.dequeue.empty() || t.end <= TimePoint{}) return {};
  const double total = to_us(t.end - TimePoint{});
  const auto share = [&](Duration d) { return to_us(d) / total; };
  RuntimeMetrics m;
  const std::vector<Interval> kernels = joined(phases.gpu, phases.cpu);
  const std::vector<Interval> executed = joined(kernels, phases.dequeue);
  const std::vector<Interval> all = joined(executed, phases.copy);
  m.gpu_kernel_share = share(length(phases.gpu, t.end));
  m.cpu_kernel_share = share(outside(phases.cpu, phases.gpu, t.end));
  m.dequeue_share = share(outside(phases.dequeue, kernels, t.end));
  m.copy_share = share(outside(phases.copy, executed, t.end));
  m.overlap_share =
      share(length(phases.gpu, t.end) + length(phases.cpu, t.end) - length(kernels, t.end));
  m.waiting_share = 1 - share(length(all, t.end));
  const Duration busy = length(phases.queued, t.end);
  m.queue_busy_us = to_us(busy);
  m.queue_empty_share = 1 - share(busy);
  add_queue(plan, t, m);
  std::vector<Interval> enqueues;
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    if (plan.items[i].kind == ItemKind::enqueue) {
      enqueues.push_back({t.item_begin[i], t.item_end[i]});
    }
  }
  m.enqueue_mean_us = mean_us(enqueues);
  m.nodes = static_cast<double>(enqueues.size());
  m.dequeue_mean_us = sum_us(phases.dequeue) / std::max(m.nodes, 1.0);
  m.gpu_kernel_mean_us = mean_us(phases.gpu);
  m.cpu_kernel_mean_us = mean_us(phases.cpu);
  if (busy > Duration::zero()) {
    m.waiting_while_loaded_share = to_us(outside(phases.queued, executed, t.end)) / to_us(busy);
    m.waiting_while_loaded_no_copies_share =
        to_us(outside(phases.queued, all, t.end)) / to_us(busy);
  }
  m.cpu_kernels = static_cast<double>(phases.cpu.size());
  return m;
}

}  // namespace tandem
