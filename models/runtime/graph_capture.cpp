#include "models/runtime/graph_capture.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "models/runtime/graph_nodes.h"
#include "sim/core/copy_direction.h"
#include "sim/trace/named_spans.h"

namespace tandem {

namespace {

constexpr Named<GraphScope> scope_table[] = {
    {GraphScope::step, "step",
     "every stretch of the step in which the host waits for nothing, a graph each"},
    {GraphScope::forward_backward, "forward-backward",
     "forward and backward; updates and what follows stay as they are"},
    {GraphScope::forward_backward_only, "forward-backward-only",
     "the same of a step that ends with its backward pass: what follows is left out, as it is in "
     "recordings of such graphs"},
};

/// Where an item goes: into one of the graphs, past them all, or nowhere.
constexpr std::uint32_t stays = no_index;
constexpr std::uint32_t dropped = no_index - 1;

bool waits_for_device(const HostItem& item) {
  return item.wait != WaitFor::nothing && item.kind != ItemKind::graph_launch;
}

/// True for what a capture cannot take: waits for the device, and copies of pageable memory, which
/// PyTorch waits for and the driver stages through memory of its own.
bool interrupts(const Trace& trace, const Plan& step, const HostItem& item) {
  if (waits_for_device(item)) return !launches_kernel(trace, step, item);
  if (item.kind != ItemKind::launch) return false;
  const std::uint32_t act = step.works[item.first_work].source;
  return copies_pageable(trace.strings.get(trace.activities.name[act]));
}

/// Threads that launch nothing and that no other thread waits for or wakes, as those of a data
/// loader: their waits say nothing of the thread that captures.
std::vector<bool> bystanders(const Plan& step) {
  std::vector<bool> alone(step.threads.size(), true);
  alone[step.items.front().thread] = false;
  for (const HostItem& item : step.items) {
    if (item.work_count > 0) alone[item.thread] = false;
    if (item.after == no_index || step.items[item.after].thread == item.thread) continue;
    alone[item.thread] = alone[step.items[item.after].thread] = false;
  }
  return alone;
}

/// One past the last item that launches work of the backward pass, which has a thread of its own;
/// all items where there is none.
std::size_t end_of_scope(const Plan& step, GraphScope scope) {
  if (scope == GraphScope::step) return step.items.size();
  std::size_t end = 0;
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const HostItem& item = step.items[i];
    if (item.thread != step.items.front().thread && item.work_count > 0) end = i + 1;
  }
  return end == 0 ? step.items.size() : end;
}

/// Per item: whether the scope leaves it to the host, though it could be captured. An optimizer may
/// also stand between two backward passes, as those of adversarial networks do.
std::vector<bool> left_to_host(const Trace& trace, const Plan& step, GraphScope scope) {
  std::vector<bool> out(step.items.size(), false);
  if (scope != GraphScope::forward_backward) return out;
  const std::vector<HostSpan> updates = optimizer_spans(trace);
  const auto updating = [&](TimePoint time) {
    const auto after =
        std::upper_bound(updates.begin(), updates.end(), time,
                         [](TimePoint t, const HostSpan& update) { return t < update.begin; });
    return after != updates.begin() && time < std::prev(after)->end;
  };
  const std::size_t end = end_of_scope(step, scope);
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const std::uint32_t call = step.items[i].source;
    out[i] = i >= end || (call < trace.calls.size() && updating(trace.calls.begin[call]));
  }
  return out;
}

/// Per item: the stretch that it belongs to, counted from 0, or `stays` or `dropped`.
std::vector<std::uint32_t> stretches(const Trace& trace, const Plan& step, GraphScope scope) {
  const std::vector<bool> alone = bystanders(step);
  const std::vector<bool> left = left_to_host(trace, step, scope);
  const std::size_t end =
      scope == GraphScope::forward_backward_only ? end_of_scope(step, scope) : step.items.size();
  std::vector<std::uint32_t> of(step.items.size(), dropped);
  std::vector<std::uint32_t> works(1, 0);  // per stretch
  of[0] = stays;                           // the step's begin
  for (std::size_t i = 1; i < end; ++i) {
    const HostItem& item = step.items[i];
    of[i] = stays;
    if (alone[item.thread]) continue;
    if (left[i] || interrupts(trace, step, item)) {
      works.push_back(0);
    } else {
      of[i] = static_cast<std::uint32_t>(works.size() - 1);
      works.back() += item.work_count;
    }
  }
  for (std::uint32_t& stretch : of) {
    if (stretch < works.size() && works[stretch] == 0) stretch = stays;
  }
  return of;
}

/// The graph launch that stands for the item and those after it.
HostItem launch_from(const Plan& step, const HostItem& first) {
  HostItem launch;
  launch.kind = ItemKind::graph_launch;
  launch.thread = step.items.front().thread;
  launch.first_work = first.first_work;
  return launch;
}

/// Items with graphs in place of what they capture. A graph is launched after what stood before it
/// on any thread, and what follows waits for its launch.
std::vector<HostItem> with_graphs(const Plan& step, const std::vector<std::uint32_t>& stretch) {
  std::vector<HostItem> items;
  std::vector<std::uint32_t> moved(step.items.size(), 0);
  std::uint32_t open = stays;
  std::uint32_t launch = 0;  // of the open stretch
  for (std::size_t i = 0; i < step.items.size(); ++i) {
    const HostItem& item = step.items[i];
    if (stretch[i] == stays) {
      moved[i] = static_cast<std::uint32_t>(items.size());
      items.push_back(item);
      if (item.after != no_index) items.back().after = moved[item.after];
    } else if (stretch[i] != dropped) {
      if (stretch[i] != open) {
        open = stretch[i];
        launch = static_cast<std::uint32_t>(items.size());
        items.push_back(launch_from(step, item));
      }
      items[launch].work_count += item.work_count;
      moved[i] = launch;
    }
    if (stretch[i] == dropped || items.size() < 2) continue;
    HostItem& last = items.back();
    const HostItem& before = items[items.size() - 2];
    const bool graph = last.kind == ItemKind::graph_launch || before.kind == ItemKind::graph_launch;
    if (!graph || last.thread == before.thread || last.after != no_index) continue;
    last.after = static_cast<std::uint32_t>(items.size() - 2);
  }
  return items;
}

void count_pieces(const Plan& step, LossList& losses) {
  const std::vector<GraphPiece> pieces = graph_pieces(step);
  if (pieces.empty()) {
    losses.add("graph_captures_nothing", Severity::warning,
               "the step launches nothing that a graph could capture");
    return;
  }
  losses.add("graph_split_at_waits", Severity::info,
             "waits for the device inside the step, and copies that wait, stay eager between "
             "graphs of their own: the program has to be captured in as many pieces",
             static_cast<std::int64_t>(pieces.size() - 1));
}

/// Leaves out the works from `kept` on, with what names them: edges of earlier works and waits. The
/// work that waited for them starts without them.
void drop_works(std::uint32_t kept, Plan& step, LossList& losses) {
  std::int64_t cut = 0;
  std::vector<WorkEdge> edges;
  for (std::uint32_t w = 0; w < kept; ++w) {
    DeviceWork& work = step.works[w];
    const auto first = static_cast<std::uint32_t>(edges.size());
    for (std::uint32_t e = 0; e < work.edge_count; ++e) {
      const WorkEdge& edge = step.edges[work.first_edge + e];
      edge.work < kept ? edges.push_back(edge) : void(++cut);
    }
    work.first_edge = first;
    work.edge_count = static_cast<std::uint32_t>(edges.size()) - first;
  }
  for (HostItem& item : step.items) {
    if (item.wait != WaitFor::work || item.wait_work < kept) continue;
    item.wait = WaitFor::nothing;
    item.wait_work = no_index;
    ++cut;
  }
  step.works.resize(kept);
  step.edges = std::move(edges);
  losses.add("waits_for_dropped_work", Severity::warning,
             "waits for work that the graph's scope leaves out; they end at once", cut);
}

}  // namespace

std::span<const Named<GraphScope>> graph_scopes() { return scope_table; }

GraphScope parse_graph_scope(std::string_view text) {
  return parse_named(scope_table, text, "command line", "--graph-scope");
}

bool launches_kernel(const Trace& trace, const Plan& step, const HostItem& item) {
  if (item.kind != ItemKind::launch) return false;
  const std::uint32_t act = step.works[item.first_work].source;
  if (trace.activities.kind[act] == ActivityKind::kernel) return true;
  const std::string_view name = trace.strings.get(trace.activities.name[act]);
  return copy_direction(name) == CopyDirection::on_device;
}

void capture_graphs(const Trace& trace, const HostModel& host, GraphScope scope, Plan& step,
                    LossList& losses) {
  step.items = with_graphs(step, stretches(trace, step, scope));
  std::uint32_t works = 0;
  for (std::uint32_t i = 0; i < step.items.size(); ++i) {
    HostItem& item = step.items[i];
    if (item.kind == ItemKind::graph_launch) make_nodes(trace, host, item, step.works);
    for (std::uint32_t k = 0; k < item.work_count; ++k) step.works[item.first_work + k].item = i;
    works += item.work_count;
  }
  drop_works(works, step, losses);
  count_pieces(step, losses);
}

std::vector<GraphPiece> graph_pieces(const Plan& step) {
  std::vector<GraphPiece> pieces;
  for (std::uint32_t i = 0; i < step.items.size(); ++i) {
    const HostItem& item = step.items[i];
    if (item.kind == ItemKind::graph_launch) {
      pieces.push_back({i, {}});
    } else if (!pieces.empty() && (waits_for_device(item) || item.work_count > 0)) {
      pieces.back().apart.push_back(i);
    }
  }
  return pieces;
}

}  // namespace tandem
