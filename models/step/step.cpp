#include "models/step/step.h"

#include <algorithm>
#include <utility>

namespace tandem {

Step::Step() = default;
Step::Step(const Step&) = default;
Step::Step(Step&&) noexcept = default;
Step& Step::operator=(const Step&) = default;
Step& Step::operator=(Step&&) noexcept = default;
Step::~Step() = default;

namespace {

using Rows = std::vector<std::uint32_t>;

/// Rows of one trace's columns, appended to those of another, with texts and operands interned
/// anew.
class RowCopy {
 public:
  RowCopy(const Trace& from, Trace& to)
      : from_(from), to_(to), texts_(from.strings.size()), operands_(from.operands.size()) {}

  template <class T>
  void operator()(const Column<T>& from, Column<T>& to, const Rows& rows) {
    to.reserve(rows.size());
    for (const std::uint32_t row : rows) to.push_back(value(from[row]));
  }

 private:
  template <class T>
  T value(T plain) {
    return plain;
  }
  StringId value(StringId id) {
    if (!id.valid()) return id;
    StringId& known = texts_[id.index()];
    if (!known.valid()) known = to_.strings.intern(from_.strings.get(id));
    return known;
  }
  OperandsId value(OperandsId id) {
    if (!id.valid()) return id;
    OperandsId& known = operands_[id.index()];
    if (!known.valid()) known = to_.operands.share(from_.operands, id);
    return known;
  }

  const Trace& from_;
  Trace& to_;
  std::vector<StringId> texts_;
  std::vector<OperandsId> operands_;
};

template <class Kind>
void copy_rows(const Kind& from, Kind& to, const Rows& rows, RowCopy& copy) {
  each_column([&](const auto& source, auto& target) { copy(source, target, rows); }, from, to);
}

/// Per thread the time in which a step made its calls.
struct ThreadSpan {
  TimePoint begin = TimePoint::max();
  TimePoint end = TimePoint::min();
};

std::vector<ThreadSpan> spans_of(const Trace& trace, const Links& links, const std::string& name,
                                 const Rows& calls) {
  std::vector<ThreadSpan> spans(trace.threads.size());
  for (const std::uint32_t c : calls) {
    ThreadSpan& span = spans[trace.calls.thread[c].index()];
    span.begin = std::min(span.begin, trace.calls.begin[c]);
    span.end = std::max(span.end, trace.calls.begin[c] + trace.calls.duration[c]);
  }
  const auto window = std::find_if(links.steps.begin(), links.steps.end(),
                                   [&](const StepWindow& w) { return w.name == name; });
  if (window == links.steps.end()) return spans;
  for (ThreadSpan& span : spans) {
    if (span.begin == TimePoint::max()) continue;
    span.begin = std::min(span.begin, window->begin);
    span.end = std::max(span.end, window->end);
  }
  return spans;
}

template <class Spans>
Rows rows_within(const Spans& rows, const std::vector<ThreadSpan>& spans) {
  Rows out;
  for (std::uint32_t i = 0; i < rows.size(); ++i) {
    if (!rows.thread[i].valid()) continue;
    const ThreadSpan& span = spans[rows.thread[i].index()];
    if (rows.begin[i] < span.end && rows.begin[i] + rows.duration[i] > span.begin) {
      out.push_back(i);
    }
  }
  return out;
}

/// Activities that no call of the trace names, as in kernel tables, keep their order in time.
Rows rows_of_works(const Plan& plan) {
  Rows rows;
  rows.reserve(plan.works.size());
  for (const DeviceWork& work : plan.works) rows.push_back(work.source);
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

Rows rows_of_items(const Plan& plan) {
  Rows rows;
  for (const HostItem& item : plan.items) {
    if (item.source != no_index) rows.push_back(item.source);
  }
  std::sort(rows.begin(), rows.end());
  rows.erase(std::unique(rows.begin(), rows.end()), rows.end());
  return rows;
}

/// Nodes of the step in the order of the program, and the operations that they come from.
Rows rows_of_nodes(const Plan& plan) {
  Rows rows;
  for (const HostItem& item : plan.items) {
    if (item.kind == ItemKind::node) rows.push_back(item.executed);
  }
  std::sort(rows.begin(), rows.end());
  return rows;
}

/// The operations of `nodes`, where a step has nodes; otherwise those around its calls.
Rows rows_of_ops(const Trace& trace, const Rows& nodes, const std::vector<ThreadSpan>& spans) {
  if (nodes.empty()) return rows_within(trace.ops, spans);
  Rows rows;
  for (const std::uint32_t node : nodes) rows.push_back(trace.nodes.op[node]);
  std::sort(rows.begin(), rows.end());
  return rows;
}

std::uint32_t position(const Rows& rows, std::uint32_t row) {
  return static_cast<std::uint32_t>(std::lower_bound(rows.begin(), rows.end(), row) - rows.begin());
}

}  // namespace

Step cut_step(const Trace& trace, const Links& links, StepPlan plan) {
  Step step;
  step.plan = std::move(plan.plan);
  step.name = std::move(plan.name);
  step.steps_used = plan.steps_used;
  const Rows calls = rows_of_items(step.plan);
  const Rows activities = rows_of_works(step.plan);
  const std::vector<ThreadSpan> spans = spans_of(trace, links, step.name, calls);

  Trace& out = step.trace;
  out.path = trace.path;
  out.format = trace.format;
  out.framework = trace.framework;
  out.origin_us = trace.origin_us;
  out.devices = trace.devices;
  out.distributed = trace.distributed;
  out.threads = trace.threads;
  out.streams = trace.streams;
  out.geometries = trace.geometries;
  out.collectives = trace.collectives;
  RowCopy copy(trace, out);
  const Rows nodes = rows_of_nodes(step.plan);
  const Rows ops = rows_of_ops(trace, nodes, spans);
  copy_rows(trace.ops, out.ops, ops, copy);
  copy_rows(trace.nodes, out.nodes, nodes, copy);
  for (std::uint32_t& op : out.nodes.op) op = position(ops, op);
  copy_rows(trace.calls, out.calls, calls, copy);
  copy_rows(trace.activities, out.activities, activities, copy);
  copy_rows(trace.annotations, out.annotations, rows_within(trace.annotations, spans), copy);
  copy_rows(trace.modules, out.modules, rows_within(trace.modules, spans), copy);

  for (HostItem& item : step.plan.items) {
    if (item.source != no_index) item.source = position(calls, item.source);
    if (item.executed != no_index) item.executed = position(nodes, item.executed);
  }
  for (DeviceWork& work : step.plan.works) {
    work.source = position(activities, work.source);
    out.activities.duration[work.source] = work.duration;
  }
  step.traced_activity = activities;
  step.links = link_trace(out);
  step.kernels = classify_kernels(out, step.links);
  return step;
}

double gpu_us(const Step& step) {
  double sum = 0;
  for (const DeviceWork& work : step.plan.works) sum += to_us(work.duration);
  return sum;
}

double works_us(const Step& step, std::span<const std::uint32_t> works) {
  double sum = 0;
  for (const std::uint32_t w : works) sum += to_us(step.plan.works[w].duration);
  return sum;
}

void retime_plan(Step& step) {
  for (DeviceWork& work : step.plan.works) {
    work.duration = step.trace.activities.duration[work.source];
  }
}

}  // namespace tandem
