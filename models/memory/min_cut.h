// Minimum cut of a graph with capacities, by augmenting along shortest paths (Dinic 1970).
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

namespace tandem {

class MinCut {
 public:
  static constexpr std::int64_t unlimited = std::numeric_limits<std::int64_t>::max() / 4;

  explicit MinCut(std::size_t nodes) : edges_of_(nodes) {}

  void add_edge(std::uint32_t from, std::uint32_t to, std::int64_t capacity);
  /// Whether each node is on the source's side of the cheapest cut that is nearest to the source.
  /// To be called once.
  std::vector<bool> source_side(std::uint32_t source, std::uint32_t sink);

 private:
  struct Edge {
    std::uint32_t to;
    std::int64_t left;  // of the capacity
  };
  bool find_levels(std::uint32_t source, std::uint32_t sink);
  bool augment(std::uint32_t source, std::uint32_t sink);

  std::vector<Edge> edges_;  // each with its reverse behind it
  std::vector<std::vector<std::uint32_t>> edges_of_;
  std::vector<std::int32_t> level_;  // steps from the source; -1: not reached
  std::vector<std::size_t> next_;    // edge of a node to try next
};

}  // namespace tandem
