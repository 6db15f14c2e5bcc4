#include "sim/trace/links.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "sim/trace/row_order.h"

namespace tandem {

namespace {

template <class Less>
std::vector<std::uint32_t> sorted_rows(std::size_t n, Less less) {
  std::vector<std::uint32_t> rows(n);
  std::iota(rows.begin(), rows.end(), 0U);
  if (!std::is_sorted(rows.begin(), rows.end(), less))
    std::stable_sort(rows.begin(), rows.end(), less);
  return rows;
}

/// Groups `ordered` rows by owner(row), keeping their order; rows without owner are left out.
template <class Owner>
RowLists group(const std::vector<std::uint32_t>& ordered, std::size_t owners, Owner owner) {
  RowLists lists;
  lists.first.assign(owners + 1, 0);
  for (const std::uint32_t row : ordered) {
    if (owner(row) != no_row) ++lists.first[owner(row) + 1];
  }
  std::partial_sum(lists.first.begin(), lists.first.end(), lists.first.begin());
  lists.rows.resize(lists.first.back());
  std::vector<std::uint32_t> next(lists.first.begin(), lists.first.end() - 1);
  for (const std::uint32_t row : ordered) {
    if (owner(row) != no_row) lists.rows[next[owner(row)]++] = row;
  }
  return lists;
}

bool enqueues_work(ApiKind api) {
  switch (api) {
    case ApiKind::launch_kernel:
    case ApiKind::launch_graph:
    case ApiKind::memcpy_async:
    case ApiKind::memcpy_blocking:
    case ApiKind::memset: return true;
    default: return false;
  }
}

/// Merge join over both sides sorted by correlation. Where several calls carry one id, those that
/// enqueue work win, and of them the last one that begins before the activity.
std::vector<std::uint32_t> join_by_correlation(const Trace& trace, LossList& losses) {
  const RuntimeCalls& calls = trace.calls;
  const Activities& acts = trace.activities;
  const auto call_rows = sorted_rows(calls.size(), [&](std::uint32_t a, std::uint32_t b) {
    if (calls.correlation[a] != calls.correlation[b]) {
      return calls.correlation[a] < calls.correlation[b];
    }
    const bool enqueues = enqueues_work(calls.api[a]);
    return enqueues != enqueues_work(calls.api[b]) ? enqueues : calls.begin[a] < calls.begin[b];
  });
  const auto act_rows = sorted_rows(acts.size(), [&](std::uint32_t a, std::uint32_t b) {
    return acts.correlation[a] < acts.correlation[b];
  });
  std::vector<std::uint32_t> call_of(acts.size(), no_row);
  auto first = call_rows.begin();  // the calls that may have launched the activity
  auto last = first;
  for (const std::uint32_t act : act_rows) {
    const std::int64_t id = acts.correlation[act];
    if (id < 0) continue;
    if (last == first || calls.correlation[*first] != id) {
      first = std::find_if(last, call_rows.end(),
                           [&](std::uint32_t call) { return calls.correlation[call] >= id; });
      last = std::find_if(first, call_rows.end(), [&](std::uint32_t call) {
        return calls.correlation[call] != id ||
               enqueues_work(calls.api[call]) != enqueues_work(calls.api[*first]);
      });
    }
    if (last == first) continue;
    const auto after =
        std::upper_bound(first, last, acts.begin[act],
                         [&](TimePoint t, std::uint32_t call) { return t < calls.begin[call]; });
    call_of[act] = after == first ? *first : *std::prev(after);
  }
  std::int64_t duplicates = 0;
  for (std::size_t i = 1; i < call_rows.size(); ++i) {
    const std::uint32_t a = call_rows[i - 1];
    const std::uint32_t b = call_rows[i];
    if (calls.correlation[a] >= 0 && calls.correlation[a] == calls.correlation[b] &&
        enqueues_work(calls.api[a]) && enqueues_work(calls.api[b])) {
      ++duplicates;
    }
  }
  losses.add(
      "duplicate_correlation", Severity::warning,
      "several launching calls carry one correlation id; each activity was given to the last "
      "of them that begins before it",
      duplicates);
  return call_of;
}

std::vector<StepWindow> find_steps(const Trace& trace) {
  const Annotations& notes = trace.annotations;
  std::vector<StepWindow> steps;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (notes.step[i] < 0) continue;
    steps.push_back({std::string(trace.strings.get(notes.name[i])), notes.begin[i],
                     notes.begin[i] + notes.duration[i], notes.thread[i]});
  }
  std::stable_sort(steps.begin(), steps.end(),
                   [](const StepWindow& a, const StepWindow& b) { return a.begin < b.begin; });
  return steps;
}

/// The whole trace as one step, on the thread that launches, or enqueues a node, first.
StepWindow whole_trace(const Trace& trace, const Links& links) {
  TimePoint begin = TimePoint::max();
  TimePoint end = TimePoint::min();
  const auto cover = [&](const auto& rows) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      begin = std::min(begin, rows.begin[i]);
      end = std::max(end, rows.begin[i] + rows.duration[i]);
    }
  };
  cover(trace.calls);
  cover(trace.ops);
  cover(trace.activities);
  cover(trace.nodes);
  ThreadId thread{};
  if (trace.nodes.size() > 0) thread = trace.ops.thread[trace.nodes.op[0]];
  if (!links.calls_in_order.empty()) thread = trace.calls.thread[links.calls_in_order.front()];
  return {"whole trace", begin, end, thread};
}

/// Streams are in order, so overlaps are errors of the clock or of the stream number. Programmatic
/// launches overlap by a few microseconds.
void count_overlaps(const Trace& trace, Links& links) {
  constexpr Duration tolerance = microseconds(5);
  const Activities& acts = trace.activities;
  std::int64_t overlaps = 0;
  for (std::size_t row = 0; row < acts.size(); ++row) {
    const std::uint32_t before = links.stream_predecessor[row];
    if (before == no_row) continue;
    overlaps += acts.begin[row] + tolerance < acts.begin[before] + acts.duration[before];
  }
  links.losses.add("overlapping_on_stream", Severity::warning,
                   "device work that begins more than 5 us before the previous work of its stream "
                   "ends; the re-simulation runs it afterwards",
                   overlaps);
}

/// The last node of a call's thread that had begun when the call did, if it had not ended.
std::vector<std::uint32_t> nodes_of_calls(const Trace& trace) {
  const ExecutorNodes& nodes = trace.nodes;
  if (nodes.size() == 0) return {};
  const RowLists of_thread = group(rows_by_begin(nodes), trace.threads.size(),
                                   [&](std::uint32_t node) { return nodes.thread[node].value; });
  std::vector<std::uint32_t> out(trace.calls.size(), no_row);
  for (std::uint32_t call = 0; call < trace.calls.size(); ++call) {
    const auto rows = of_thread.of(trace.calls.thread[call].index());
    const TimePoint begin = trace.calls.begin[call];
    const auto after = std::upper_bound(
        rows.begin(), rows.end(), begin,
        [&](TimePoint time, std::uint32_t node) { return time < nodes.begin[node]; });
    if (after == rows.begin()) continue;
    const std::uint32_t node = *std::prev(after);
    if (begin < nodes.begin[node] + nodes.duration[node]) out[call] = node;
  }
  return out;
}

/// A trace of the device alone has no launches at all. Else a little work may have been launched
/// before the window opened; of more the correlation is broken.
void count_orphans(const Trace& trace, Links& links) {
  constexpr double usual_share = 0.01;  // of the device's time
  std::int64_t orphans = 0;
  Duration orphaned{}, all{};
  for (std::uint32_t row = 0; row < trace.activities.size(); ++row) {
    const Duration duration = trace.activities.duration[row];
    all += duration;
    if (links.call_of_activity[row] != no_row) continue;
    ++orphans;
    orphaned += duration;
  }
  const bool broken = trace.calls.size() > 0 && to_us(orphaned) > usual_share * to_us(all);
  links.losses.add("activity_without_launch", broken ? Severity::warning : Severity::info,
                   "device work whose launch is not in the trace (usually launched before the "
                   "window opened): it runs when it was traced, whatever the host does",
                   orphans);
}

void count_unmatched(const Trace& trace, Links& links) {
  count_orphans(trace, links);
  std::int64_t idle_launches = 0;
  for (const std::uint32_t call : links.calls_in_order) {
    const bool launches = trace.calls.api[call] == ApiKind::launch_kernel ||
                          trace.calls.api[call] == ApiKind::launch_graph;
    idle_launches += launches && links.activities_of_call.of(call).empty();
  }
  links.losses.add(
      "launch_without_kernel", Severity::warning,
      "kernel launches of which no kernel of the trace states the correlation; kept as "
      "host time only",
      idle_launches);
}

}  // namespace

bool is_graph_node(const Trace& trace, const Links& links, std::uint32_t activity) {
  const std::uint32_t call = links.call_of_activity[activity];
  return call != no_row && trace.calls.api[call] == ApiKind::launch_graph;
}

Links link_trace(const Trace& trace) {
  const RuntimeCalls& calls = trace.calls;
  const Activities& acts = trace.activities;
  if (acts.size() == 0 && trace.nodes.size() == 0) {
    throw InputError(trace.path, "", "a trace without device activity (kernel, memcpy, memset)",
                     "at least one GPU activity; record with ProfilerActivity.CUDA");
  }
  Links links;
  links.call_of_activity = join_by_correlation(trace, links.losses);
  const std::vector<std::uint32_t> acts_by_begin = rows_by_begin(acts);
  links.activities_of_call = group(acts_by_begin, calls.size(),
                                   [&](std::uint32_t a) { return links.call_of_activity[a]; });
  links.activities_of_stream = group(acts_by_begin, trace.streams.size(),
                                     [&](std::uint32_t a) { return acts.stream[a].value; });
  links.stream_predecessor.assign(acts.size(), no_row);
  for (std::size_t s = 0; s < trace.streams.size(); ++s) {
    const auto rows = links.activities_of_stream.of(s);
    for (std::size_t i = 1; i < rows.size(); ++i) links.stream_predecessor[rows[i]] = rows[i - 1];
  }
  for (std::uint32_t row = 0; row < calls.size(); ++row) {
    // A call that owns device work is a launch, whatever its name.
    const bool owns_work = !links.activities_of_call.of(row).empty();
    if (calls.api[row] != ApiKind::other || owns_work) links.calls_in_order.push_back(row);
  }
  sort_by_begin(calls, links.calls_in_order);
  links.node_of_call = nodes_of_calls(trace);
  links.steps = find_steps(trace);
  if (links.steps.empty()) {
    links.steps.push_back(whole_trace(trace, links));
    links.steps_by = StepsBy::nothing;
  }
  count_overlaps(trace, links);
  count_unmatched(trace, links);
  return links;
}

}  // namespace tandem
