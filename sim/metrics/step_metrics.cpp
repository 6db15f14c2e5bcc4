#include "sim/metrics/step_metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "sim/core/bounds/step_size.h"
#include "sim/metrics/intervals.h"

namespace tandem {

namespace {

bool is_launch(const HostItem& item) {
  return item.kind == ItemKind::launch || item.kind == ItemKind::graph_launch;
}

bool is_kernel(const Trace& trace, const DeviceWork& work) {
  return trace.activities.kind[work.source] == ActivityKind::kernel;
}

/// Phases of an isolated step by priority: GPU kernel > dequeue > copy > wait (thesis section 3.3).
void add_phases(const Trace& trace, const Plan& plan, const Timeline& t, StepMetrics& m) {
  const TimePoint begin{};
  std::vector<Interval> kernels;
  std::vector<Interval> copies;
  std::vector<Interval> launches;
  for (std::size_t w = 0; w < plan.works.size(); ++w) {
    (is_kernel(trace, plan.works[w]) ? kernels : copies)
        .push_back({t.work_begin[w], t.work_end[w]});
  }
  Duration in_calls{};
  Duration waits{};
  for (std::size_t i = 0; i < plan.items.size(); ++i) {
    const HostItem& item = plan.items[i];
    if (is_launch(item)) {
      launches.push_back({t.item_begin[i], t.item_begin[i] + item.call});
      in_calls += item.call;
    }
    waits += std::max(Duration::zero(), t.item_end[i] - t.item_begin[i] - item.call);
  }
  const TimePoint end = t.end;
  std::vector<Interval> all = kernels;
  const Duration kernel = union_length(kernels, begin, end);
  all.insert(all.end(), launches.begin(), launches.end());
  const Duration with_launches = union_length(all, begin, end);
  all.insert(all.end(), copies.begin(), copies.end());
  const Duration with_copies = union_length(all, begin, end);
  m.isolated_time_us = to_us(end - begin);
  m.phase_gpu_kernel_us = to_us(kernel);
  m.phase_dequeue_us = to_us(with_launches - kernel);
  m.phase_copy_us = to_us(with_copies - with_launches);
  m.wait_us = to_us(end - begin - with_copies);
  m.dequeue_us = to_us(in_calls);
  m.host_wait_us = to_us(waits);
  Duration gaps{};
  for (const HostItem& item : plan.items) gaps += item.gap;
  m.enqueue_us = to_us(gaps);
}

void add_queue(const Plan& plan, const Timeline& t, StepMetrics& m) {
  double depth_ps = 0;
  Duration busy{};
  std::int64_t deepest = 0;
  QueueDepth last{TimePoint{}, 0};
  for (const QueueDepth& point : queue_depth(plan, t)) {
    const Duration span = point.time - last.time;
    depth_ps += static_cast<double>(last.depth) * static_cast<double>(span.count());
    if (last.depth > 0) busy += span;
    deepest = std::max(deepest, point.depth);
    last = point;
  }
  const auto total = static_cast<double>((t.end - TimePoint{}).count());
  m.queue_mean_depth = total > 0 ? depth_ps / total : 0;
  m.queue_max_depth = static_cast<double>(deepest);
  m.queue_empty_share = total > 0 ? 1.0 - static_cast<double>(busy.count()) / total : 1;
}

}  // namespace

std::vector<QueueDepth> curve_of(std::vector<QueueDepth> changes) {
  std::sort(changes.begin(), changes.end(), [](const QueueDepth& a, const QueueDepth& b) {
    return a.time != b.time ? a.time < b.time : a.depth < b.depth;
  });
  std::int64_t depth = 0;
  for (QueueDepth& change : changes) {
    depth += change.depth;
    change.depth = depth;
  }
  return changes;
}

std::vector<QueueDepth> queue_depth(const Plan& plan, const Timeline& t) {
  std::vector<QueueDepth> changes;
  for (std::size_t w = 0; w < plan.works.size(); ++w) {
    const DeviceWork& work = plan.works[w];
    if (work.item == no_index || work.graph_node) continue;  // a graph is one launch, not a queue
    const TimePoint ready = t.item_submit[work.item] + work.latency;
    if (t.work_begin[w] <= ready) continue;
    changes.push_back({ready, +1});
    changes.push_back({t.work_begin[w], -1});
  }
  return curve_of(std::move(changes));
}

StepMetrics step_metrics(const Trace& trace, const Plan& step, const Timeline& steady,
                         std::size_t count, Duration period, const Plan& isolated_plan,
                         const Timeline& isolated) {
  StepMetrics m;
  m.time_us = to_us(period);
  // The copies whose periods `period` is the mean of: kernels that share the SMs last longer than
  // alone, and not equally long in each.
  const auto periods = static_cast<std::int64_t>(count - count / 2);
  Duration kernel{};
  for (std::size_t w = count / 2 * step.works.size(); w < count * step.works.size(); ++w) {
    kernel += steady.work_end[w] - steady.work_begin[w];
  }
  for (const HostItem& item : step.items) m.launches += is_launch(item);
  m.kernels = static_cast<std::int64_t>(step.works.size());
  m.gpu_kernel_us = to_us(kernel / periods);
  // Those periods end when the last copy is complete.
  const std::size_t works = count * step.works.size();
  TimePoint end = TimePoint::min();
  std::vector<Interval> busy;
  for (std::size_t w = 0; w < works; ++w) {
    busy.push_back({steady.work_begin[w], steady.work_end[w]});
    end = std::max(end, steady.work_end[w]);
  }
  for (std::size_t i = 0; i < count * step.items.size(); ++i) {
    end = std::max(end, steady.item_end[i]);
  }
  // Where no two periods are alike, kernels of an earlier copy reach into the first of these.
  const Duration busy_step =
      std::min(union_length(busy, end - periods * period, end), kernel) / periods;
  m.gpu_busy_us = to_us(busy_step);
  if (m.time_us > 0) m.gpu_utilization = std::min(1.0, m.gpu_busy_us / m.time_us);
  m.gract = m.gpu_utilization;
  add_phases(trace, isolated_plan, isolated, m);
  add_queue(isolated_plan, isolated, m);
  return m;
}

namespace {

/// Device time of one name, in less memory than a TimeShare.
struct NameSum {
  std::string_view name;
  std::int64_t count = 0;
  Duration time{};
  double energy_j = 0;
};

std::vector<NameSum> sums_of_names(const Plan& step, std::span<const std::string_view> names,
                                   std::span<const double> energy_j) {
  std::unordered_map<std::string_view, std::size_t> index;
  std::vector<NameSum> sums;
  for (std::size_t w = 0; w < step.works.size(); ++w) {
    const DeviceWork& work = step.works[w];
    const std::string_view name = names[work.source];
    const auto [it, added] = index.try_emplace(name, sums.size());
    if (added) sums.push_back({name});
    NameSum& sum = sums[it->second];
    ++sum.count;
    if (!energy_j.empty()) sum.energy_j += energy_j[w];
    sum.time += work.duration;
  }
  return sums;
}

}  // namespace

std::vector<TimeShare> time_shares(const Plan& step, std::span<const std::string_view> names,
                                   std::span<const double> energy_j) {
  std::vector<NameSum> sums = sums_of_names(step, names, energy_j);
  std::stable_sort(sums.begin(), sums.end(), [](const NameSum& a, const NameSum& b) {
    return a.time != b.time ? a.time > b.time : a.name < b.name;
  });
  Duration total{};
  for (const NameSum& sum : sums) total += sum.time;
  // The least of very many become one.
  std::string others;
  if (sums.size() > limits::listed_names) {
    others = fmt::format("({} others)", sums.size() - limits::listed_names + 1);
    NameSum& rest = sums[limits::listed_names - 1];
    rest.name = others;
    for (std::size_t i = limits::listed_names; i < sums.size(); ++i) {
      rest.count += sums[i].count;
      rest.time += sums[i].time;
      rest.energy_j += sums[i].energy_j;
    }
    sums.resize(limits::listed_names);
  }
  std::vector<TimeShare> shares;
  shares.reserve(sums.size());
  for (const NameSum& sum : sums) {
    TimeShare& share = shares.emplace_back();
    share.name = sum.name;
    share.count = sum.count;
    share.time_us = to_us(sum.time);
    share.share = total > Duration::zero() ? to_us(sum.time) / to_us(total) : 0;
    share.energy_j = sum.energy_j;
  }
  return shares;
}

std::vector<StepFidelity> fidelity(const Trace& trace, const Links& links, const Plan& plan,
                                   const std::vector<MeasuredSpan>& steps,
                                   const Timeline& timeline) {
  std::vector<StepFidelity> out;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (steps[s].end_item == no_index) continue;
    const StepWindow& window = links.steps[s];
    TimePoint traced_end = window.end;
    TimePoint simulated_end = timeline.item_end[steps[s].end_item - 1];
    for (std::uint32_t i = steps[s].first_item; i < steps[s].end_item; ++i) {
      const HostItem& item = plan.items[i];
      for (std::uint32_t w = item.first_work; w < item.first_work + item.work_count; ++w) {
        const std::uint32_t act = plan.works[w].source;
        traced_end =
            std::max(traced_end, trace.activities.begin[act] + trace.activities.duration[act]);
        simulated_end = std::max(simulated_end, timeline.work_end[w]);
      }
    }
    out.push_back({steps[s].name, to_us(traced_end - window.begin),
                   to_us(simulated_end - timeline.item_end[steps[s].first_item])});
  }
  return out;
}

}  // namespace tandem
