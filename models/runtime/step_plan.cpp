#include "models/runtime/step_plan.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "models/runtime/graph_nodes.h"
#include "sim/core/bounds/step_size.h"
#include "sim/core/median.h"

namespace tandem {

namespace {

using Keys = std::vector<std::uint64_t>;

/// What an item does, so that the same item can be found in another step.
Keys keys_of(const Trace& trace, const Plan& plan, const PlanStep& step) {
  Keys keys;
  keys.reserve(step.end_item - step.first_item);
  for (std::uint32_t i = step.first_item; i < step.end_item; ++i) {
    const HostItem& item = plan.items[i];
    const bool node = item.executed != no_index;
    std::uint64_t key = static_cast<std::uint64_t>(item.kind) + std::uint64_t{16} * item.thread;
    key = key * 0x9e3779b97f4a7c15ULL +
          (item.source == no_index ? 0 : trace.calls.name[item.source].value);
    if (node) {
      key = key * 0x9e3779b97f4a7c15ULL + trace.ops.name[trace.nodes.op[item.executed]].value;
    }
    key = key * 0x9e3779b97f4a7c15ULL + item.work_count;
    for (std::uint32_t w = item.first_work; w < item.first_work + item.work_count; ++w) {
      key = key * 0x9e3779b97f4a7c15ULL + trace.activities.name[plan.works[w].source].value;
    }
    keys.push_back(key);
  }
  return keys;
}

/// What tells a whole step from a damaged one.
struct Content {
  std::size_t works = 0;
  std::size_t lost = 0;  // launches without kernel
};

Content content_of(const Trace& trace, const Plan& plan, const PlanStep& step) {
  Content out;
  for (std::uint32_t i = step.first_item; i < step.end_item; ++i) {
    const HostItem& item = plan.items[i];
    out.works += item.work_count;
    out.lost += item.work_count == 0 && item.source != no_index &&
                trace.calls.api[item.source] == ApiKind::launch_kernel;
  }
  return out;
}

/// A step that does less than this of the device work of another one lacks some of it, or is of
/// another kind; what differs less are variants, of which the last has settled most.
constexpr double whole_work = 0.9;

/// Indices of the largest group of steps with equal keys; of equally large ones that whose launches
/// have their kernels, then that which does not lack device work, then the last.
std::vector<std::size_t> largest_group(const std::vector<Keys>& keys,
                                       const std::vector<Content>& contents) {
  const auto less = [](const Keys* a, const Keys* b) { return *a < *b; };
  std::map<const Keys*, std::vector<std::size_t>, decltype(less)> groups(less);
  for (std::size_t i = 0; i < keys.size(); ++i) groups[&keys[i]].push_back(i);
  std::size_t largest = 0;
  for (const auto& group : groups) largest = std::max(largest, group.second.size());
  std::size_t most = 0;
  for (const auto& group : groups) {
    if (group.second.size() == largest) most = std::max(most, contents[group.second.back()].works);
  }
  const auto rank = [&](const auto& group) {
    const std::size_t last = group.second.back();
    const Content& content = contents[last];
    const bool whole = static_cast<double>(content.works) >= whole_work * static_cast<double>(most);
    return std::tuple(group.second.size(), -static_cast<std::int64_t>(content.lost), whole, last);
  };
  return std::max_element(groups.begin(), groups.end(),
                          [&](const auto& a, const auto& b) { return rank(a) < rank(b); })
      ->second;
}

/// Whether any step is of another kind than one of `works`.
bool other_kind(const std::vector<Content>& contents, std::size_t works) {
  return std::any_of(contents.begin(), contents.end(), [&](const Content& c) {
    return of_another_kind(static_cast<double>(works), static_cast<double>(c.works));
  });
}

bool does_anything(const Plan& plan, const PlanStep& step) {
  for (std::uint32_t i = step.first_item; i < step.end_item; ++i) {
    if (plan.items[i].kind == ItemKind::node || plan.items[i].work_count > 0) return true;
  }
  return false;
}

/// Copies the items of a step and renumbers what they refer to; references to the outside are cut.
Plan slice(const Plan& plan, const PlanStep& step) {
  Plan out;
  out.threads = plan.threads;
  for (PlanThread& thread : out.threads) thread.begin = TimePoint{};
  out.streams = plan.streams;
  out.queue_depth = plan.queue_depth;
  std::vector<std::uint32_t> new_work(plan.works.size(), no_index);
  std::uint32_t works = 0;
  for (std::uint32_t i = step.first_item; i < step.end_item; ++i) {
    const HostItem& item = plan.items[i];
    for (std::uint32_t k = 0; k < item.work_count; ++k) new_work[item.first_work + k] = works++;
  }
  out.items.reserve(step.end_item - step.first_item);
  out.works.reserve(works);
  for (std::uint32_t i = step.first_item; i < step.end_item; ++i) {
    HostItem item = plan.items[i];
    const std::uint32_t first = item.first_work;
    item.first_work = static_cast<std::uint32_t>(out.works.size());
    item.after = item.after != no_index && item.after >= step.first_item
                     ? item.after - step.first_item
                     : no_index;
    for (std::uint32_t w = first; w < first + item.work_count; ++w) {
      DeviceWork work = plan.works[w];
      work.item = i - step.first_item;
      work.first_edge = static_cast<std::uint32_t>(out.edges.size());
      for (std::uint32_t e = 0; e < work.edge_count; ++e) {
        WorkEdge edge = plan.edges[plan.works[w].first_edge + e];
        edge.work = new_work[edge.work];
        if (edge.work != no_index) out.edges.push_back(edge);
      }
      work.edge_count = static_cast<std::uint32_t>(out.edges.size()) - work.first_edge;
      out.works.push_back(work);
    }
    if (item.wait == WaitFor::work) {
      item.wait_work = new_work[item.wait_work];
      if (item.wait_work == no_index) item.wait = WaitFor::nothing;
    }
    out.items.push_back(item);
  }
  return out;
}

/// Of an item that may wait for another: in some steps the other was done, in some not.
void average_wait(const Plan& plan, const std::vector<PlanStep>& steps, std::uint32_t i,
                  HostItem& item) {
  Duration wake{};
  std::int64_t waited = 0;
  for (const PlanStep& step : steps) {
    const HostItem& same = plan.items[step.first_item + i];
    if (same.after == no_index || same.after < step.first_item || !same.own_gap) continue;
    item.after = same.after - step.first_item;
    item.own_gap = true;
    wake += same.wake;
    ++waited;
  }
  if (waited > 0) item.wake = wake / waited;
}

/// What host times of several steps become. The median forgets steps in which the host did
/// something else, as the measured iteration time, a median too, does.
enum class Over : std::uint8_t { minimum, mean, median };

/// Gaps and calls of item `i` of each step.
void take_medians(const Plan& plan, const std::vector<PlanStep>& steps, std::uint32_t i,
                  HostItem& item) {
  std::vector<Duration> gaps;
  std::vector<Duration> inputs;
  std::vector<Duration> calls;
  for (const PlanStep& step : steps) {
    gaps.push_back(plan.items[step.first_item + i].gap);
    inputs.push_back(plan.items[step.first_item + i].input);
    calls.push_back(plan.items[step.first_item + i].call);
  }
  item.gap = median(std::move(gaps));
  item.input = median(std::move(inputs));
  item.call = median(std::move(calls));
  item.submit = std::min(item.submit, item.call);
}

/// Replaces host times, and work durations by their mean, over the steps.
void average(const Plan& plan, const std::vector<PlanStep>& steps, Over over, Plan& out) {
  const auto n = static_cast<std::int64_t>(steps.size());
  std::size_t next_work = 0;
  for (std::uint32_t i = 0; i < out.items.size(); ++i) {
    HostItem& item = out.items[i];
    Duration gap_sum{};
    Duration call_sum{};
    Duration gap_min = Duration::max();
    Duration input_sum{};
    Duration bare_sum{};
    for (const PlanStep& step : steps) {
      const HostItem& same = plan.items[step.first_item + i];
      gap_sum += same.gap;
      call_sum += same.call;
      gap_min = std::min(gap_min, same.gap - same.input);
      input_sum += same.input;
      bare_sum += same.bare;
    }
    // The shortest wait for input is that of a step whose input was ready by chance.
    item.input = input_sum / n;
    item.gap = over == Over::minimum ? gap_min + item.input : gap_sum / n;
    item.call = call_sum / n;
    item.submit = std::min(item.submit, item.call);
    if (over == Over::median) take_medians(plan, steps, i, item);
    item.bare = std::min(bare_sum / n, item.gap - item.input);
    average_wait(plan, steps, i, item);
    for (std::uint32_t k = 0; k < item.work_count; ++k) {
      Duration duration{};
      Duration gap{};
      Duration far_gap{};
      Duration latency{};
      Duration pool_wait{};
      Duration pool_latency{};
      for (const PlanStep& step : steps) {
        const DeviceWork& same = plan.works[plan.items[step.first_item + i].first_work + k];
        duration += same.duration;
        gap += same.gap;
        far_gap += same.far_gap;
        latency += same.latency;
        pool_wait += same.pool_wait;
        pool_latency += same.pool_latency;
      }
      out.works[next_work].duration = duration / n;
      out.works[next_work].gap = gap / n;
      out.works[next_work].far_gap = far_gap / n;
      out.works[next_work].latency = latency / n;
      out.works[next_work].pool_wait = pool_wait / n;
      out.works[next_work].pool_latency = pool_latency / n;
      ++next_work;
    }
  }
}

/// The nodes of graphs without what the profiler adds to them, and without what their gaps hold of
/// waiting for other streams, which the simulation has of its own.
void remove_from_graphs(const Trace& trace, const HostModel& host, Plan& plan) {
  for (DeviceWork& work : plan.works) {
    if (!work.graph_node) continue;
    work.gap -= work.pool_wait;
    work.far_gap = work.gap;
    work.pool_wait = Duration::zero();
  }
  for (const HostItem& item : plan.items) {
    if (item.kind == ItemKind::graph_launch) {
      remove_profiler_from_nodes(trace, host, item, plan.works);
    }
  }
}

/// The host without the profiler: what the HostModel says of gaps, launches and waits.
void remove_profiler(const Trace& trace, const HostModel& host, bool aligned, Plan& plan) {
  const double factor = aligned ? host.gap_scale_aligned : host.gap_scale_single;
  for (HostItem& item : plan.items) {
    if (item.kind == ItemKind::step_begin) {
      item.gap = item.input;  // without what the profiler does between steps
      continue;
    }
    // Waking another thread costs the same without the profiler. So does waiting for input, which
    // other processes prepare, and Python in which no operation is recorded.
    const Duration kept = item.input + item.bare;
    if (item.after == no_index) item.gap = kept + scale(item.gap - kept, factor);
    switch (item.kind) {
      case ItemKind::launch: item.call = from_us(host.launch_call_us); break;
      case ItemKind::graph_launch:
        item.call =
            from_us(host.graph_launch_call_us + host.graph_launch_node_us * item.work_count);
        break;
      case ItemKind::sync: item.call = from_us(host.sync_call_us); break;
      default: item.call = scale(item.call, factor); break;
    }
    item.submit = item.kind == ItemKind::sync ? Duration::zero() : item.call;
  }
  remove_from_graphs(trace, host, plan);
}

/// XProf costs the program, which it writes most of its events for, and the executor little.
void remove_profiler(const ExecutorModel& executor, Plan& plan) {
  for (HostItem& item : plan.items) {
    if (item.kind == ItemKind::step_begin) item.gap = item.input;
    if (item.kind != ItemKind::enqueue && item.kind != ItemKind::value_wait) continue;
    item.gap = scale(item.gap, 1 / executor.profiled_gap);
    if (item.kind == ItemKind::enqueue) item.call = scale(item.call, 1 / executor.profiled_gap);
  }
}

}  // namespace

StepPlan step_plan(const Trace& trace, const MeasuredPlan& measured, const HostModel& host,
                   Profiler profiler) {
  std::vector<std::size_t> whole;  // of the measured steps
  for (std::size_t s = 0; s < measured.steps.size(); ++s) {
    const PlanStep& step = measured.steps[s];
    if (step.end_item != no_index && does_anything(measured.plan, step)) whole.push_back(s);
  }
  if (whole.empty()) {
    throw InputError(trace.path, "", "no step that launches device work",
                     "at least one step whose launches and kernels are both in the trace");
  }
  std::vector<Keys> keys;
  keys.reserve(whole.size());
  std::vector<Content> contents;
  for (const std::size_t s : whole) {
    keys.push_back(keys_of(trace, measured.plan, measured.steps[s]));
    contents.push_back(content_of(trace, measured.plan, measured.steps[s]));
  }
  StepPlan out;
  std::vector<PlanStep> same;
  const std::vector<std::size_t> group = largest_group(keys, contents);
  for (const std::size_t i : group) {
    out.followed.push_back(whole[i]);
    same.push_back(measured.steps[whole[i]]);
  }
  out.name = same.back().name;
  out.steps_used = same.size();
  out.plan = slice(measured.plan, same.back());
  if (out.plan.works.size() > limits::step_works) {
    throw InputError(trace.path, out.name,
                     std::to_string(out.plan.works.size()) + " kernels and copies in one step",
                     "at most " + std::to_string(limits::step_works) +
                         ": a trace that marks its steps, or --steps N");
  }
  const Over over = profiler == Profiler::keep ? Over::mean
                    : measured.executor        ? Over::median
                                               : Over::minimum;
  average(measured.plan, same, over, out.plan);
  const std::size_t left_out = whole.size() - same.size();
  const bool unlike = left_out >= same.size() || other_kind(contents, contents[group.back()].works);
  out.losses.add("steps_not_aligned", unlike ? Severity::warning : Severity::info,
                 "steps whose calls and kernels differ from those of the step that the prediction "
                 "follows; they were left out of it",
                 static_cast<std::int64_t>(left_out));
  if (profiler == Profiler::remove && measured.executor) {
    remove_profiler(host.executor, out.plan);
  } else if (profiler == Profiler::remove) {
    remove_profiler(trace, host, same.size() > 1, out.plan);
  }
  return out;
}

namespace {

/// The last work of each stream that a graph launch of `plan` enqueues.
std::vector<std::uint32_t> ends_of(const Plan& plan, const HostItem& launch) {
  std::vector<std::uint32_t> last(plan.streams.size(), no_index);
  for (std::uint32_t k = 0; k < launch.work_count; ++k) {
    last[plan.works[launch.first_work + k].stream] = launch.first_work + k;
  }
  std::erase(last, no_index);
  return last;
}

/// A graph begins when the one launched before it is complete, on whatever streams its nodes run.
void order_graphs(Plan& plan) {
  std::vector<std::uint32_t> before;
  for (const HostItem& item : plan.items) {
    if (item.kind != ItemKind::graph_launch) continue;
    std::vector<bool> begun(plan.streams.size(), false);
    for (std::uint32_t k = 0; k < item.work_count && !before.empty(); ++k) {
      DeviceWork& work = plan.works[item.first_work + k];
      if (begun[work.stream]) continue;
      begun[work.stream] = true;
      const auto first = static_cast<std::uint32_t>(plan.edges.size());
      for (std::uint32_t e = 0; e < work.edge_count; ++e) {
        plan.edges.push_back(plan.edges[work.first_edge + e]);
      }
      for (const std::uint32_t end : before) {
        if (plan.works[end].stream != work.stream) plan.edges.push_back({end, Duration::zero()});
      }
      work.first_edge = first;
      work.edge_count = static_cast<std::uint32_t>(plan.edges.size()) - first;
    }
    before = ends_of(plan, item);
  }
}

}  // namespace

Plan repeat(const Plan& step, std::size_t count, const HostModel& host) {
  Plan out;
  out.threads = step.threads;
  out.streams = step.streams;
  out.queue_depth = step.queue_depth;
  out.items.reserve(step.items.size() * count + 1);
  out.works.reserve(step.works.size() * count);
  for (std::size_t k = 0; k < count; ++k) {
    const auto items = static_cast<std::uint32_t>(out.items.size());
    const auto works = static_cast<std::uint32_t>(out.works.size());
    for (HostItem item : step.items) {
      item.first_work += works;
      if (item.after != no_index) item.after += items;
      if (item.wait_work != no_index) item.wait_work += works;
      out.items.push_back(item);
    }
    const auto step_works = static_cast<std::uint32_t>(step.works.size());
    for (DeviceWork work : step.works) {
      work.item += items;
      const auto first = static_cast<std::uint32_t>(out.edges.size());
      for (std::uint32_t e = 0; e < work.edge_count; ++e) {
        WorkEdge edge = step.edges[work.first_edge + e];
        if (edge.previous_step && k == 0) continue;
        edge.work += edge.previous_step ? works - step_works : works;
        edge.previous_step = false;
        out.edges.push_back(edge);
      }
      work.first_edge = first;
      work.edge_count = static_cast<std::uint32_t>(out.edges.size()) - first;
      out.works.push_back(work);
    }
  }
  HostItem sync;
  sync.kind = ItemKind::sync;
  sync.wait = WaitFor::all_work;
  sync.call = from_us(host.sync_call_us);
  sync.return_delay = from_us(host.sync_return_us);
  sync.thread = step.items.front().thread;
  out.items.push_back(sync);
  order_graphs(out);
  return out;
}

Duration steady_period(const Plan& step, const Timeline& repeated, std::size_t count) {
  const auto complete = [&](std::size_t k) {
    TimePoint end = TimePoint::min();
    for (std::size_t i = k * step.items.size(); i < (k + 1) * step.items.size(); ++i) {
      end = std::max(end, repeated.item_end[i]);
    }
    for (std::size_t w = k * step.works.size(); w < (k + 1) * step.works.size(); ++w) {
      end = std::max(end, repeated.work_end[w]);
    }
    return end;
  };
  const std::size_t from = count / 2 - 1;
  const auto periods = static_cast<std::int64_t>(count - 1 - from);
  return (complete(count - 1) - complete(from)) / periods;
}

}  // namespace tandem
