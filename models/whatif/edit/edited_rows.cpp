#include "models/whatif/edit/edited_rows.h"

#include <algorithm>
#include <utility>

namespace tandem {

namespace {

/// Rows that are added stand this close before and after their neighbour, in this order: far less
/// than the profiler resolves, so that they nest in the operations around the neighbour.
constexpr Duration slot{8};
constexpr Duration op_span{6};
constexpr Duration call_offset{2};

template <class T>
void keep_in(Column<T>& column, const std::vector<bool>& keep) {
  Column<T> kept;
  kept.reserve(column.size());
  for (std::size_t i = 0; i < column.size(); ++i) {
    if (keep[i]) kept.push_back(column[i]);
  }
  column = std::move(kept);
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

GeometryId intern(const LaunchGeometry& geometry, std::vector<LaunchGeometry>& known) {
  const auto found = std::find(known.begin(), known.end(), geometry);
  const auto at = static_cast<std::size_t>(found - known.begin());
  if (found == known.end()) known.push_back(geometry);
  return GeometryId(at);
}

EditedRows::EditedRows(Step& step)
    : step_(step),
      keep_call_(step.trace.calls.size(), true),
      keep_activity_(step.trace.activities.size(), true) {
  for (const std::int64_t c : step.trace.activities.correlation.span()) {
    next_correlation_ = std::max(next_correlation_, c + 1);
  }
  next_id_ -= static_cast<std::int64_t>(step.trace.ops.size());  // earlier edits have added fewer
}

void EditedRows::add_op(const NewKernel& kernel, TimePoint at, ThreadId thread) {
  Trace& trace = step_.trace;
  HostOps& ops = trace.ops;
  ops.begin.push_back(at);
  ops.duration.push_back(op_span);
  ops.thread.push_back(thread);
  ops.name.push_back(trace.strings.intern(kernel.op));
  ops.external_id.push_back(next_id_);
  ops.sequence.push_back(-1);
  ops.forward_thread.push_back(0);
  const bool recorded = kernel.operands.has_shapes;
  ops.operands.push_back(recorded ? trace.operands.intern(kernel.operands) : OperandsId{});
}

void EditedRows::add_call(TimePoint at, ThreadId thread, std::int64_t external_id) {
  RuntimeCalls& calls = step_.trace.calls;
  calls.begin.push_back(at + call_offset);
  calls.duration.push_back(added_call_span);
  calls.thread.push_back(thread);
  calls.name.push_back(step_.trace.strings.intern("cudaLaunchKernel"));
  calls.api.push_back(ApiKind::launch_kernel);
  calls.correlation.push_back(next_correlation_);
  calls.external_id.push_back(external_id);
  keep_call_.push_back(true);
}

std::uint32_t EditedRows::add(const NewKernel& kernel, std::uint32_t neighbour,
                              std::int64_t place) {
  Trace& trace = step_.trace;
  const std::uint32_t call = step_.links.call_of_activity[neighbour];
  Activities& acts = trace.activities;
  TimePoint at = acts.begin[neighbour];
  ThreadId thread = trace.threads.empty() ? ThreadId{} : ThreadId(0);
  if (call != no_row) {
    at = trace.calls.begin[call];
    if (place >= 0) at += trace.calls.duration[call];
    thread = trace.calls.thread[call];
  }
  at += slot * place;
  if (!kernel.op.empty()) add_op(kernel, at, thread);
  // Without an operation of its own it is of the one beside it.
  const std::int64_t beside = call == no_row ? -1 : trace.calls.external_id[call];
  const std::int64_t shared = is_added(beside) ? beside : -1;
  add_call(at, thread, kernel.op.empty() ? shared : next_id_--);
  const TimePoint end = acts.begin[neighbour] + acts.duration[neighbour];
  acts.begin.push_back((place < 0 ? acts.begin[neighbour] : end) + slot * place);
  acts.duration.push_back(from_us(kernel.duration_us));
  acts.kind.push_back(ActivityKind::kernel);
  acts.stream.push_back(acts.stream[neighbour]);
  acts.name.push_back(trace.strings.intern(kernel.kernel.name));
  step_.kernels.push_back(acts.name[acts.size() - 1], kernel.kernel.kernel);
  acts.correlation.push_back(next_correlation_++);
  acts.external_id.push_back(-1);
  acts.geometry.push_back(intern(kernel.geometry, trace.geometries));
  acts.bytes.push_back(0);
  acts.collective.push_back({});
  keep_activity_.push_back(true);
  step_.traced_activity.push_back(no_row);
  return static_cast<std::uint32_t>(acts.size() - 1);
}

void EditedRows::finish(Plan& plan) {
  const auto call = renumbered(keep_call_);
  const auto activity = renumbered(keep_activity_);
  each_column([&](auto& column) { keep_in(column, keep_call_); }, step_.trace.calls);
  each_column([&](auto& column) { keep_in(column, keep_activity_); }, step_.trace.activities);
  std::vector<std::uint32_t> traced;
  for (std::size_t i = 0; i < keep_activity_.size(); ++i) {
    if (keep_activity_[i]) traced.push_back(step_.traced_activity[i]);
  }
  step_.traced_activity = std::move(traced);
  step_.kernels.keep(keep_activity_);
  for (HostItem& item : plan.items) {
    if (item.source != no_index) item.source = call[item.source];
  }
  for (DeviceWork& work : plan.works) work.source = activity[work.source];
}

}  // namespace tandem
