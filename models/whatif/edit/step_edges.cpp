#include "models/whatif/edit/step_edges.h"

namespace tandem {

namespace {

bool same_stream(const Plan& old, std::uint32_t a, std::uint32_t b) {
  return old.works[a].stream == old.works[b].stream;
}

/// Edges that a work of the new plan gets, as numbered in the old one.
using Waiting = std::vector<std::vector<WorkEdge>>;

void add_edges(const Plan& old, std::uint32_t from, bool next_step, std::vector<WorkEdge>& to) {
  const DeviceWork& work = old.works[from];
  for (std::uint32_t e = work.first_edge; e < work.first_edge + work.edge_count; ++e) {
    to.push_back(old.edges[e]);
    if (next_step) to.back().previous_step = true;
  }
}

/// The edges of dropped work `w`, at the next work of its stream.
void hand_on(const Plan& old, const std::vector<WorkOrigin>& origins, const Plan& plan,
             std::uint32_t w, Waiting& waiting) {
  std::size_t heir = plan.works.size(), first = plan.works.size();
  for (std::size_t n = plan.works.size(); n-- > 0;) {
    if (!same_stream(old, origins[n].old_work, w)) continue;
    first = n;
    if (origins[n].old_work >= w) heir = n;
  }
  if (first == plan.works.size()) return;  // nothing of the stream is left
  const bool next_step = heir == plan.works.size();
  add_edges(old, w, next_step, waiting[next_step ? first : heir]);
}

}  // namespace

WorkEdge stand_in(const Plan& old, const std::vector<std::uint32_t>& new_work, std::uint32_t w) {
  if (w == no_index) return {};
  if (new_work[w] != no_index) return {.work = new_work[w]};
  const auto count = static_cast<std::uint32_t>(old.works.size());
  for (std::uint32_t back = 1; back < count; ++back) {
    const std::uint32_t p = (w + count - back) % count;
    if (same_stream(old, p, w) && new_work[p] != no_index) {
      return {.work = new_work[p], .previous_step = p > w};
    }
  }
  return {};
}

void move_edges(const Plan& old, const std::vector<std::uint32_t>& new_work,
                const std::vector<WorkOrigin>& origins, Plan& plan) {
  Waiting waiting(plan.works.size());
  for (std::size_t n = 0; n < plan.works.size(); ++n) {
    if (origins[n].takes_edges) add_edges(old, origins[n].old_work, false, waiting[n]);
  }
  for (std::uint32_t w = 0; w < old.works.size(); ++w) {
    if (new_work[w] == no_index && old.works[w].edge_count > 0) {
      hand_on(old, origins, plan, w, waiting);
    }
  }
  plan.edges.clear();
  for (std::size_t n = 0; n < plan.works.size(); ++n) {
    DeviceWork& work = plan.works[n];
    work.first_edge = static_cast<std::uint32_t>(plan.edges.size());
    for (WorkEdge edge : waiting[n]) {
      const WorkEdge awaited = stand_in(old, new_work, edge.work);
      edge.work = awaited.work;
      edge.previous_step = edge.previous_step || awaited.previous_step;
      if (edge.work == no_index || (edge.work == n && !edge.previous_step)) continue;
      plan.edges.push_back(edge);
    }
    work.edge_count = static_cast<std::uint32_t>(plan.edges.size()) - work.first_edge;
  }
}

}  // namespace tandem
