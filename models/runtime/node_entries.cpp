#include <algorithm>
#include <utility>
#include <vector>

#include "models/runtime/host_entries.h"
#include "sim/core/median.h"
#include "sim/trace/row_order.h"

namespace tandem {

namespace {

/// Ranges further out around an operation belong to the program.
constexpr std::size_t outer_levels = 8;

/// The span of the program's call that enqueued a node: the operation's and, where an outer range
/// holds no other operation (the Python binding, the conversion of its tensors), that one's.
class EnqueueSpans {
 public:
  explicit EnqueueSpans(const Trace& trace);
  TimePoint begin(std::uint32_t op) const { return begin_[op]; }

 private:
  std::vector<TimePoint> begin_;
};

EnqueueSpans::EnqueueSpans(const Trace& trace)
    : begin_(trace.ops.begin.begin(), trace.ops.begin.end()) {
  const HostOps& ops = trace.ops;
  std::vector<std::uint32_t> order(ops.size());
  for (std::uint32_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (ops.thread[a] != ops.thread[b]) return ops.thread[a] < ops.thread[b];
    if (ops.begin[a] != ops.begin[b]) return ops.begin[a] < ops.begin[b];
    return ops.duration[a] > ops.duration[b];
  });
  std::vector<bool> enqueues(ops.size(), false);
  for (const std::uint32_t op : trace.nodes.op) enqueues[op] = true;
  std::vector<std::uint32_t> held(ops.size(), 0);  // operations with a node inside
  std::vector<std::uint32_t> parent(ops.size(), no_row);
  std::vector<std::uint32_t> open;
  for (const std::uint32_t op : order) {
    const auto ended = [&](std::uint32_t outer) {
      return ops.thread[outer] != ops.thread[op] || end_of(ops, outer) <= ops.begin[op];
    };
    while (!open.empty() && ended(open.back())) open.pop_back();
    if (!open.empty()) parent[op] = open.back();
    const std::size_t levels = enqueues[op] ? std::min(open.size(), outer_levels) : 0;
    for (std::size_t k = 0; k < levels; ++k) ++held[open[open.size() - 1 - k]];
    open.push_back(op);
  }
  for (const std::uint32_t op : trace.nodes.op) {
    for (std::uint32_t outer = parent[op]; outer != no_row && held[outer] == 1;
         outer = parent[outer]) {
      begin_[op] = ops.begin[outer];
    }
  }
}

Duration median_or(std::vector<Duration> values, double otherwise_us) {
  return values.empty() ? from_us(otherwise_us) : median(std::move(values));
}

class NodeEntries {
 public:
  NodeEntries(const Trace& trace, const Links& links, const ExecutorModel& model);
  std::vector<HostEntry> list();

 private:
  TimePoint node_end(std::uint32_t node) const { return end_of(trace_.nodes, node); }
  bool synchronous(std::uint32_t node) const {
    return trace_.nodes.thread[node] == trace_.ops.thread[trace_.nodes.op[node]];
  }
  void sort_rows();
  void add(HostEntry entry);
  void add_node(std::uint32_t node);
  void add_wait(std::uint32_t node, ThreadId thread, TimePoint& enqueue_begin);
  void sort_calls();
  void add_calls(std::uint32_t node);
  void add_loose_calls(TimePoint until);
  HostEntry call_entry(std::uint32_t call) const;
  void add_step_end(const StepWindow& step);
  std::uint32_t awaited(TimePoint end) const;
  void fill_unknown();

  const Trace& trace_;
  const Links& links_;
  const ExecutorModel& model_;
  EnqueueSpans spans_;
  std::vector<std::uint32_t> nodes_;               // in the order of the program
  std::vector<std::vector<std::uint32_t>> waits_;  // per thread, by begin
  std::vector<std::size_t> next_wait_;             // per thread
  std::vector<std::vector<std::uint32_t>> calls_;  // per node: those that it made
  std::vector<std::uint32_t> loose_;               // the others, by begin
  std::size_t next_loose_ = 0;
  std::vector<TimePoint> thread_end_;  // per thread: end of its last entry
  std::vector<std::uint32_t> done_;    // per node added: the entry that completes it
  std::vector<TimePoint> ended_;       // ... and when it and all before it had ended
  std::size_t added_ = 0;              // of nodes_
  std::vector<HostEntry> out_;
  std::vector<std::uint32_t> idle_, busy_;  // entries of nodes whose executor was that
};

NodeEntries::NodeEntries(const Trace& trace, const Links& links, const ExecutorModel& model)
    : trace_(trace),
      links_(links),
      model_(model),
      spans_(trace),
      waits_(trace.threads.size()),
      next_wait_(trace.threads.size(), 0),
      thread_end_(trace.threads.size(), links.steps.front().begin) {
  sort_rows();
  sort_calls();
}

void NodeEntries::sort_rows() {
  for (std::uint32_t i = 0; i < trace_.nodes.size(); ++i) nodes_.push_back(i);
  std::stable_sort(nodes_.begin(), nodes_.end(), [&](std::uint32_t a, std::uint32_t b) {
    return trace_.ops.begin[trace_.nodes.op[a]] < trace_.ops.begin[trace_.nodes.op[b]];
  });
  for (std::uint32_t i = 0; i < trace_.value_waits.size(); ++i) {
    waits_[trace_.value_waits.thread[i].index()].push_back(i);
  }
  for (std::vector<std::uint32_t>& rows : waits_) sort_by_begin(trace_.value_waits, rows);
}

void NodeEntries::add(HostEntry entry) {
  entry.timed = true;
  thread_end_[entry.thread.index()] = std::max(thread_end_[entry.thread.index()], entry.end);
  out_.push_back(entry);
}

/// The entry that completes the last node which, with all before it, had ended by `end`, or none.
std::uint32_t NodeEntries::awaited(TimePoint end) const {
  const auto after = std::upper_bound(ended_.begin(), ended_.end(), end);
  return after == ended_.begin() ? no_index
                                 : done_[static_cast<std::size_t>(after - ended_.begin()) - 1];
}

/// What the program waited for since its last entry and before the enqueue of `node`, as one wait.
void NodeEntries::add_wait(std::uint32_t node, ThreadId thread, TimePoint& enqueue_begin) {
  const std::size_t t = thread.index();
  const TimePoint free = thread_end_[t];
  const TimePoint enqueued =
      trace_.ops.begin[trace_.nodes.op[node]] + trace_.ops.duration[trace_.nodes.op[node]];
  HostEntry wait{free, free, thread, no_row, ItemKind::value_wait, node};
  bool waited = false;
  for (; next_wait_[t] < waits_[t].size(); ++next_wait_[t]) {
    const std::uint32_t row = waits_[t][next_wait_[t]];
    const TimePoint begin = trace_.value_waits.begin[row];
    const TimePoint end = begin + trace_.value_waits.duration[row];
    if (begin >= enqueued) break;
    if (end <= free) continue;
    if (!waited) wait.begin = std::max(begin, free);
    wait.end = end;
    waited = true;
  }
  if (waited) wait.after = awaited(wait.end);
  if (wait.after != no_index) {
    wait.gap = wait.begin - free;
    wait.wake = wait.end - out_[wait.after].end;
    wait.begin = wait.end;  // the wait is over when the item begins
    enqueue_begin = std::max(enqueue_begin, wait.end);
  } else {
    wait.begin = wait.end = free;
  }
  add(wait);
}

/// Hands every call to the node that made it.
void NodeEntries::sort_calls() {
  calls_.resize(trace_.nodes.size());
  for (const std::uint32_t call : links_.calls_in_order) {
    const std::uint32_t node = links_.node_of_call[call];
    (node != no_row ? calls_[node] : loose_).push_back(call);
  }
}

HostEntry NodeEntries::call_entry(std::uint32_t call) const {
  const TimePoint begin = trace_.calls.begin[call];
  const bool has_work = !links_.activities_of_call.of(call).empty();
  return {begin, begin + trace_.calls.duration[call], trace_.calls.thread[call], call,
          item_kind(trace_.calls.api[call], has_work)};
}

/// Calls of the program, such as the copy of a result. One that begins after nodes have ended for
/// which the program did not wait otherwise needed their results.
void NodeEntries::add_loose_calls(TimePoint until) {
  for (; next_loose_ < loose_.size(); ++next_loose_) {
    HostEntry entry = call_entry(loose_[next_loose_]);
    if (entry.begin >= until) return;
    const TimePoint free = thread_end_[entry.thread.index()];
    entry.gap = std::max(Duration::zero(), entry.begin - free);
    const bool queued = added_ > 0 && !synchronous(nodes_[added_ - 1]);
    const std::uint32_t last = queued ? awaited(entry.begin) : no_index;
    if (last != no_index && out_[last].end > free) {
      entry.after = last;
      entry.wake = entry.begin - out_[last].end;
      entry.gap = Duration::zero();
    }
    add(entry);
  }
}

/// Calls that the node made, and the rest of the node behind them.
void NodeEntries::add_calls(std::uint32_t node) {
  if (calls_[node].empty()) return;
  const ThreadId thread = trace_.nodes.thread[node];
  out_.back().end = thread_end_[thread.index()] = trace_.nodes.begin[node];
  for (const std::uint32_t call : calls_[node]) {
    HostEntry entry = call_entry(call);
    entry.node = node;
    entry.gap = std::max(Duration::zero(), entry.begin - thread_end_[thread.index()]);
    add(entry);
  }
  HostEntry rest{node_end(node), node_end(node), thread, no_row, ItemKind::call, node};
  rest.gap = std::max(Duration::zero(), rest.end - thread_end_[thread.index()]);
  rest.begin = rest.end;
  add(rest);
}

void NodeEntries::add_node(std::uint32_t node) {
  const std::uint32_t op = trace_.nodes.op[node];
  const ThreadId program = trace_.ops.thread[op];
  const ThreadId executor = trace_.nodes.thread[node];
  TimePoint begin = spans_.begin(op);
  add_loose_calls(begin);
  add_wait(node, program, begin);
  const TimePoint free = thread_end_[program.index()];
  const bool inline_node = synchronous(node);
  const TimePoint end = inline_node ? trace_.nodes.begin[node] : end_of(trace_.ops, op);
  begin = std::clamp(begin, free, std::max(free, end));
  HostEntry enqueue{begin, std::max(begin, end), program, no_row, ItemKind::enqueue, node};
  enqueue.gap = begin - free;
  add(enqueue);
  HostEntry run{trace_.nodes.begin[node], node_end(node), executor, no_row, ItemKind::node, node};
  if (!inline_node) {
    const TimePoint own = thread_end_[executor.index()];
    run.after = static_cast<std::uint32_t>(out_.size() - 1);
    const bool idle = own <= enqueue.end;
    (idle ? idle_ : busy_).push_back(static_cast<std::uint32_t>(out_.size()));
    run.wake = std::max(Duration::zero(), run.begin - enqueue.end);
    run.gap = std::max(Duration::zero(), run.begin - own);
  }
  add(run);
  add_calls(node);
  done_.push_back(static_cast<std::uint32_t>(out_.size() - 1));
  const TimePoint ended = node_end(node);
  ended_.push_back(ended_.empty() ? ended : std::max(ended, ended_.back()));
  ++added_;
}

void NodeEntries::add_step_end(const StepWindow& step) {
  HostEntry end{step.end, step.end, step.thread, no_row, ItemKind::step_end};
  const TimePoint free = thread_end_[step.thread.index()];
  end.gap = std::max(Duration::zero(), step.end - free);
  const bool queued = added_ > 0 && !synchronous(nodes_[added_ - 1]);
  const std::uint32_t last = queued ? awaited(step.end) : no_index;
  if (last != no_index && out_[last].end > free) {  // it ends when its last value is there
    end.after = last;
    end.gap = Duration::zero();
    end.wake = step.end - out_[last].end;
  }
  add(end);
}

/// What an idle executor would have taken to go on, and a busy one to wake up.
void NodeEntries::fill_unknown() {
  std::vector<Duration> wakes;
  std::vector<Duration> pops;
  for (const std::uint32_t i : idle_) wakes.push_back(out_[i].wake);
  for (const std::uint32_t i : busy_) pops.push_back(out_[i].gap);
  const Duration wake = median_or(std::move(wakes), model_.wake_us);
  const Duration pop = median_or(std::move(pops), model_.pop_us);
  for (const std::uint32_t i : busy_) out_[i].wake = wake;
  for (const std::uint32_t i : idle_) out_[i].gap = pop;
}

std::vector<HostEntry> NodeEntries::list() {
  std::size_t next = 0;
  const auto add_until = [&](TimePoint end) {
    for (; next < nodes_.size() && trace_.ops.begin[trace_.nodes.op[nodes_[next]]] < end; ++next) {
      add_node(nodes_[next]);
    }
  };
  for (const StepWindow& step : links_.steps) {
    add_until(step.begin);
    HostEntry begin{step.begin, step.begin, step.thread, no_row, ItemKind::step_begin};
    begin.gap = std::max(Duration::zero(), step.begin - thread_end_[step.thread.index()]);
    add(begin);
    add_until(step.end);
    add_loose_calls(step.end);
    add_step_end(step);
  }
  add_until(TimePoint::max());
  fill_unknown();
  return std::move(out_);
}

}  // namespace

bool nodes_launch(const Trace& trace, const Links& links) {
  if (trace.nodes.size() == 0) return false;
  std::int64_t balance = 0;
  for (const std::uint32_t call : links.calls_in_order) {
    if (links.activities_of_call.of(call).empty()) continue;
    balance += links.node_of_call[call] != no_row ? 1 : -1;
  }
  return balance >= 0;
}

std::vector<HostEntry> node_entries(const Trace& trace, const Links& links,
                                    const ExecutorModel& model) {
  return NodeEntries(trace, links, model).list();
}

}  // namespace tandem
