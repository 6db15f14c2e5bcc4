#include "sim/metrics/critical_path.h"

#include <algorithm>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <map>
#include <string>
#include <utility>

#include "sim/core/bounds/step_size.h"

namespace tandem {

namespace {

/// The begin of the target is no earlier than the end of the source + delay.
struct Dependency {
  PathKind kind = PathKind::host;
  Duration delay{};
};

using Graph =
    boost::compressed_sparse_row_graph<boost::bidirectionalS, boost::no_property, Dependency,
                                       boost::no_property, std::uint32_t, std::uint32_t>;

class GraphBuilder {
 public:
  GraphBuilder(const Plan& plan, const Timeline& timeline, std::size_t end_item,
               std::size_t end_work)
      : plan_(plan), timeline_(timeline), end_item_(end_item), end_work_(end_work) {}

  Graph build() {
    // Every item has one before it, all work a launch and work before it; few have more.
    ends_.reserve(end_item_ + 2 * end_work_ + plan_.edges.size());
    dependencies_.reserve(ends_.capacity());
    add_items();
    add_works();
    return Graph(boost::edges_are_unsorted_multi_pass, ends_.begin(), ends_.end(),
                 dependencies_.begin(), static_cast<std::uint32_t>(end_item_ + end_work_));
  }

 private:
  void add(std::size_t source, std::size_t target, PathKind kind, Duration delay) {
    ends_.emplace_back(static_cast<std::uint32_t>(source), static_cast<std::uint32_t>(target));
    dependencies_.push_back({kind, delay});
  }
  std::size_t work_vertex(std::uint32_t work) const { return end_item_ + work; }

  void add_items() {
    std::vector<std::uint32_t> previous(plan_.threads.size(), no_index);
    for (std::uint32_t i = 0; i < end_item_; ++i) {
      const HostItem& item = plan_.items[i];
      if (previous[item.thread] != no_index)
        add(previous[item.thread], i, PathKind::host, item.gap);
      if (item.after != no_index) {
        add(item.after, i, PathKind::host, item.own_gap ? item.wake : item.gap);
      }
      if (timeline_.item_slot[i] != no_index && timeline_.item_slot[i] < end_work_) {
        add(work_vertex(timeline_.item_slot[i]), i, PathKind::queue_full, item.call);
      }
      add_wait(i, item);
      previous[item.thread] = i;
    }
  }

  void add_wait(std::uint32_t i, const HostItem& item) {
    if (item.wait == WaitFor::work) {
      add(work_vertex(item.wait_work), i, PathKind::host_return, item.return_delay);
    } else if (item.wait == WaitFor::own_work) {
      add(work_vertex(item.first_work + item.work_count - 1), i, PathKind::host_return,
          item.return_delay);
    } else if (item.wait == WaitFor::all_work) {
      for (const auto& [stream, work] : last_submitted_) {
        add(work_vertex(work), i, PathKind::host_return, item.return_delay);
      }
    }
    for (std::uint32_t w = item.first_work; w < item.first_work + item.work_count; ++w) {
      last_submitted_[plan_.works[w].stream] = w;
    }
  }

  void add_works() {
    std::vector<std::uint32_t> previous(plan_.streams.size(), no_index);
    for (std::uint32_t w = 0; w < end_work_; ++w) {
      const DeviceWork& work = plan_.works[w];
      const std::size_t v = work_vertex(w);
      if (work.item != no_index && work.item < end_item_) {
        add(work.item, v, PathKind::launch_latency, work.latency);
      }
      if (previous[work.stream] != no_index) {
        const TimePoint free = timeline_.work_end[previous[work.stream]];
        const TimePoint arrival = work.item == no_index ? free : timeline_.item_submit[work.item];
        add(work_vertex(previous[work.stream]), v, PathKind::device_gap,
            gap_of(work, free, arrival));
      }
      for (std::uint32_t e = 0; e < work.edge_count; ++e) {
        const WorkEdge& edge = plan_.edges[work.first_edge + e];
        add(work_vertex(edge.work), v, PathKind::stream_wait, edge.delay);
      }
      previous[work.stream] = w;
    }
  }

  const Plan& plan_;
  const Timeline& timeline_;
  std::size_t end_item_;
  std::size_t end_work_;
  std::map<std::uint16_t, std::uint32_t> last_submitted_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> ends_;
  std::vector<Dependency> dependencies_;
};

/// Walks the graph from late to early.
class Walk {
 public:
  Walk(const Plan& plan, const Timeline& timeline, const Graph& graph, std::size_t items)
      : plan_(plan), timeline_(timeline), graph_(graph), items_(items) {}

  std::vector<PathLink> back(std::size_t vertex, TimePoint from) {
    TimePoint at = end_of(vertex);
    bool submitted = false;  // reached through its submission: how the call returned is no matter
    while (at > from) {
      const auto [found, source, kind] = binding(vertex, submitted);
      const bool waited = kind == PathKind::host_return || kind == PathKind::queue_full;
      if (!found || !waited) {
        // A negative gap longer than the predecessor: that one began after its successor.
        const TimePoint begin = std::min(at, begin_of(vertex));
        emit(vertex < items_ ? PathKind::call : PathKind::work, vertex, begin, at, from);
        at = begin;
      }
      if (!found) break;
      const TimePoint source_end = leaves(source, kind);
      // What lies between a source and its dependant belongs to the dependant.
      emit(kind, vertex, source_end, at, from);
      at = std::min(at, source_end);
      vertex = source;
      submitted = kind == PathKind::launch_latency;
    }
    std::reverse(links_.begin(), links_.end());
    return std::move(links_);
  }

 private:
  struct Binding {
    bool found;
    std::size_t source;
    PathKind kind;
  };
  bool is_item(std::size_t v) const { return v < items_; }
  TimePoint begin_of(std::size_t v) const {
    return is_item(v) ? timeline_.item_begin[v] : timeline_.work_begin[v - items_];
  }
  TimePoint end_of(std::size_t v) const {
    return is_item(v) ? timeline_.item_end[v] : timeline_.work_end[v - items_];
  }
  std::uint32_t node_of(std::size_t v) const {
    return is_item(v) ? plan_.items[v].executed : no_index;
  }
  std::uint32_t row_of(std::size_t v) const {
    return is_item(v) ? plan_.items[v].source : plan_.works[v - items_].source;
  }
  /// When the source lets its dependant go: a launch at submission, everything else at its end.
  TimePoint leaves(std::size_t source, PathKind kind) const {
    return kind == PathKind::launch_latency ? timeline_.item_submit[source] : end_of(source);
  }
  /// The dependency that decided when the vertex began or returned: the latest one.
  Binding binding(std::size_t v, bool submitted) const {
    Binding best{false, 0, PathKind::host};
    TimePoint latest = TimePoint::min();
    const auto [first, last] = boost::in_edges(static_cast<std::uint32_t>(v), graph_);
    for (auto it = first; it != last; ++it) {
      const Dependency& d = graph_[*it];
      if (submitted && d.kind == PathKind::host_return) continue;
      const std::size_t source = boost::source(*it, graph_);
      TimePoint allowed = leaves(source, d.kind) + d.delay;
      const bool ends_call = d.kind == PathKind::host_return || d.kind == PathKind::queue_full;
      if (!ends_call && is_item(v)) allowed += plan_.items[v].call;
      // An edge to work that began too late to count did not hold anything.
      if (allowed <= latest || allowed > (is_item(v) ? end_of(v) : begin_of(v))) continue;
      latest = allowed;
      best = {true, source, d.kind};
    }
    return best;
  }
  void emit(PathKind kind, std::size_t v, TimePoint begin, TimePoint end, TimePoint from) {
    begin = std::max(begin, from);
    if (end > begin) links_.push_back({kind, row_of(v), begin, end, node_of(v)});
  }

  const Plan& plan_;
  const Timeline& timeline_;
  const Graph& graph_;
  std::size_t items_;
  std::vector<PathLink> links_;
};

}  // namespace

std::string_view to_string(PathKind kind) {
  switch (kind) {
    case PathKind::host: return "host";
    case PathKind::call: return "call";
    case PathKind::work: return "kernel";
    case PathKind::launch_latency: return "launch_latency";
    case PathKind::device_gap: return "device_gap";
    case PathKind::stream_wait: return "stream_wait";
    case PathKind::queue_full: return "queue_full";
    case PathKind::host_return: return "host_return";
  }
  return "unknown";
}

bool of_device(PathKind kind) { return of_gpu(kind) || kind == PathKind::launch_latency; }

bool of_gpu(PathKind kind) {
  return kind == PathKind::work || kind == PathKind::device_gap || kind == PathKind::stream_wait;
}

std::string link_name(const Trace& trace, std::span<const std::string_view> op_of_call,
                      const PathLink& link) {
  if (link.executed != no_index && link.row == no_index) {
    const std::string op(trace.strings.get(trace.ops.name[trace.nodes.op[link.executed]]));
    return link.kind == PathKind::call ? op : "before " + op;
  }
  switch (link.kind) {
    case PathKind::host: {
      const std::string_view op = link.row == no_index ? std::string_view{} : op_of_call[link.row];
      return op.empty() ? "(Python, between operations)" : "in or before " + std::string(op);
    }
    case PathKind::call:
    case PathKind::queue_full:
    case PathKind::host_return:
      return link.row == no_index ? "(synchronize)"
                                  : std::string(trace.strings.get(trace.calls.name[link.row]));
    case PathKind::work: return std::string(trace.strings.get(trace.activities.name[link.row]));
    default: return "(between device work)";
  }
}

std::vector<PathLink> critical_path(const Plan& plan, const Timeline& timeline, TimePoint from,
                                    std::size_t end_item, std::size_t end_work) {
  const Graph graph = GraphBuilder(plan, timeline, end_item, end_work).build();
  std::size_t last = 0;
  TimePoint latest = TimePoint::min();
  for (std::size_t v = 0; v < end_item + end_work; ++v) {
    const TimePoint end = v < end_item ? timeline.item_end[v] : timeline.work_end[v - end_item];
    if (end < latest) continue;
    latest = end;
    last = v;
  }
  return Walk(plan, timeline, graph, end_item).back(last, from);
}

namespace {

/// The least of very many become one of each kind.
void fold_rest(std::vector<PathShare>& shares) {
  if (shares.size() <= limits::listed_names) return;
  std::map<PathKind, std::pair<std::size_t, PathShare>> rest;
  for (std::size_t i = limits::listed_names; i < shares.size(); ++i) {
    auto& [names, sum] = rest[shares[i].kind];
    ++names;
    sum.kind = shares[i].kind;
    sum.count += shares[i].count;
    sum.time_us += shares[i].time_us;
    sum.share += shares[i].share;
  }
  shares.resize(limits::listed_names);
  for (auto& [kind, one] : rest) {
    one.second.name = "(" + std::to_string(one.first) + " others)";
    shares.push_back(std::move(one.second));
  }
}

}  // namespace

std::vector<PathShare> summarize_path(const Trace& trace,
                                      std::span<const std::string_view> op_of_call,
                                      const std::vector<PathLink>& links) {
  std::map<std::pair<PathKind, std::string>, std::pair<std::int64_t, Duration>> sums;
  Duration total{};
  for (const PathLink& link : links) {
    auto& [count, time] = sums[{link.kind, link_name(trace, op_of_call, link)}];
    ++count;
    time += link.end - link.begin;
    total += link.end - link.begin;
  }
  std::vector<PathShare> shares;
  shares.reserve(sums.size());
  for (const auto& [key, sum] : sums) {
    shares.push_back(
        {key.first, key.second, sum.first, to_us(sum.second), to_us(sum.second) / to_us(total)});
  }
  std::stable_sort(shares.begin(), shares.end(),
                   [](const PathShare& a, const PathShare& b) { return a.time_us > b.time_us; });
  fold_rest(shares);
  return shares;
}

namespace {

/// What the links of a part have in common; texts of the trace and of `names`.
struct PartKey {
  PathKind kind;
  std::string_view op, layer, name;
  auto operator<=>(const PartKey&) const = default;
};

PartKey part_of(const Trace& trace, const WorkNames& names, const PathLink& link) {
  PartKey part{link.kind, {}, {}, {}};
  if (link.executed != no_index) {
    part.op = trace.strings.get(trace.ops.name[trace.nodes.op[link.executed]]);
  }
  if (link.row == no_index) return part;
  if (of_device(link.kind)) {
    if (!names.op.empty()) part.op = names.op[link.row];
    if (!names.layer.empty()) part.layer = names.layer[link.row];
    if (link.kind == PathKind::work) part.name = trace.strings.get(trace.activities.name[link.row]);
    return part;
  }
  if (part.op.empty() && !names.op_of_call.empty()) part.op = names.op_of_call[link.row];
  if (link.kind != PathKind::host) part.name = trace.strings.get(trace.calls.name[link.row]);
  return part;
}

using PartSums = std::map<PartKey, std::pair<std::int64_t, Duration>>;

/// Of very many parts the least lose their names.
void fold_rest(PartSums& sums) {
  if (sums.size() <= limits::listed_names) return;
  std::vector<PartSums::iterator> order;
  for (auto it = sums.begin(); it != sums.end(); ++it) order.push_back(it);
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a->second.second > b->second.second;
  });
  for (std::size_t i = limits::listed_names; i < order.size(); ++i) {
    const auto [key, sum] = *order[i];
    sums.erase(order[i]);
    auto& [count, time] = sums[PartKey{key.kind, {}, {}, {}}];
    count += sum.first;
    time += sum.second;
  }
}

}  // namespace

std::vector<StepPart> step_parts(const Trace& trace, const WorkNames& names,
                                 const std::vector<PathLink>& links) {
  PartSums sums;
  for (const PathLink& link : links) {
    auto& [count, time] = sums[part_of(trace, names, link)];
    ++count;
    time += link.end - link.begin;
  }
  fold_rest(sums);
  std::vector<StepPart> parts;
  parts.reserve(sums.size());
  for (const auto& [key, sum] : sums) {
    parts.push_back({key.kind, std::string(key.op), std::string(key.layer), std::string(key.name),
                     sum.first, sum.second});
  }
  return parts;
}

}  // namespace tandem
