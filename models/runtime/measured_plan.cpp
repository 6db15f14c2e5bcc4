#include "models/runtime/measured_plan.h"

#include <fmt/format.h>

#include <algorithm>

#include "models/runtime/host_entries.h"
#include "models/runtime/host_work.h"
#include "models/runtime/inference.h"
#include "sim/core/copy_direction.h"

namespace tandem {

namespace {

/// By how much a return from a kernel may come later than it was traced.
constexpr Duration usual_spread = microseconds(4);

DeviceEngine engine_of(const Trace& trace, std::uint32_t act) {
  if (trace.activities.collective[act].valid()) return DeviceEngine::collective;
  if (trace.activities.kind[act] != ActivityKind::memcpy) return DeviceEngine::compute;
  switch (copy_direction(trace.strings.get(trace.activities.name[act]))) {
    case CopyDirection::to_device: return DeviceEngine::copy_to_device;
    case CopyDirection::to_host: return DeviceEngine::copy_to_host;
    default: return DeviceEngine::compute;
  }
}

/// True if most launches return after their kernel (CUDA_LAUNCH_BLOCKING=1).
bool launches_block(const Trace& trace, const Links& links) {
  const Activities& acts = trace.activities;
  std::int64_t balance = 0;
  for (std::uint32_t act = 0; act < acts.size(); ++act) {
    const std::uint32_t call = links.call_of_activity[act];
    if (call == no_row || trace.calls.api[call] != ApiKind::launch_kernel) continue;
    if (acts.begin[act] < trace.calls.begin[call]) continue;  // no time that can be
    const TimePoint returned = end_of(trace.calls, call);
    balance += end_of(acts, act) < returned ? 1 : -1;
  }
  return balance > 0;
}

class Builder {
 public:
  Builder(const Trace& trace, const Links& links, const HostModel& host, const DeviceTiming& timing,
          const TracedPool& pool)
      : trace_(trace),
        links_(links),
        host_(host),
        timing_(timing),
        pool_(pool),
        cover_(trace),
        input_(OpCover::of_input(trace)),
        waits_(trace, links, timing) {
    out_.plan.queue_depth = static_cast<std::uint32_t>(host.queue_depth);
    out_.blocking_launches = launches_block(trace, links);
  }
  MeasuredPlan build();

 private:
  void add_threads_and_streams();
  void preload();
  void add_device_only();
  void add_device_works(const StepWindow& step, std::size_t stream, std::size_t& next,
                        TimePoint& free);
  void take_gaps_of_next_step();
  void add_item(const HostEntry& entry);
  void add_work(const HostEntry& entry, HostItem& item);
  void append_work(std::uint32_t act, std::uint32_t item);
  void set_call_time(const HostEntry& entry, HostItem& item);
  void set_launch_wait(const HostEntry& entry, HostItem& item);
  void set_wait(const HostEntry& entry, HostItem& item);
  Duration bare_time(const HostEntry& entry, TimePoint begin) const;
  void set_gap(const HostEntry& entry, HostItem& item);
  void mark_step(const HostEntry& entry, std::uint32_t item);
  void add_edges();

  const Trace& trace_;
  const Links& links_;
  const HostModel& host_;
  const DeviceTiming& timing_;
  const TracedPool& pool_;
  OpCover cover_;
  OpCover input_;
  WaitInference waits_;
  MeasuredPlan out_;
  std::size_t ended_steps_ = 0;
  std::vector<TimePoint> previous_end_;       // per thread, traced
  std::vector<TimePoint> item_traced_begin_;  // per item
  std::vector<TimePoint> item_traced_end_;    // per item
  std::vector<std::uint32_t> last_item_;      // per thread
  std::vector<std::uint32_t> work_of_activity_;
};

void Builder::add_threads_and_streams() {
  const TimePoint begin = links_.steps.front().begin;
  for (const Thread& thread : trace_.threads) {
    out_.plan.threads.push_back(
        {thread.name.empty() ? fmt::format("thread {}", thread.tid) : thread.name, begin});
  }
  for (const Stream& stream : trace_.streams) {
    out_.plan.streams.push_back(fmt::format("GPU {} stream {}", stream.device, stream.stream));
  }
  previous_end_.assign(trace_.threads.size(), TimePoint::min());
  last_item_.assign(trace_.threads.size(), no_index);
  work_of_activity_.assign(trace_.activities.size(), no_index);
}

/// A trace without any launch (XProf device tracks, XLA executables, CUPTI alone): the work of each
/// step stands behind one made-up launch, with the gaps that were measured.
void Builder::add_device_only() {
  std::size_t thread = links_.steps.front().thread.index();
  if (thread >= out_.plan.threads.size()) {
    thread = out_.plan.threads.size();
    out_.plan.threads.push_back({"(no host thread)", links_.steps.front().begin});
  }
  std::vector<TimePoint> free(trace_.streams.size(), TimePoint::min());  // per stream
  std::vector<std::size_t> next(trace_.streams.size(), 0);
  TimePoint before = links_.steps.front().begin;
  for (const StepWindow& step : links_.steps) {
    const auto first = static_cast<std::uint32_t>(out_.plan.items.size());
    HostItem item;
    item.thread = static_cast<std::uint16_t>(thread);
    item.kind = ItemKind::step_begin;
    item.gap = step.begin - before;
    before = step.end;
    out_.plan.items.push_back(item);
    item.gap = Duration::zero();
    item.kind = ItemKind::graph_launch;
    item.first_work = static_cast<std::uint32_t>(out_.plan.works.size());
    for (std::size_t s = 0; s < trace_.streams.size(); ++s) {
      add_device_works(step, s, next[s], free[s]);
    }
    item.work_count = static_cast<std::uint32_t>(out_.plan.works.size()) - item.first_work;
    if (item.work_count == 0) item.kind = ItemKind::call;
    out_.plan.items.push_back(item);
    item = {};
    item.thread = static_cast<std::uint16_t>(thread);
    item.kind = ItemKind::step_end;
    item.gap = step.end - step.begin;
    out_.plan.items.push_back(item);
    out_.steps.push_back({step.name, first, first + 3});
  }
  take_gaps_of_next_step();
  out_.device_only = true;
  out_.losses.add("device_only_trace", Severity::warning,
                  "no launch in the trace belongs to any of its device work: the gaps between "
                  "kernels are kept as measured and nothing is known of the host",
                  static_cast<std::int64_t>(out_.plan.works.size()));
}

/// The works of stream `s` in a step; `next` and `free`: its next work, and when it fell idle.
void Builder::add_device_works(const StepWindow& step, std::size_t s, std::size_t& next,
                               TimePoint& free) {
  const auto rows = links_.activities_of_stream.of(s);
  const auto item = static_cast<std::uint32_t>(out_.plan.items.size());
  while (next < rows.size() && trace_.activities.begin[rows[next]] < step.begin) ++next;
  bool first = true;
  for (; next < rows.size() && trace_.activities.begin[rows[next]] < step.end; ++next) {
    const std::uint32_t act = rows[next];
    append_work(act, item);
    DeviceWork& work = out_.plan.works.back();
    const TimePoint begin = trace_.activities.begin[act];
    const bool begun = free != TimePoint::min();
    work.takes_slot = false;
    work.latency = first ? begin - step.begin : Duration::zero();
    work.gap = work.far_gap = begun ? begin - free : work.latency;
    first = false;
    free = begin + work.duration;
  }
}

/// Nothing is known of the gap before the first work of a trace; a step like it follows.
void Builder::take_gaps_of_next_step() {
  if (out_.steps.size() < 2) return;
  std::vector<Duration> gap(trace_.streams.size(), Duration::min());
  const HostItem& second = out_.plan.items[out_.steps[1].first_item + 1];
  for (std::uint32_t w = second.first_work + second.work_count; w-- > second.first_work;) {
    gap[out_.plan.works[w].stream] = out_.plan.works[w].gap;
  }
  const HostItem& first = out_.plan.items[out_.steps[0].first_item + 1];
  std::vector<bool> seen(trace_.streams.size(), false);
  for (std::uint32_t w = first.first_work; w < first.first_work + first.work_count; ++w) {
    DeviceWork& work = out_.plan.works[w];
    if (!seen[work.stream] && gap[work.stream] >= Duration::zero()) {
      work.gap = work.far_gap = gap[work.stream];
    }
    seen[work.stream] = true;
  }
}

/// Work that was launched before the trace opened: it holds its stream until it is done.
void Builder::preload() {
  for (std::size_t s = 0; s < trace_.streams.size(); ++s) {
    for (const std::uint32_t act : links_.activities_of_stream.of(s)) {
      if (links_.call_of_activity[act] != no_row) break;
      append_work(act, no_index);
      // Nothing is known of its launch: it starts when it did, or right after its predecessor.
      DeviceWork& work = out_.plan.works.back();
      const std::uint32_t previous = links_.stream_predecessor[act];
      const TimePoint begin = trace_.activities.begin[act];
      if (previous != no_row) {
        work.gap = std::min(work.gap, begin - trace_.activities.begin[previous] -
                                          trace_.activities.duration[previous]);
        work.far_gap = std::min(work.far_gap, work.gap);
      }
      out_.plan.preloaded_start.push_back(begin);
    }
  }
}

void Builder::append_work(std::uint32_t act, std::uint32_t item) {
  DeviceWork work;
  const std::uint32_t previous = links_.stream_predecessor[act];
  work.duration = trace_.activities.duration[act];
  work.latency = timing_.latency(trace_.activities.kind[act]);
  if (previous != no_row) {
    const GapClass c = timing_.classify(previous, act);
    const DeviceTiming::Gap gap = timing_.gap(previous, act);
    work.gap = gap.near;
    work.far_gap = gap.far;
    if (c.same_graph && !out_.plan.works.empty()) {
      out_.plan.works[work_of_activity_[previous]].takes_slot = false;  // the last node holds it
    }
  }
  work.source = act;
  work.item = item;
  work.stream = static_cast<std::uint16_t>(trace_.activities.stream[act].value);
  work.engine = engine_of(trace_, act);
  work.graph_node = is_graph_node(trace_, links_, act);
  work_of_activity_[act] = static_cast<std::uint32_t>(out_.plan.works.size());
  out_.plan.works.push_back(work);
}

/// The activities of the call and, behind each, those of its stream that have no call of their own.
void Builder::add_work(const HostEntry& entry, HostItem& item) {
  const auto index = static_cast<std::uint32_t>(out_.plan.items.size());
  item.first_work = static_cast<std::uint32_t>(out_.plan.works.size());
  for (const std::uint32_t act : links_.activities_of_call.of(entry.call)) append_work(act, index);
  for (const std::uint32_t act : links_.activities_of_call.of(entry.call)) {
    const auto stream = links_.activities_of_stream.of(trace_.activities.stream[act].index());
    auto it =
        std::lower_bound(stream.begin(), stream.end(), act, [&](std::uint32_t a, std::uint32_t b) {
          return trace_.activities.begin[a] < trace_.activities.begin[b];
        });
    while (it != stream.end() && *it != act) ++it;
    for (++it; it < stream.end() && links_.call_of_activity[*it] == no_row; ++it) {
      append_work(*it, index);
    }
  }
  item.work_count = static_cast<std::uint32_t>(out_.plan.works.size()) - item.first_work;
}

/// The call's own time: what is left without waiting for a full queue.
void Builder::set_call_time(const HostEntry& entry, HostItem& item) {
  if (entry.call == no_row) {
    item.call = entry.end - entry.begin;
    if (item.kind == ItemKind::node) {
      item.submit = std::min(item.call, from_us(host_.executor.dequeue_us));
    }
    return;
  }
  item.call = std::max(Duration::zero(),
                       entry.end - entry.begin - waits_.queue_full(entry.begin, entry.end));
  item.submit = item.call;
}

/// A launch or copy that returns after its own work, or whose work starts before it returns.
void Builder::set_launch_wait(const HostEntry& entry, HostItem& item) {
  if (item.work_count == 0) return;
  const std::uint32_t act = out_.plan.works[item.first_work].source;
  const TimePoint start = trace_.activities.begin[act];
  if (start < entry.begin) return;  // a time that cannot be says nothing of waiting
  const Duration latency = out_.plan.works[item.first_work].latency;
  if (start - latency < entry.end) {
    item.submit = std::clamp(start - latency - entry.begin, Duration::zero(), item.call);
  }
  if (item.kind == ItemKind::graph_launch) return;
  const TimePoint work_end = start + trace_.activities.duration[act];
  if (work_end >= entry.end) return;
  // Where launches do not block, a slow call outlives a short kernel by chance: it waited for
  // nothing. Copies from and to the host may block in any run.
  const DeviceEngine engine = out_.plan.works[item.first_work].engine;
  const bool kernel = engine == DeviceEngine::compute || engine == DeviceEngine::collective;
  if (!out_.blocking_launches && kernel) return;
  item.wait = WaitFor::own_work;
  item.call = item.submit;
  const Duration returned = entry.end - work_end;
  item.return_delay = trace_.activities.kind[act] == ActivityKind::kernel
                          ? std::min(timing_.blocking_return(), returned + usual_spread)
                          : returned;
}

void Builder::set_wait(const HostEntry& entry, HostItem& item) {
  if (item.kind != ItemKind::sync) return;
  const WaitInference::Target target = waits_.target(entry.call);
  item.submit = Duration::zero();
  if (target.all) {
    item.wait = WaitFor::all_work;
  } else if (target.activity != no_row && work_of_activity_[target.activity] != no_index) {
    item.wait = WaitFor::work;
    item.wait_work = work_of_activity_[target.activity];
  }
  item.return_delay = timing_.sync_return();
  if (target.waited) item.call = std::min(item.call, from_us(host_.sync_call_us));
}

/// Between `begin` and the entry, of its thread; none where the profiler recorded every call of a
/// Python function, which slows all of it.
Duration Builder::bare_time(const HostEntry& entry, TimePoint begin) const {
  if (trace_.modules.size() > 0) return Duration::zero();
  return cover_.bare(entry.thread, begin, entry.begin, from_us(host_.bare_stretch_us));
}

void Builder::set_gap(const HostEntry& entry, HostItem& item) {
  const std::size_t t = entry.thread.index();
  if (entry.timed) {
    item.gap = entry.gap;
    item.wake = entry.wake;
    item.after = entry.after;
    item.own_gap = entry.after != no_index;
    return;
  }
  const TimePoint own = previous_end_[t];
  const std::uint32_t other = find_hand_off(entry.thread, own, entry.begin, cover_, out_.plan.items,
                                            item_traced_begin_, item_traced_end_);
  if (other != no_index) {
    item.after = other;
    item.gap = entry.begin - item_traced_end_[other];
  } else if (own != TimePoint::min()) {
    item.gap = std::max(Duration::zero(), entry.begin - own);
    item.input = std::min(item.gap, input_.covered(entry.thread, own, entry.begin));
    item.bare =
        std::clamp(bare_time(entry, own) - item.input, Duration::zero(), item.gap - item.input);
  } else {
    out_.plan.threads[t].begin = entry.begin;
  }
}

void Builder::mark_step(const HostEntry& entry, std::uint32_t item) {
  if (entry.kind == ItemKind::step_begin) {
    out_.steps.push_back({links_.steps[out_.steps.size()].name, item, no_index});
  } else if (entry.kind == ItemKind::step_end && ended_steps_ < out_.steps.size()) {
    out_.steps[ended_steps_++].end_item = item + 1;  // the first that has no end yet
  }
}

void Builder::add_item(const HostEntry& entry) {
  HostItem item;
  item.kind = entry.kind;
  item.thread = static_cast<std::uint16_t>(entry.thread.value);
  item.source = entry.call;
  item.executed = entry.node;
  set_call_time(entry, item);
  if (entry.call != no_row) add_work(entry, item);
  set_launch_wait(entry, item);
  set_wait(entry, item);
  set_gap(entry, item);
  const auto index = static_cast<std::uint32_t>(out_.plan.items.size());
  out_.plan.items.push_back(item);
  item_traced_begin_.push_back(entry.begin);
  item_traced_end_.push_back(entry.end);
  previous_end_[entry.thread.index()] = std::max(previous_end_[entry.thread.index()], entry.end);
  last_item_[entry.thread.index()] = index;
  mark_step(entry, index);
}

MeasuredPlan Builder::build() {
  add_threads_and_streams();
  const auto launched = [&](std::uint32_t call) { return call != no_row; };
  const bool queues = nodes_launch(trace_, links_);
  if (queues ||
      std::any_of(links_.call_of_activity.begin(), links_.call_of_activity.end(), launched)) {
    preload();
    const std::vector<HostEntry> entries =
        queues ? node_entries(trace_, links_, host_.executor) : call_entries(trace_, links_);
    out_.plan.items.reserve(entries.size());
    out_.plan.works.reserve(trace_.activities.size());
    for (const HostEntry& entry : entries) add_item(entry);
    out_.executor = queues;
  } else {
    add_device_only();
    return std::move(out_);
  }
  infer_edges(trace_, links_, timing_, pool_, work_of_activity_, out_.plan, out_.losses);
  std::size_t kernels = 0;
  std::size_t nodes = 0;
  for (const DeviceWork& work : out_.plan.works) {
    if (work.item == no_index || trace_.activities.kind[work.source] != ActivityKind::kernel)
      continue;
    ++kernels;
    nodes += work.graph_node;
  }
  out_.graph_launches = 2 * nodes > kernels;
  return std::move(out_);
}

}  // namespace

MeasuredPlan measured_plan(const Trace& trace, const Links& links, const HostModel& host,
                           const DeviceTiming& timing, const TracedPool& pool) {
  return Builder(trace, links, host, timing, pool).build();
}

}  // namespace tandem
