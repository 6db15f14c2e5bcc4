#include "models/whatif/ranks/alone.h"

#include <algorithm>
#include <utility>

#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"
#include "models/whatif/edit/collectives.h"
#include "models/whatif/edit/step_edit.h"
#include "models/whatif/ranks/cut_graphs.h"
#include "sim/core/copy_direction.h"
#include "sim/trace/row_order.h"

namespace tandem {

namespace {

/// Per thread: times spent for the other ranks, by begin and apart from each other.
using SpansOfThread = std::vector<std::vector<HostSpan>>;

void merge(std::vector<HostSpan>& spans) {
  std::sort(spans.begin(), spans.end(),
            [](const HostSpan& a, const HostSpan& b) { return a.begin < b.begin; });
  std::vector<HostSpan> out;
  for (const HostSpan& span : spans) {
    if (out.empty() || out.back().end < span.begin) {
      out.push_back(span);
    } else {
      out.back().end = std::max(out.back().end, span.end);
    }
  }
  spans = std::move(out);
}

/// Operations between ranks. A gradient's hook runs to the end of the node that stored it.
SpansOfThread spans_of_operations(const Step& step, const OpNesting& nesting) {
  const Trace& trace = step.trace;
  OpRows rows(trace);
  SpansOfThread spans(trace.threads.size());
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    if (rows.of(op).kind != OpKind::collective || !trace.ops.thread[op].valid()) continue;
    TimePoint end = trace.ops.begin[op] + trace.ops.duration[op];
    if (runs_in_hook(trace, nesting, op)) {
      const std::uint32_t node = nesting.parent[op];
      end = trace.ops.begin[node] + trace.ops.duration[node];
    }
    spans[trace.ops.thread[op].index()].push_back({trace.ops.begin[op], end});
  }
  return spans;
}

bool normalises(const OpRow& row) {
  return row.kind == OpKind::batch_norm || row.kind == OpKind::batch_norm_backward;
}

/// Norms over the batches of all ranks: alone, nothing is left of them but the operations on the
/// batch itself (torch.nn.SyncBatchNorm then is a batch norm).
void add_shared_norms(const Step& step, const OpNesting& nesting, SpansOfThread& spans) {
  const Trace& trace = step.trace;
  OpRows rows(trace);
  std::vector<TimePoint> left(trace.ops.size(), TimePoint::min());  // of shared norms: seen up to
  for (std::uint32_t op = 0; op < trace.ops.size(); ++op) {
    const std::uint32_t norm = nesting.parent[op];
    if (norm == no_row || rows.of(op).kind != OpKind::collective || !normalises(rows.of(norm)))
      continue;
    left[norm] = trace.ops.begin[norm];
  }
  const auto add = [&](std::uint32_t norm, TimePoint end) {
    if (end > left[norm]) spans[trace.ops.thread[norm].index()].push_back({left[norm], end});
  };
  for (const std::uint32_t op : rows_by_begin(trace.ops)) {
    const std::uint32_t norm = nesting.parent[op];
    if (norm == no_row || left[norm] == TimePoint::min() || !normalises(rows.of(op))) continue;
    add(norm, trace.ops.begin[op]);
    left[norm] = trace.ops.begin[op] + trace.ops.duration[op];
  }
  for (std::uint32_t norm = 0; norm < left.size(); ++norm) {
    if (left[norm] != TimePoint::min()) add(norm, trace.ops.begin[norm] + trace.ops.duration[norm]);
  }
}

/// What the framework does where parameters are gathered and gradients scattered.
void add_sharding(const Trace& trace, SpansOfThread& spans) {
  const Annotations& notes = trace.annotations;
  for (std::size_t n = 0; n < notes.size(); ++n) {
    if (notes.mark[n] != AnnotationMark::sharding || !notes.thread[n].valid()) continue;
    spans[notes.thread[n].index()].push_back({notes.begin[n], notes.begin[n] + notes.duration[n]});
  }
}

/// Buffers that arrived are copied to where they belong, directly behind the broadcast.
void add_unpacking(const Step& step, SpansOfThread& spans) {
  const Trace& trace = step.trace;
  std::vector<TimePoint> since(trace.threads.size(), TimePoint::max());  // of the broadcast's end
  for (const HostItem& item : step.plan.items) {
    if (item.source == no_index || item.work_count == 0) continue;
    const std::size_t thread = trace.calls.thread[item.source].index();
    const std::uint32_t act = step.plan.works[item.first_work].source;
    const TimePoint end = trace.calls.begin[item.source] + trace.calls.duration[item.source];
    const Collective* const collective = collective_of(trace, act);
    const bool copies =
        trace.activities.kind[act] == ActivityKind::memcpy &&
        copy_direction(text_of(trace, trace.activities.name[act])) == CopyDirection::on_device;
    if (collective != nullptr && collective->kind == CollectiveKind::broadcast) {
      since[thread] = end;
    } else if (copies && since[thread] != TimePoint::max()) {
      spans[thread].push_back({since[thread], end});
    } else {
      since[thread] = TimePoint::max();
    }
  }
}

/// Alone, a compiled frame is one graph. The number of cuts that vanish.
std::int64_t add_cuts(const Step& step, const OpNesting& nesting, SpansOfThread& spans) {
  const CutSpans cuts = spans_of_cuts(step, nesting);
  for (std::size_t thread = 0; thread < spans.size(); ++thread) {
    spans[thread].insert(spans[thread].end(), cuts.of_thread[thread].begin(),
                         cuts.of_thread[thread].end());
  }
  return cuts.cuts;
}

/// Part of [begin, end) inside the spans, which stand by begin.
Duration inside(const std::vector<HostSpan>& spans, TimePoint begin, TimePoint end) {
  Duration sum{};
  auto it = std::partition_point(spans.begin(), spans.end(),
                                 [&](const HostSpan& s) { return s.end <= begin; });
  for (; it != spans.end() && it->begin < end; ++it) {
    sum += std::min(end, it->end) - std::max(begin, it->begin);
  }
  return sum;
}

/// Takes the time in the spans out of gaps and calls.
void drop_host_time(const SpansOfThread& spans, Step& step) {
  const RuntimeCalls& calls = step.trace.calls;
  std::vector<TimePoint> previous(spans.size(), TimePoint::min());
  for (HostItem& item : step.plan.items) {
    if (item.source == no_index) continue;
    const std::size_t thread = calls.thread[item.source].index();
    const TimePoint begin = calls.begin[item.source];
    const TimePoint end = begin + calls.duration[item.source];
    if (previous[thread] != TimePoint::min() && begin > previous[thread]) {
      const Duration spent = inside(spans[thread], previous[thread], begin);
      item.gap = scale(item.gap, 1 - to_us(spent) / to_us(begin - previous[thread]));
      item.input = std::min(item.input, item.gap);
    }
    if (inside(spans[thread], begin, end) > Duration::zero() && item.wait == WaitFor::nothing) {
      item.call = item.submit = Duration::zero();
    }
    previous[thread] = std::max(previous[thread], end);
  }
}

}  // namespace

Step without_collectives(Step step, double launch_call_us, AloneReport& report) {
  const OpNesting nesting = nest_ops(step.trace, step.links);
  SpansOfThread spans = spans_of_operations(step, nesting);
  add_shared_norms(step, nesting, spans);
  add_sharding(step.trace, spans);
  add_unpacking(step, spans);
  report.joined = add_cuts(step, nesting, spans);
  for (auto& thread : spans) merge(thread);
  drop_host_time(spans, step);
  std::vector<std::uint32_t> works;
  for (std::uint32_t w = 0; w < step.plan.works.size(); ++w) {
    const std::uint32_t act = step.plan.works[w].source;
    const std::uint32_t call = step.links.call_of_activity[act];
    const bool between_ranks =
        step.trace.activities.collective[act].valid() ||
        (call != no_row &&
         inside(spans[step.trace.calls.thread[call].index()], step.trace.calls.begin[call],
                step.trace.calls.begin[call] + step.trace.calls.duration[call]) > Duration::zero());
    if (between_ranks) works.push_back(w);
  }
  report.dropped = static_cast<std::int64_t>(works.size());
  StepEdit edit(std::move(step), launch_call_us);
  for (const std::uint32_t w : works) edit.drop(w);
  return std::move(edit).finish();
}

}  // namespace tandem
