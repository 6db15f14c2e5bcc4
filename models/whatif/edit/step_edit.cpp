#include "models/whatif/edit/step_edit.h"

#include <algorithm>
#include <utility>

#include "models/whatif/edit/step_edges.h"

namespace tandem {

namespace {

/// Rows that are added stand this close before and after their neighbour, in this order: far less
/// than the profiler resolves, so that they nest in the operations around the neighbour.
constexpr Duration slot{8};
constexpr Duration op_span{6};
constexpr Duration call_offset{2};
constexpr Duration call_span{2};

GeometryId intern(const LaunchGeometry& geometry, std::vector<LaunchGeometry>& known) {
  const auto found = std::find(known.begin(), known.end(), geometry);
  const auto at = static_cast<std::size_t>(found - known.begin());
  if (found == known.end()) known.push_back(geometry);
  return GeometryId(at);
}

template <class T>
void keep_rows(Column<T>& column, const std::vector<bool>& keep) {
  Column<T> kept;
  kept.reserve(column.size());
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (keep[i]) kept.push_back(column[i]);
  }
  column = std::move(kept);
}

void keep_calls(RuntimeCalls& calls, const std::vector<bool>& keep) {
  keep_rows(calls.begin, keep);
  keep_rows(calls.duration, keep);
  keep_rows(calls.thread, keep);
  keep_rows(calls.name, keep);
  keep_rows(calls.api, keep);
  keep_rows(calls.correlation, keep);
  keep_rows(calls.external_id, keep);
}

void keep_activities(Activities& acts, const std::vector<bool>& keep) {
  keep_rows(acts.begin, keep);
  keep_rows(acts.duration, keep);
  keep_rows(acts.kind, keep);
  keep_rows(acts.stream, keep);
  keep_rows(acts.name, keep);
  keep_rows(acts.correlation, keep);
  keep_rows(acts.external_id, keep);
  keep_rows(acts.geometry, keep);
  keep_rows(acts.bytes, keep);
}

/// New number of each kept row; no_row for the others.
std::vector<std::uint32_t> renumbered(const std::vector<bool>& keep) {
  std::vector<std::uint32_t> number(keep.size(), no_row);
  std::uint32_t next = 0;
  for (std::size_t i = 0; i < keep.size(); ++i) {
    if (keep[i]) number[i] = next++;
  }
  return number;
}

}  // namespace

/// Walks the items of the old plan and writes the new one; rows of the trace are appended on the
/// way, the dropped ones removed at the end.
struct StepEdit::Builder {
  StepEdit& edit;
  const Plan& old;
  Trace& trace;
  Plan plan;
  std::vector<bool> keep_call;
  std::vector<bool> keep_activity;
  std::vector<std::uint32_t> new_item;                  // per old item
  std::vector<std::uint32_t> new_work;                  // per old work; no_index: dropped
  std::vector<WorkOrigin> origins;                      // per new work
  std::vector<std::vector<std::size_t>> before, after;  // insertions per old work
  std::int64_t next_correlation = 0;

  explicit Builder(StepEdit& e)
      : edit(e),
        old(e.step_.plan),
        trace(e.step_.trace),
        keep_call(trace.calls.size(), true),
        keep_activity(trace.activities.size(), true),
        new_item(old.items.size(), no_index),
        new_work(old.works.size(), no_index),
        before(old.works.size()),
        after(old.works.size()) {
    plan.threads = old.threads;
    plan.streams = old.streams;
    plan.queue_depth = old.queue_depth;
    plan.far_lead = old.far_lead;
    for (std::size_t i = 0; i < edit.insertions_.size(); ++i) {
      const Insertion& in = edit.insertions_[i];
      (in.after ? after : before)[in.work].push_back(i);
    }
    for (const std::int64_t c : trace.activities.correlation.span()) {
      next_correlation = std::max(next_correlation, c + 1);
    }
  }

  /// Appends operation, call and activity of a new kernel, the `place`-th slot away from `work`.
  std::uint32_t add_rows(const NewKernel& kernel, std::uint32_t work, std::int64_t place) {
    const std::uint32_t neighbour = old.works[work].source;
    const std::uint32_t call = edit.step_.links.call_of_activity[neighbour];
    Activities& acts = trace.activities;
    RuntimeCalls& calls = trace.calls;
    TimePoint at = acts.begin[neighbour];
    ThreadId thread = trace.threads.empty() ? ThreadId{} : ThreadId(0);
    if (call != no_row) {
      at = place < 0 ? calls.begin[call] : calls.begin[call] + calls.duration[call];
      thread = calls.thread[call];
    }
    at += slot * place;
    HostOps& ops = trace.ops;
    ops.begin.push_back(at);
    ops.duration.push_back(op_span);
    ops.thread.push_back(thread);
    ops.name.push_back(trace.strings.intern(kernel.op));
    ops.external_id.push_back(-1);
    ops.sequence.push_back(-1);
    ops.forward_thread.push_back(0);
    const bool recorded = kernel.operands.has_shapes;
    ops.operands.push_back(recorded ? trace.operands.intern(kernel.operands) : OperandsId{});
    calls.begin.push_back(at + call_offset);
    calls.duration.push_back(call_span);
    calls.thread.push_back(thread);
    calls.name.push_back(trace.strings.intern("cudaLaunchKernel"));
    calls.api.push_back(ApiKind::launch_kernel);
    calls.correlation.push_back(next_correlation);
    calls.external_id.push_back(-1);
    keep_call.push_back(true);
    const TimePoint end = acts.begin[neighbour] + acts.duration[neighbour];
    acts.begin.push_back((place < 0 ? acts.begin[neighbour] : end) + slot * place);
    acts.duration.push_back(from_us(kernel.duration_us));
    acts.kind.push_back(ActivityKind::kernel);
    acts.stream.push_back(acts.stream[neighbour]);
    acts.name.push_back(trace.strings.intern(kernel.kernel.name));
    edit.step_.kernels.push_back(acts.name[acts.size() - 1], kernel.kernel.kernel);
    acts.correlation.push_back(next_correlation++);
    acts.external_id.push_back(-1);
    acts.geometry.push_back(intern(kernel.geometry, trace.geometries));
    acts.bytes.push_back(0);
    keep_activity.push_back(true);
    edit.step_.traced_activity.push_back(no_row);
    return static_cast<std::uint32_t>(acts.size() - 1);
  }

  void append_work(DeviceWork work, std::uint32_t source) {
    work.source = source;
    work.duration = trace.activities.duration[source];
    work.item = static_cast<std::uint32_t>(plan.items.size());
    plan.works.push_back(work);
  }

  void append_old_work(std::uint32_t w) {
    new_work[w] = static_cast<std::uint32_t>(plan.works.size());
    origins.push_back({w, true});
    append_work(old.works[w], old.works[w].source);
  }

  void insert_work(const Insertion& in, std::int64_t place) {
    origins.push_back({in.work, !in.after});
    append_work(old.works[in.work], add_rows(in.kernel, in.work, place));
  }

  void insert_item(const Insertion& in, std::int64_t place) {
    const HostItem& anchor = old.items[old.works[in.work].item];
    HostItem item;
    item.thread = anchor.thread;
    item.first_work = static_cast<std::uint32_t>(plan.works.size());
    item.source = no_index;
    if (in.sync) {
      item.kind = ItemKind::sync;
      item.wait = WaitFor::all_work;
      item.gap = from_us(in.kernel.host_us);
      item.return_delay = from_us(in.return_us);
    } else {
      item.kind = ItemKind::launch;
      item.call = item.submit = from_us(edit.launch_call_us_);
      item.gap = from_us(std::max(0.0, in.kernel.host_us - edit.launch_call_us_));
      item.work_count = 1;
      if (anchor.wait == WaitFor::own_work) {
        item.wait = anchor.wait;
        item.return_delay = anchor.return_delay;
      }
      insert_work(in, place);
      item.source = static_cast<std::uint32_t>(trace.calls.size() - 1);
    }
    plan.items.push_back(item);
  }

  void insert_items(const std::vector<std::size_t>& which, bool is_after) {
    const auto n = static_cast<std::int64_t>(which.size());
    const std::size_t first = plan.items.size();
    for (std::int64_t k = 0; k < n; ++k) {
      const Insertion& in = edit.insertions_[which[static_cast<std::size_t>(k)]];
      insert_item(in, is_after ? k + 1 : k - n);
    }
    if (is_after || n == 0) return;
    // What comes first waits for the hand-off from another thread.
    const Insertion& in = edit.insertions_[which.front()];
    plan.items[first].after = old.items[old.works[in.work].item].after;
  }

  void drop_rows(std::uint32_t w) { keep_activity[old.works[w].source] = false; }

  /// A launch of one kernel: neighbours become launches of their own.
  void copy_launch(const HostItem& item) {
    const std::uint32_t w = item.first_work;
    insert_items(before[w], false);
    HostItem kept = item;
    kept.first_work = static_cast<std::uint32_t>(plan.works.size());
    if (edit.dropped_[w]) {
      drop_rows(w);
      if (kept.source != no_index) keep_call[kept.source] = false;
      kept = HostItem{};  // the host time before the call stays
      kept.gap = edit.gap_dropped_[w] ? Duration::zero() : item.gap;
      kept.thread = item.thread;
      kept.after = item.after;
      kept.first_work = static_cast<std::uint32_t>(plan.works.size());
    } else {
      append_old_work(w);
    }
    plan.items.push_back(kept);
  }

  /// Several kernels behind one call: new ones join them.
  void copy_group(const HostItem& item) {
    HostItem kept = item;
    kept.first_work = static_cast<std::uint32_t>(plan.works.size());
    for (std::uint32_t w = item.first_work; w < item.first_work + item.work_count; ++w) {
      const auto n = static_cast<std::int64_t>(before[w].size());
      for (std::int64_t k = 0; k < n; ++k) {
        const Insertion& in = edit.insertions_[before[w][static_cast<std::size_t>(k)]];
        if (!in.sync) insert_work(in, k - n);
      }
      if (edit.dropped_[w]) {
        drop_rows(w);
      } else {
        append_old_work(w);
      }
      std::int64_t place = 1;
      for (const std::size_t i : after[w]) {
        if (!edit.insertions_[i].sync) insert_work(edit.insertions_[i], place++);
      }
    }
    kept.work_count = static_cast<std::uint32_t>(plan.works.size()) - kept.first_work;
    for (std::uint32_t k = 0; k < kept.work_count && item.kind == ItemKind::graph_launch; ++k) {
      plan.works[kept.first_work + k].takes_slot = k + 1 == kept.work_count;
    }
    plan.items.push_back(kept);
  }

  void copy_items() {
    for (std::uint32_t i = 0; i < old.items.size(); ++i) {
      const HostItem& item = old.items[i];
      if (item.work_count == 1 && item.kind != ItemKind::graph_launch) {
        copy_launch(item);
        new_item[i] = static_cast<std::uint32_t>(plan.items.size() - 1);
        insert_items(after[item.first_work], true);
      } else {
        copy_group(item);
        new_item[i] = static_cast<std::uint32_t>(plan.items.size() - 1);
      }
    }
  }

  void renumber() {
    for (HostItem& item : plan.items) {
      if (item.after != no_index) item.after = new_item[item.after];
      if (item.wait != WaitFor::work) continue;
      const WorkEdge awaited = stand_in(old, new_work, item.wait_work);
      item.wait_work = awaited.previous_step ? no_index : awaited.work;
      if (item.wait_work == no_index) item.wait = WaitFor::nothing;
    }
    move_edges(old, new_work, origins, plan);
  }

  void remove_rows() {
    const auto call = renumbered(keep_call);
    const auto activity = renumbered(keep_activity);
    keep_calls(trace.calls, keep_call);
    keep_activities(trace.activities, keep_activity);
    std::vector<std::uint32_t> traced;
    for (std::size_t i = 0; i < keep_activity.size(); ++i) {
      if (keep_activity[i]) traced.push_back(edit.step_.traced_activity[i]);
    }
    edit.step_.traced_activity = std::move(traced);
    edit.step_.kernels.keep(keep_activity);
    for (HostItem& item : plan.items) {
      if (item.source != no_index) item.source = call[item.source];
    }
    for (DeviceWork& work : plan.works) work.source = activity[work.source];
  }
};

StepEdit::StepEdit(Step step, double launch_call_us)
    : step_(std::move(step)),
      launch_call_us_(launch_call_us),
      dropped_(step_.plan.works.size(), false),
      gap_dropped_(step_.plan.works.size(), false) {}

void StepEdit::drop(std::uint32_t work, bool with_gap) {
  dropped_[work] = true;
  gap_dropped_[work] = with_gap;
}

void StepEdit::set_duration(std::uint32_t work, Duration duration) {
  step_.trace.activities.duration[step_.plan.works[work].source] = duration;
}

void StepEdit::set_kernel(std::uint32_t work, const PredictedKernel& kernel) {
  const std::uint32_t activity = step_.plan.works[work].source;
  const StringId name = step_.trace.strings.intern(kernel.name);
  step_.trace.activities.name[activity] = name;
  step_.kernels.set(activity, name, kernel.kernel);
}

void StepEdit::set_geometry(std::uint32_t work, const LaunchGeometry& geometry) {
  step_.trace.activities.geometry[step_.plan.works[work].source] =
      intern(geometry, step_.trace.geometries);
}

void StepEdit::set_operands(std::uint32_t op, Operands operands) {
  step_.trace.ops.operands[op] = step_.trace.operands.intern(std::move(operands));
}

void StepEdit::set_gap(std::uint32_t item, Duration gap) { step_.plan.items[item].gap = gap; }

void StepEdit::insert_before(std::uint32_t work, NewKernel kernel) {
  insertions_.push_back({work, false, false, std::move(kernel), 0});
}

void StepEdit::insert_after(std::uint32_t work, NewKernel kernel) {
  insertions_.push_back({work, true, false, std::move(kernel), 0});
}

void StepEdit::insert_sync_after(std::uint32_t work, double host_us, double return_us) {
  Insertion in;
  in.work = work;
  in.after = in.sync = true;
  in.kernel.host_us = host_us;
  in.return_us = return_us;
  insertions_.push_back(std::move(in));
}

Step StepEdit::finish() && {
  Builder build(*this);
  build.copy_items();
  build.renumber();
  build.remove_rows();
  step_.plan = std::move(build.plan);
  step_.links = link_trace(step_.trace);
  return std::move(step_);
}

}  // namespace tandem
