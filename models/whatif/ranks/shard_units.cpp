#include "models/whatif/ranks/shard_units.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "models/ops/op_table.h"
#include "models/whatif/edit/launch_order.h"
#include "models/whatif/edit/repeated_layers.h"

namespace tandem {

namespace {

constexpr std::int64_t behind_all = std::numeric_limits<std::int64_t>::max();

/// The first operation of each autograd number, forward, and of the node that has it, backward.
class Passes {
 public:
  explicit Passes(const Step& step) : trace_(step.trace), launches_(step) {
    for (std::uint32_t op = 0; op < trace_.ops.size(); ++op) {
      if (trace_.ops.sequence[op] < 0 || !trace_.ops.thread[op].valid()) continue;
      const std::string_view name = text_of(trace_, trace_.ops.name[op]);
      const bool node = has_engine_prefix(name) || is_backward_node(name);
      auto& first = node ? backward_ : forward_;
      const auto [it, fresh] = first.try_emplace(trace_.ops.sequence[op], op);
      if (!fresh && begin(op) < begin(it->second)) it->second = op;
    }
  }
  /// The first work of what has a number from `from` up to `to`.
  std::uint32_t forward_work(std::int64_t from = 0, std::int64_t to = behind_all) const {
    return work(earliest(forward_, from, to));
  }
  std::uint32_t backward_work(std::int64_t from = 0, std::int64_t to = behind_all) const {
    return work(earliest(backward_, from, to));
  }

 private:
  using Ops = std::map<std::int64_t, std::uint32_t>;

  TimePoint begin(std::uint32_t op) const { return trace_.ops.begin[op]; }
  std::uint32_t earliest(const Ops& ops, std::int64_t from, std::int64_t to) const {
    std::uint32_t out = no_row;
    for (auto it = ops.lower_bound(from); it != ops.end() && it->first < to; ++it) {
      if (out == no_row || begin(it->second) < begin(out)) out = it->second;
    }
    return out;
  }
  std::uint32_t work(std::uint32_t op) const {
    return op == no_row ? no_index : launches_.from(trace_.ops.thread[op], begin(op));
  }

  const Trace& trace_;
  LaunchOrder launches_;
  Ops forward_, backward_;
};

void add(const Gradient& gradient, int ranks, ShardUnit& unit) {
  // Parts are rows; a rank that has fewer of them than others keeps as many that are empty.
  const double rows = gradient.dims.empty() ? 1 : static_cast<double>(gradient.dims.front());
  const double part = std::ceil(rows / ranks);
  ++unit.parameters;
  unit.gradients =
      unit.gradients == no_index ? gradient.work : std::max(unit.gradients, gradient.work);
  unit.part_bytes += rows > 0 ? gradient.bytes / rows * part : 0;
}

/// Gradients in the order in which the forward pass first needs their parameters. Those of one node
/// come at once, in any order.
using Forward = std::vector<const Gradient*>;

Forward in_forward_order(const std::vector<Gradient>& gradients) {
  Forward out;
  for (const Gradient& gradient : gradients) out.push_back(&gradient);
  std::sort(out.begin(), out.end(), [](const Gradient* a, const Gradient* b) {
    return std::tie(a->node, a->dims) < std::tie(b->node, b->dims);
  });
  return out;
}

std::vector<ShardUnit> layers_of(const Forward& all, const LayerStack& stack, const Passes& passes,
                                 int ranks) {
  std::vector<ShardUnit> out;
  for (std::size_t k = 0; k < stack.count; ++k) {
    const std::size_t begin = stack.first + k * stack.period, end = begin + stack.period;
    const std::int64_t from = all[begin]->node;
    const std::int64_t to = end < all.size() ? all[end]->node : behind_all;
    ShardUnit& unit = out.emplace_back();
    for (std::size_t i = begin; i < end; ++i) add(*all[i], ranks, unit);
    unit.forward = passes.forward_work(from, to);
    unit.backward = passes.backward_work(from, to);
  }
  return out;
}

/// Whether the forward pass runs one layer behind the other, and the backward pass the other way.
bool in_order(const std::vector<ShardUnit>& layers, const Passes& passes) {
  std::uint32_t forward = 0, backward = passes.backward_work();
  for (const ShardUnit& layer : layers) {
    if (layer.forward == no_index || layer.backward == no_index) return false;
    if (layer.forward < forward || layer.forward >= backward) return false;
    forward = layer.forward + 1;
  }
  for (std::size_t k = layers.size(); k-- > 0;) {
    if (layers[k].backward < backward || layers[k].gradients < layers[k].backward) return false;
    backward = layers[k].gradients;
  }
  return true;
}

}  // namespace

ShardUnits shard_units(const Step& step, const std::vector<Gradient>& gradients, int ranks) {
  const Passes passes(step);
  const Forward all = in_forward_order(gradients);
  std::vector<std::vector<std::int64_t>> shapes;
  for (const Gradient* gradient : all) shapes.push_back(gradient->dims);
  ShardUnits out;
  std::vector<bool> in_layer(all.size(), false);
  for (const LayerStack& stack : repeated_layers(shapes)) {
    for (const ShardUnit& unit : layers_of(all, stack, passes, ranks)) out.layers.push_back(unit);
    std::fill_n(in_layer.begin() + static_cast<std::ptrdiff_t>(stack.first), stack.size(), true);
  }
  if (!in_order(out.layers, passes)) {
    out.layers.clear();
    in_layer.assign(all.size(), false);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!in_layer[i]) add(*all[i], ranks, out.root);
  }
  const std::uint32_t first = passes.forward_work();
  out.root.forward = first == no_index ? 0 : first;
  out.root.backward = passes.backward_work();
  out.root.gradients = gradients.back().work;
  return out;
}

}  // namespace tandem
