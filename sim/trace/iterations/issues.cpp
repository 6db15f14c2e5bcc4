#include "sim/trace/iterations/issues.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "sim/trace/row_order.h"

namespace tandem {
namespace {

/// Numbers keys in the order in which they are first seen.
template <class Key>
class Numbering {
 public:
  std::uint32_t operator()(const Key& key) {
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, std::uint32_t> numbers_;
};

void append(TokenSequence& to, std::uint32_t token, bool essential) {
  to.token.push_back(token);
  if (token == to.essential.size()) to.essential.push_back(essential);
}

/// The stream with the most kernels: what it runs, it runs in the order of the launches.
std::size_t main_stream(const Trace& trace) {
  std::vector<std::size_t> kernels(trace.streams.size(), 0);
  for (std::size_t i = 0; i < trace.activities.size(); ++i) {
    if (trace.activities.kind[i] != ActivityKind::kernel) continue;
    ++kernels[trace.activities.stream[i].index()];
  }
  return static_cast<std::size_t>(std::max_element(kernels.begin(), kernels.end()) -
                                  kernels.begin());
}

bool any_launched(const Links& links) {
  return std::any_of(links.call_of_activity.begin(), links.call_of_activity.end(),
                     [](std::uint32_t call) { return call != no_row; });
}

Issue issue_of(const Trace& trace, const Links& links, std::uint32_t activity) {
  const std::uint32_t call = links.call_of_activity[activity];
  if (call == no_row) {
    const TimePoint begin = trace.activities.begin[activity];
    return {begin, begin + trace.activities.duration[activity], {}};
  }
  const TimePoint begin = trace.calls.begin[call];
  return {begin, begin + trace.calls.duration[call], trace.calls.thread[call]};
}

/// The activities `rows`; where launches are known, those without one were launched before the
/// trace began and belong to no iteration.
Issues issues_of_device(const Trace& trace, const Links& links, std::vector<std::uint32_t> rows) {
  const Activities& acts = trace.activities;
  if (any_launched(links)) {
    std::erase_if(rows, [&](std::uint32_t a) { return links.call_of_activity[a] == no_row; });
  }
  std::vector<std::pair<TimePoint, TimePoint>> order(acts.size());
  for (const std::uint32_t a : rows) {
    order[a] = {issue_of(trace, links, a).begin, acts.begin[a]};
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return order[a] < order[b]; });
  Issues out;
  Numbering<std::pair<std::uint32_t, std::uint32_t>> launches;
  Numbering<std::uint32_t> names;
  for (const std::uint32_t a : rows) {
    out.issue.push_back(issue_of(trace, links, a));
    const bool kernel = acts.kind[a] == ActivityKind::kernel;
    const std::uint32_t name = acts.name[a].value;
    append(out.by_launch, launches({name, acts.geometry[a].value}), kernel);
    append(out.by_name, names(name), kernel);
  }
  return out;
}

/// Of a runtime without a GPU: its nodes in the order in which the program enqueued them.
Issues issues_of_nodes(const Trace& trace) {
  const HostOps& ops = trace.ops;
  std::vector<std::uint32_t> rows(trace.nodes.op.begin(), trace.nodes.op.end());
  sort_by_begin(ops, rows);
  Issues out;
  Numbering<std::pair<std::uint32_t, std::uint32_t>> calls;
  Numbering<std::uint32_t> names;
  for (const std::uint32_t op : rows) {
    out.issue.push_back({ops.begin[op], ops.begin[op] + ops.duration[op], ops.thread[op]});
    append(out.by_launch, calls({ops.name[op].value, ops.operands[op].value}), true);
    append(out.by_name, names(ops.name[op].value), true);
  }
  return out;
}

}  // namespace

Issues issues_of(const Trace& trace, const Links& links) {
  if (trace.activities.size() == 0) return issues_of_nodes(trace);
  std::vector<std::uint32_t> rows(trace.activities.size());
  std::iota(rows.begin(), rows.end(), 0U);
  return issues_of_device(trace, links, std::move(rows));
}

std::optional<Issues> issues_of_main_stream(const Trace& trace, const Links& links) {
  if (trace.activities.size() == 0 || trace.streams.size() < 2) return {};
  const auto rows = links.activities_of_stream.of(main_stream(trace));
  return issues_of_device(trace, links, {rows.begin(), rows.end()});
}

std::vector<std::size_t> positions(const std::vector<Issue>& issues,
                                   const std::vector<TimePoint>& times) {
  std::vector<std::size_t> out;
  std::size_t at = 0;
  for (const TimePoint time : times) {
    while (at < issues.size() && issues[at].begin < time) ++at;
    out.push_back(at);
  }
  return out;
}

}  // namespace tandem
