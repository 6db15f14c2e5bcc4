#include "models/memory/min_cut.h"

#include <algorithm>

namespace tandem {

void MinCut::add_edge(std::uint32_t from, std::uint32_t to, std::int64_t capacity) {
  edges_of_[from].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({to, capacity});
  edges_of_[to].push_back(static_cast<std::uint32_t>(edges_.size()));
  edges_.push_back({from, 0});
}

bool MinCut::find_levels(std::uint32_t source, std::uint32_t sink) {
  level_.assign(edges_of_.size(), -1);
  level_[source] = 0;
  std::vector<std::uint32_t> queue{source};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const std::uint32_t e : edges_of_[queue[i]]) {
      if (edges_[e].left <= 0 || level_[edges_[e].to] >= 0) continue;
      level_[edges_[e].to] = level_[queue[i]] + 1;
      queue.push_back(edges_[e].to);
    }
  }
  return level_[sink] >= 0;
}

/// One path of the level graph; a node whose edges are all tried is given up for this round.
bool MinCut::augment(std::uint32_t source, std::uint32_t sink) {
  std::vector<std::uint32_t> path;
  std::uint32_t at = source;
  while (at != sink) {
    const auto& out = edges_of_[at];
    std::size_t& next = next_[at];
    while (next < out.size() &&
           (edges_[out[next]].left <= 0 || level_[edges_[out[next]].to] != level_[at] + 1)) {
      ++next;
    }
    if (next < out.size()) {
      path.push_back(out[next]);
      at = edges_[out[next]].to;
    } else {
      if (path.empty()) return false;
      at = edges_[path.back() ^ 1U].to;
      ++next_[at];
      path.pop_back();
    }
  }
  std::int64_t flow = unlimited;
  for (const std::uint32_t e : path) flow = std::min(flow, edges_[e].left);
  for (const std::uint32_t e : path) {
    edges_[e].left -= flow;
    edges_[e ^ 1U].left += flow;
  }
  return true;
}

std::vector<bool> MinCut::source_side(std::uint32_t source, std::uint32_t sink) {
  while (find_levels(source, sink)) {
    next_.assign(edges_of_.size(), 0);
    while (augment(source, sink)) {
    }
  }
  std::vector<bool> side(edges_of_.size());
  for (std::size_t n = 0; n < side.size(); ++n) side[n] = level_[n] >= 0;
  return side;
}

}  // namespace tandem
