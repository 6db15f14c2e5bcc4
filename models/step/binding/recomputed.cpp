#include "models/step/binding/recomputed.h"

#include <algorithm>
#include <vector>

namespace tandem {
namespace {

/// The part of the forward pass that one autograd node runs again.
struct Region {
  std::uint32_t node = no_row;     // row of the node
  std::vector<std::uint32_t> ops;  // of the flow, in order
};

class Regions {
 public:
  Regions(const Step& step, Dataflow& flow) : trace_(step.trace), flow_(flow) {}

  /// Of the flow, in the order in which they run.
  std::vector<Region> find() const {
    std::vector<Region> out;
    for (std::uint32_t i = 0; i < flow_.ops.size(); ++i) {
      const std::uint32_t node = node_around(flow_.ops[i]);
      if (node == no_row) continue;
      if (out.empty() || out.back().node != node) {
        out.push_back({node, {}});
      } else {
        add_between(out.back(), i);
      }
      out.back().ops.push_back(i);
    }
    return out;
  }

  /// Looks for the forward operations that a region repeats, the latest ones that begin before
  /// operation `end` of the flow. Returns where they begin, or `end` if there are none.
  std::uint32_t match(const Region& region, std::uint32_t end) {
    for (std::uint32_t first = end; first-- > 0;) {
      if (!alike(flow_.ops[first], flow_.ops[region.ops.front()])) continue;
      const auto originals = aligned(region, first, end);
      if (!enough(originals)) continue;
      const bool numbers_anew = is_reentrant(region);
      for (std::size_t k = 0; k < originals.size(); ++k) {
        if (originals[k] != no_row) repeat(region, k, originals[k], numbers_anew);
      }
      return first;
    }
    return end;
  }

 private:
  /// Recorded networks number no operation whose gradient computes nothing (a sum with a number):
  /// those that lie between others of a region run again as well.
  void add_between(Region& region, std::uint32_t end) const {
    for (std::uint32_t i = region.ops.back() + 1; i < end; ++i) {
      const std::uint32_t row = flow_.ops[i].op;
      const auto& shapes = operands_of(trace_, row).tensors.shapes;
      const bool of_network = std::any_of(shapes.begin(), shapes.end(),
                                          [](const TensorShape& s) { return s.memory.known(); });
      if (of_network && lies_within(flow_.nesting, row, region.node)) region.ops.push_back(i);
    }
  }

  bool is_node(std::uint32_t row) const {
    return has_engine_prefix(text_of(trace_, trace_.ops.name[row]));
  }

  /// The node right around an operation that notes a number of autograd of its own, as only what a
  /// gradient is asked of does; no_row: it belongs to the node.
  std::uint32_t node_around(const FlowOp& op) const {
    const std::int64_t own = own_number(op);
    if (own < 0) return no_row;
    for (std::uint32_t r = op.op; r != no_row; r = flow_.nesting.parent[r]) {
      // The node's own operation names the thread of the forward pass.
      if (!is_node(r) && trace_.ops.forward_thread[r] <= 0) continue;
      return trace_.ops.sequence[r] == own ? no_row : r;
    }
    return no_row;
  }

  bool alike(const FlowOp& a, const FlowOp& b) const {
    if (a.phase != FlowPhase::forward || a.row != b.row) return false;
    const auto &x = operands_of(trace_, a.op).tensors.shapes,
               &y = operands_of(trace_, b.op).tensors.shapes;
    return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](const auto& s, const auto& t) {
      return s.type == t.type && same_dims(s, t);
    });
  }

  /// The forward operation of each of the region's, from `first` up to `end`; no_row of those that
  /// have none (a state of the random numbers is read and written besides).
  std::vector<std::uint32_t> aligned(const Region& region, std::uint32_t first,
                                     std::uint32_t end) const {
    constexpr std::uint32_t most_skipped = 8;  // forward operations that do not run again
    std::vector<std::uint32_t> out;
    std::uint32_t next = first;
    for (const std::uint32_t i : region.ops) {
      const std::uint32_t last = std::min(next + most_skipped, end);
      std::uint32_t at = next;
      while (at < last && !alike(flow_.ops[at], flow_.ops[i])) ++at;
      out.push_back(at < last ? at : no_row);
      if (at < last) next = at + 1;
    }
    return out;
  }

  static bool enough(const std::vector<std::uint32_t>& originals) {
    constexpr double share = 0.9;
    const auto none = std::count(originals.begin(), originals.end(), no_row);
    return static_cast<double>(none) <= (1 - share) * static_cast<double>(originals.size());
  }

  /// A node that runs nodes of its own (checkpoints with use_reentrant) has numbered them anew.
  bool is_reentrant(const Region& region) const {
    for (std::uint32_t i = region.ops.back() + 1; i < flow_.ops.size(); ++i) {
      const FlowOp& op = flow_.ops[i];
      if (!lies_within(flow_.nesting, op.op, region.node)) return false;
      for (std::uint32_t r = op.op; r != region.node; r = flow_.nesting.parent[r]) {
        if (is_node(r)) return true;
      }
    }
    return false;
  }

  void repeat(const Region& region, std::size_t k, std::uint32_t original, bool numbers_anew) {
    FlowOp& again = flow_.ops[region.ops[k]];
    FlowOp& op = flow_.ops[original];
    again.repeats = original;
    again.makes = -1;
    again.root = below(region.node, again.op);
    again.sequence = numbers_anew ? own_number(again) : op.sequence;
    op.sequence = -1;
  }

  std::uint32_t below(std::uint32_t node, std::uint32_t row) const {
    while (flow_.nesting.parent[row] != node && flow_.nesting.parent[row] != no_row) {
      row = flow_.nesting.parent[row];
    }
    return row;
  }

  std::int64_t own_number(const FlowOp& op) const {
    std::uint32_t r = op.op;
    while (r != no_row && trace_.ops.sequence[r] < 0) r = flow_.nesting.parent[r];
    return r == no_row ? -1 : trace_.ops.sequence[r];
  }

  const Trace& trace_;
  Dataflow& flow_;
};

}  // namespace

void mark_recomputed(const Step& step, Dataflow& flow) {
  Regions regions(step, flow);
  // Each backward pass meets the parts of its forward pass from the last one on. What only adds up
  // gradients may lie in no node.
  std::uint32_t seen = 0, end = 0;
  bool forward = true;
  for (const Region& region : regions.find()) {
    const std::uint32_t begin = region.ops.front();
    for (; seen < begin; ++seen) {
      const FlowOp& op = flow.ops[seen];
      forward = op.phase == FlowPhase::forward && (forward || is_core(op.kind));
      if (forward) end = seen + 1;
    }
    end = regions.match(region, end);
  }
}

}  // namespace tandem
