#include "sim/engine/engine.h"

#include <algorithm>
#include <array>
#include <queue>
#include <string>

#include "sim/core/error.h"
#include "sim/core/pool.h"
#include "sim/engine/plan_check.h"

namespace tandem {

namespace {

enum class EventKind : std::uint8_t { item_begin, item_wait, work_end };

struct Event {
  TimePoint time;
  std::uint64_t sequence;
  std::uint32_t index;  // thread for item events, work for work_end
  EventKind kind;
  friend bool operator>(const Event& a, const Event& b) {
    return a.time != b.time ? a.time > b.time : a.sequence > b.sequence;
  }
};

enum class WorkState : std::uint8_t { waiting, running, ended };

constexpr TimePoint never = TimePoint::max();

/// A host thread walks its list of items. At most one event of it is pending at any time.
struct ThreadState {
  std::size_t next = 0;                     // position in its item list
  TimePoint free{};                         // end of its previous item
  std::uint32_t blocked_after = no_index;   // item it waits for (hand-off)
  std::uint32_t blocked_work = no_index;    // work it waits for
  std::uint32_t blocked_stream = no_index;  // stream whose queue is full
  std::uint32_t waits_for_streams = 0;      // streams still to drain (WaitFor::all_work)
  std::vector<std::uint32_t> items;
  std::vector<std::uint32_t> drain;  // per stream: the work that has to end, or none
};

/// A stream runs its work in the order of the plan, each once it was submitted.
struct StreamState {
  std::vector<std::uint32_t> queue;  // all its work
  std::size_t head = 0;              // first that has not started
  std::uint32_t running = no_index;  // while busy
  bool busy = false;
  bool used = false;
  TimePoint last_end{};
  std::uint16_t rank = 0;
  std::uint32_t blocked_edge = no_index;  // work of another stream the head waits for
  std::uint32_t incomplete_launches = 0;
};

/// Works that wait for the last of their meeting.
struct MeetingState {
  std::uint32_t missing = 0;
  std::vector<std::uint32_t> arrived;
};

/// What the streams of a rank share.
struct RankState {
  std::array<TimePoint, 2> copy_engine_free{TimePoint::min(), TimePoint::min()};
};

class Simulation {
 public:
  explicit Simulation(const Plan& plan);
  Timeline run();

 private:
  void push(TimePoint time, EventKind kind, std::uint32_t index) {
    events_.push({time, sequence_++, index, kind});
  }
  void schedule_next_item(std::uint32_t thread);
  void begin_item(std::uint32_t thread, TimePoint now);
  bool must_wait_for_room(const HostItem& item) const;
  void submit(const HostItem& item, TimePoint at);
  void wait_item(std::uint32_t thread, TimePoint now);
  std::uint32_t last_submitted(const StreamState& stream, std::uint32_t first_later) const;
  void finish_item(std::uint32_t thread, TimePoint end);
  void start_head(std::uint32_t stream, TimePoint now);
  TimePoint copy_start(const DeviceWork& work, std::uint16_t rank, TimePoint start);
  PoolTime pool_time(std::uint32_t work, TimePoint start);
  void meet(std::uint32_t work, TimePoint now);
  void end_work(std::uint32_t work, TimePoint now);
  void wake_threads(std::uint32_t work, std::uint32_t stream, TimePoint now);
  bool ended(std::uint32_t work) const { return state_[work] == WorkState::ended; }

  const Plan& plan_;
  Timeline out_;
  std::priority_queue<Event, std::vector<Event>, std::greater<>> events_;
  std::uint64_t sequence_ = 0;
  std::vector<ThreadState> threads_;
  std::vector<StreamState> streams_;
  std::vector<TimePoint> arrival_;       // per work: when the device may see it
  std::vector<WorkState> state_;         // per work
  std::vector<std::uint8_t> item_done_;  // per item
  std::vector<RankState> ranks_;
  std::vector<MeetingState> meetings_;
  std::vector<PoolUse> others_;  // scratch of pool_time()
  std::uint32_t blocked_streams_ = 0;
  std::uint32_t blocked_threads_ = 0;
  std::uint32_t handoff_waiters_ = 0;
};

Simulation::Simulation(const Plan& plan) : plan_(plan) {
  const std::size_t works = plan.works.size();
  const std::size_t items = plan.items.size();
  out_.item_begin.resize(items);
  out_.item_end.resize(items);
  out_.item_submit.resize(items);
  out_.item_slot.assign(items, no_index);
  out_.work_begin.resize(works);
  out_.work_end.resize(works);
  arrival_.assign(works, never);
  state_.assign(works, WorkState::waiting);
  item_done_.assign(items, 0);
  threads_.resize(plan.threads.size());
  streams_.resize(plan.streams.size());
  for (std::uint32_t i = 0; i < items; ++i) threads_[plan.items[i].thread].items.push_back(i);
  for (std::uint32_t w = 0; w < works; ++w) streams_[plan.works[w].stream].queue.push_back(w);
  std::uint16_t last_rank = 0;
  for (std::size_t s = 0; s < plan.stream_rank.size(); ++s) {
    streams_[s].rank = plan.stream_rank[s];
    last_rank = std::max(last_rank, plan.stream_rank[s]);
  }
  ranks_.resize(last_rank + 1U);
  meetings_.resize(plan.meetings.size());
  for (std::size_t m = 0; m < meetings_.size(); ++m) {
    meetings_[m].missing = plan.meetings[m].members;
  }
}

Timeline Simulation::run() {
  std::size_t preloaded = 0;
  for (std::uint32_t w = 0; w < plan_.works.size(); ++w) {
    if (plan_.works[w].item != no_index) continue;
    arrival_[w] = plan_.preloaded_start.at(preloaded++) - plan_.works[w].latency;
    streams_[plan_.works[w].stream].incomplete_launches += plan_.works[w].takes_slot;
  }
  for (std::uint32_t s = 0; s < streams_.size(); ++s) start_head(s, TimePoint::min());
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    threads_[t].free = plan_.threads[t].begin;
    schedule_next_item(t);
  }
  while (!events_.empty()) {
    const Event event = events_.top();
    events_.pop();
    ++out_.events;
    switch (event.kind) {
      case EventKind::item_begin: begin_item(event.index, event.time); break;
      case EventKind::item_wait: wait_item(event.index, event.time); break;
      case EventKind::work_end: end_work(event.index, event.time); break;
    }
  }
  for (const ThreadState& thread : threads_) {
    if (thread.next != thread.items.size()) {
      throw InputError("plan of the step", "host item " + std::to_string(thread.items[thread.next]),
                       "a wait for something that never ends", "a plan that can finish");
    }
  }
  for (const StreamState& stream : streams_) {
    if (stream.head != stream.queue.size() || stream.busy) {
      throw InputError("plan of the step", "streams", "work that waits for what never ends",
                       "a plan that can finish");
    }
  }
  return std::move(out_);
}

/// Puts the begin of the thread's next item on the calendar, or notes the hand-off it waits for.
void Simulation::schedule_next_item(std::uint32_t t) {
  ThreadState& thread = threads_[t];
  if (thread.next == thread.items.size()) return;
  const HostItem& item = plan_.items[thread.items[thread.next]];
  TimePoint base = thread.free;
  if (item.after != no_index) {
    if (item_done_[item.after] == 0) {
      thread.blocked_after = item.after;
      ++handoff_waiters_;
      return;
    }
    const TimePoint handed = out_.item_end[item.after];
    if (item.own_gap) {
      return push(std::max(base + item.gap, handed + item.wake), EventKind::item_begin, t);
    }
    base = std::max(base, handed);
  }
  push(base + item.gap, EventKind::item_begin, t);
}

/// True if the launch queue is full. Work that its stream has to run next gets in all the same:
/// threads may reach a queue in another order than the plan's, and nothing would ever leave it.
bool Simulation::must_wait_for_room(const HostItem& item) const {
  if (item.work_count == 0) return false;
  const StreamState& stream = streams_[plan_.works[item.first_work].stream];
  const bool is_next = !stream.busy && stream.queue[stream.head] == item.first_work;
  return stream.incomplete_launches >= plan_.queue_depth && !is_next;
}

void Simulation::begin_item(std::uint32_t t, TimePoint now) {
  ThreadState& thread = threads_[t];
  const std::uint32_t index = thread.items[thread.next];
  const HostItem& item = plan_.items[index];
  if (thread.blocked_stream == no_index) out_.item_begin[index] = now;
  if (must_wait_for_room(item)) {
    if (thread.blocked_stream == no_index) ++blocked_threads_;
    thread.blocked_stream = plan_.works[item.first_work].stream;
    return;  // end_work() calls begin_item() again
  }
  if (thread.blocked_stream != no_index) --blocked_threads_;
  thread.blocked_stream = no_index;
  out_.item_submit[index] = now + item.submit;
  submit(item, now + item.submit);
  if (item.wait == WaitFor::nothing) {
    finish_item(t, now + item.call);
  } else {
    push(now + item.call, EventKind::item_wait, t);
  }
}

void Simulation::submit(const HostItem& item, TimePoint at) {
  for (std::uint32_t w = item.first_work; w < item.first_work + item.work_count; ++w) {
    const std::uint32_t s = plan_.works[w].stream;
    StreamState& stream = streams_[s];
    arrival_[w] = at;
    stream.incomplete_launches += plan_.works[w].takes_slot;
    if (!stream.busy && stream.blocked_edge == no_index) start_head(s, at);
  }
}

/// The last submitted work of the stream before work `first_later` of the plan, or none.
std::uint32_t Simulation::last_submitted(const StreamState& stream,
                                         std::uint32_t first_later) const {
  auto end = std::lower_bound(stream.queue.begin(), stream.queue.end(), first_later);
  while (end != stream.queue.begin() && arrival_[*std::prev(end)] == never) --end;
  return end == stream.queue.begin() ? no_index : *std::prev(end);
}

void Simulation::wait_item(std::uint32_t t, TimePoint now) {
  ThreadState& thread = threads_[t];
  const std::uint32_t index = thread.items[thread.next];
  const HostItem& item = plan_.items[index];
  if (item.wait == WaitFor::all_work) {
    // All work of earlier items. Threads may run ahead of the plan; waiting for what they submitted
    // might never end, for it may stand behind work that this thread has yet to submit.
    auto first_later = static_cast<std::uint32_t>(plan_.works.size());
    for (std::size_t i = index; i < plan_.items.size(); ++i) {
      if (plan_.items[i].work_count == 0) continue;
      first_later = plan_.items[i].first_work;
      break;
    }
    thread.drain.assign(streams_.size(), no_index);
    thread.waits_for_streams = 0;
    TimePoint end = now;
    const std::uint16_t rank = plan_.threads[t].rank;
    for (std::size_t s = 0; s < streams_.size(); ++s) {
      if (streams_[s].rank != rank) continue;
      const std::uint32_t last = last_submitted(streams_[s], first_later);
      if (last == no_index) continue;
      if (ended(last)) {
        end = std::max(end, out_.work_end[last] + item.return_delay);
      } else {
        thread.drain[s] = last;
        ++thread.waits_for_streams;
      }
    }
    if (thread.waits_for_streams == 0) return finish_item(t, end);
    ++blocked_threads_;
    return;
  }
  const std::uint32_t work =
      item.wait == WaitFor::own_work ? item.first_work + item.work_count - 1 : item.wait_work;
  if (ended(work)) return finish_item(t, std::max(now, out_.work_end[work] + item.return_delay));
  thread.blocked_work = work;
  ++blocked_threads_;
}

void Simulation::finish_item(std::uint32_t t, TimePoint end) {
  ThreadState& thread = threads_[t];
  const std::uint32_t index = thread.items[thread.next++];
  out_.item_end[index] = end;
  out_.end = std::max(out_.end, end);
  item_done_[index] = 1;
  thread.free = end;
  if (handoff_waiters_ > 0) {
    for (std::uint32_t other = 0; other < threads_.size(); ++other) {
      if (threads_[other].blocked_after != index) continue;
      threads_[other].blocked_after = no_index;
      --handoff_waiters_;
      schedule_next_item(other);
    }
  }
  schedule_next_item(t);
}

/// Starts the first waiting work of an idle stream once its edges have ended.
void Simulation::start_head(std::uint32_t s, TimePoint now) {
  StreamState& stream = streams_[s];
  if (stream.busy || stream.head == stream.queue.size()) return;
  const std::uint32_t w = stream.queue[stream.head];
  if (arrival_[w] == never) return;
  const DeviceWork& work = plan_.works[w];
  TimePoint start = arrival_[w] + work.latency;
  if (stream.used) {
    start = std::max(start, stream.last_end + gap_of(work, stream.last_end, arrival_[w]));
  }
  for (std::uint32_t e = work.first_edge; e < work.first_edge + work.edge_count; ++e) {
    const WorkEdge& edge = plan_.edges[e];
    if (edge.work > w && state_[edge.work] == WorkState::waiting) continue;
    if (!ended(edge.work)) {
      stream.blocked_edge = edge.work;
      ++blocked_streams_;
      return;
    }
    start = std::max(start, out_.work_end[edge.work] + edge.delay);
  }
  start = copy_start(work, stream.rank, start);
  stream.busy = true;
  stream.used = true;
  ++stream.head;
  state_[w] = WorkState::running;
  stream.running = w;
  const PoolTime time = pool_time(w, start);
  out_.work_begin[w] = time.begin;
  out_.work_end[w] = time.end;
  if (work.meeting != no_index) {
    out_.work_end[w] = never;  // unless it is the last to come
    return meet(w, now);
  }
  // A negative gap may reach back before `now`; the calendar itself never does.
  push(std::max(now, out_.work_end[w]), EventKind::work_end, w);
}

/// Copies of one direction share a copy engine of their rank.
TimePoint Simulation::copy_start(const DeviceWork& work, std::uint16_t rank, TimePoint start) {
  if (work.engine != DeviceEngine::copy_to_device && work.engine != DeviceEngine::copy_to_host) {
    return start;
  }
  TimePoint& engine_free =
      ranks_[rank].copy_engine_free[work.engine == DeviceEngine::copy_to_host ? 1 : 0];
  start = std::max(start, engine_free);
  engine_free = start + work.duration;
  return start;
}

/// Work `w` is there; the last of a meeting ends all of it.
void Simulation::meet(std::uint32_t w, TimePoint now) {
  MeetingState& meeting = meetings_[plan_.works[w].meeting];
  meeting.arrived.push_back(w);
  if (--meeting.missing > 0) return;
  TimePoint last = TimePoint::min();
  for (const std::uint32_t member : meeting.arrived) {
    last = std::max(last, out_.work_begin[member]);
  }
  for (const std::uint32_t member : meeting.arrived) {
    out_.work_end[member] = last + plan_.works[member].duration;
    push(std::max(now, out_.work_end[member]), EventKind::work_end, member);
  }
}

/// When work runs beside what runs on other streams. What moves data over a link holds its places,
/// also while it waits for other ranks, and takes its time whoever else computes.
PoolTime Simulation::pool_time(std::uint32_t w, TimePoint start) {
  const DeviceWork& work = plan_.works[w];
  if (work.pool_share <= 0 || work.engine == DeviceEngine::collective) {
    return {start, start + work.duration};
  }
  constexpr int outlasted = 8;  // times, by what waits for another rank until nobody knows when
  const std::uint16_t rank = streams_[work.stream].rank;
  others_.clear();
  for (const StreamState& stream : streams_) {
    if (!stream.busy || stream.running == w || stream.rank != rank) continue;
    const DeviceWork& other = plan_.works[stream.running];
    if (other.pool_share <= 0 || out_.work_end[stream.running] <= start) continue;
    const bool waits = out_.work_end[stream.running] == never;
    const TimePoint end = waits ? start + outlasted * work.duration : out_.work_end[stream.running];
    others_.push_back({end, other.pool_share});
  }
  return time_in_pool(start, work.duration, work.pool_share, others_);
}

void Simulation::end_work(std::uint32_t w, TimePoint now) {
  const std::uint32_t s = plan_.works[w].stream;
  StreamState& stream = streams_[s];
  out_.work_end[w] = now;
  out_.end = std::max(out_.end, now);
  state_[w] = WorkState::ended;
  stream.busy = false;
  stream.last_end = now;
  stream.incomplete_launches -= plan_.works[w].takes_slot;
  start_head(s, now);
  if (blocked_streams_ > 0) {
    for (std::uint32_t other = 0; other < streams_.size(); ++other) {
      if (streams_[other].blocked_edge != w) continue;
      streams_[other].blocked_edge = no_index;
      --blocked_streams_;
      start_head(other, now);
    }
  }
  if (blocked_threads_ > 0) wake_threads(w, s, now);
}

void Simulation::wake_threads(std::uint32_t work, std::uint32_t stream, TimePoint now) {
  for (std::uint32_t t = 0; t < threads_.size(); ++t) {
    ThreadState& thread = threads_[t];
    if (thread.blocked_stream == stream) {
      out_.item_slot[thread.items[thread.next]] = work;
      begin_item(t, now);
    } else if (thread.blocked_work == work) {
      thread.blocked_work = no_index;
      --blocked_threads_;
      finish_item(t, now + plan_.items[thread.items[thread.next]].return_delay);
    } else if (thread.waits_for_streams > 0 && thread.drain[stream] == work) {
      thread.drain[stream] = no_index;
      if (--thread.waits_for_streams > 0) continue;
      --blocked_threads_;
      finish_item(t, now + plan_.items[thread.items[thread.next]].return_delay);
    }
  }
}

}  // namespace

Timeline simulate(const Plan& plan) {
  check_plan(plan);
  return Simulation(plan).run();
}

}  // namespace tandem
