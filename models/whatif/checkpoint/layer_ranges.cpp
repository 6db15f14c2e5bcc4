#include "models/whatif/checkpoint/layer_ranges.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "models/whatif/edit/gradients.h"
#include "models/whatif/edit/repeated_layers.h"

namespace tandem {

namespace {

/// Operations of one forward pass, [begin, end) of the flow.
struct ForwardPass {
  std::uint32_t begin = 0, end = 0;
  std::int64_t first_number = 0, last_number = 0;  // of autograd
};

std::vector<ForwardPass> forward_passes(const Dataflow& flow) {
  std::vector<ForwardPass> out(flow.passes(), {no_row, 0, -1, -1});
  for (std::uint32_t i = 0; i < flow.ops.size(); ++i) {
    const FlowOp& op = flow.ops[i];
    if (op.phase != FlowPhase::forward) continue;
    ForwardPass& pass = out[op.pass];
    pass.begin = std::min(pass.begin, i);
    pass.end = i + 1;
    if (op.sequence < 0) continue;
    if (pass.first_number < 0) pass.first_number = op.sequence;
    pass.last_number = std::max(pass.last_number, op.sequence);
  }
  std::erase_if(out, [](const ForwardPass& pass) { return pass.begin == no_row; });
  return out;
}

/// How many tensors that the layer before made lie across a moment, to be read in the layer behind
/// it: what all layers share (masks, positions) was made or is read further away.
class Crossings {
 public:
  Crossings(const Dataflow& flow, const ForwardPass& pass)
      : flow_(flow), last_reader_(flow.tensors.size(), 0) {
    for (std::uint32_t i = pass.begin; i < pass.end; ++i) {
      for (const FlowUse& use : flow.inputs_of(flow.ops[i])) last_reader_[use.tensor] = i;
    }
  }
  std::size_t at(std::uint32_t moment, std::uint32_t period) const {
    const std::uint32_t from = moment - std::min(moment, period), until = moment + period;
    std::size_t count = 0;
    for (std::uint32_t i = from; i < moment; ++i) {
      for (const std::uint32_t t : flow_.outputs_of(flow_.ops[i])) {
        count += last_reader_[t] >= moment && last_reader_[t] < until;
      }
    }
    return count;
  }

 private:
  const Dataflow& flow_;
  std::vector<std::uint32_t> last_reader_;  // in the forward pass
};

/// Gradients in the order in which the forward pass first needs their parameters.
std::vector<Gradient> in_forward_order(std::vector<Gradient> gradients, const ForwardPass& pass) {
  std::erase_if(gradients, [&](const Gradient& g) {
    return g.node < pass.first_number || g.node > pass.last_number;
  });
  std::stable_sort(gradients.begin(), gradients.end(), [](const Gradient& a, const Gradient& b) {
    return std::tie(a.node, a.dims) < std::tie(b.node, b.dims);
  });
  return gradients;
}

class Stacks {
 public:
  Stacks(const Step& step, const Dataflow& flow, const ForwardPass& pass,
         std::vector<Gradient> gradients)
      : trace_(step.trace),
        flow_(flow),
        pass_(pass),
        crossings_(flow, pass),
        parameters_(in_forward_order(std::move(gradients), pass)) {}

  void find(LayerRanges& out) {
    std::vector<std::vector<std::int64_t>> shapes;
    for (const Gradient& g : parameters_) shapes.push_back(g.dims);
    std::vector<LayerRange> found;
    for (const LayerStack& stack : repeated_blocks(shapes)) {
      for (const LayerRange& layer : layers_of(stack)) {
        const bool behind = found.empty() || layer.first >= found.back().end;
        if (layer.first < layer.end && behind) found.push_back(layer);
      }
    }
    out.unlike += weights_between(found);
    out.layers.insert(out.layers.end(), found.begin(), found.end());
  }

 private:
  /// The first operation that needs parameter `p`, or the end of the pass.
  std::uint32_t first_need(std::size_t p) const {
    std::uint32_t i = pass_.begin;
    if (p >= parameters_.size()) return pass_.end;
    while (i < pass_.end && flow_.ops[i].sequence < parameters_[p].node) ++i;
    return i;
  }
  /// Where the layer begins that needs a parameter of its own first at `need`.
  std::uint32_t begin_of_layer(std::uint32_t need, std::uint32_t period) const {
    const std::uint32_t least = std::max(pass_.begin, need - std::min(need, period));
    for (std::uint32_t at = need; at > least; --at) {
      if (crossings_.at(at, period) == 1) return at;
    }
    return need;
  }
  bool alike(std::uint32_t a, std::uint32_t b) const {
    const auto &x = operands_of(trace_, flow_.ops[a].op).tensors.shapes,
               &y = operands_of(trace_, flow_.ops[b].op).tensors.shapes;
    return flow_.ops[a].row == flow_.ops[b].row &&
           std::equal(x.begin(), x.end(), y.begin(), y.end(), same_dims);
  }
  /// Whether operations from `first` on are those of `layer`.
  bool repeats(const LayerRange& layer, std::uint32_t first) const {
    const std::uint32_t count = layer.end - layer.first;
    if (first < pass_.begin || first + count > pass_.end) return false;
    for (std::uint32_t k = 0; k < count; ++k) {
      if (!alike(layer.first + k, first + k)) return false;
    }
    return true;
  }

  /// The parameters may begin in the middle of a layer whose first part is another one's (the table
  /// of positions that the first layer of T5 alone has); then the last one is not counted whole.
  std::vector<LayerRange> layers_of(const LayerStack& stack) const {
    std::vector<std::uint32_t> begins;
    const std::uint32_t first = first_need(stack.first);
    const std::uint32_t period = first_need(stack.first + stack.period) - first;
    for (std::size_t k = 0; k < stack.count; ++k) {
      begins.push_back(begin_of_layer(first_need(stack.first + k * stack.period), period));
    }
    std::vector<LayerRange> out;
    for (std::size_t k = 0; k + 1 < begins.size(); ++k) out.push_back({begins[k], begins[k + 1]});
    if (out.empty() || out.back().first >= out.back().end) return {};
    const LayerRange model = out.back();
    for (std::uint32_t at = model.end; repeats(model, at); at = out.back().end) {
      out.push_back({at, at + (model.end - model.first)});
    }
    return out;
  }

  std::int64_t weights_between(const std::vector<LayerRange>& layers) const {
    std::int64_t out = 0;
    for (std::size_t k = 0; k + 1 < layers.size(); ++k) {
      std::int64_t weights = 0;
      for (std::size_t p = 0; p < parameters_.size(); ++p) {
        const std::uint32_t need = first_need(p);
        const bool between = need >= layers[k].end && need < layers[k + 1].first;
        weights += between && parameters_[p].dims.size() > 1;
      }
      if (weights > 1) out += weights;
    }
    return out;
  }

  const Trace& trace_;
  const Dataflow& flow_;
  const ForwardPass& pass_;
  Crossings crossings_;
  std::vector<Gradient> parameters_;
};

}  // namespace

LayerRanges layer_ranges(const Step& step, const Dataflow& flow) {
  LayerRanges out;
  const std::vector<Gradient> gradients = gradients_of(step, flow.nesting);
  for (const ForwardPass& pass : forward_passes(flow)) {
    Stacks(step, flow, pass, gradients).find(out);
  }
  return out;
}

}  // namespace tandem
