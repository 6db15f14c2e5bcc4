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

/// Parameters in the order in which the forward pass first needs them.
class Parameters {
 public:
  Parameters(const Dataflow& flow, const ForwardPass& pass, std::vector<Gradient> gradients)
      : flow_(flow), pass_(pass), all_(in_forward_order(std::move(gradients), pass)) {}

  std::vector<std::vector<std::int64_t>> shapes() const {
    std::vector<std::vector<std::int64_t>> out;
    for (const Gradient& g : all_) out.push_back(g.dims);
    return out;
  }
  /// The first operation that needs parameter `p`, or the end of the pass.
  std::uint32_t first_need(std::size_t p) const {
    std::uint32_t i = pass_.begin;
    if (p >= all_.size()) return pass_.end;
    while (i < pass_.end && flow_.ops[i].sequence < all_[p].node) ++i;
    return i;
  }
  /// How many parameters behind the stack go on as its layers do.
  std::size_t beyond(const LayerStack& stack) const {
    std::size_t p = stack.first + stack.size();
    while (p < all_.size() && alike(p, p - stack.period)) ++p;
    return p - stack.first - stack.size();
  }

  /// The first parameter of a layer before the stack that has some which the others lack (the table
  /// of positions that the first layer of T5 alone has), so that the stack was found to begin
  /// within it; else the stack's own.
  std::size_t first_of_unlike(const LayerStack& stack, std::size_t taken) const {
    constexpr std::size_t most_lacked = 2;
    std::size_t p = stack.first, like = stack.first + stack.period, matrices = 0;
    const auto of_layers = [&](std::size_t a) {
      for (std::size_t b = stack.first; b < stack.first + stack.period; ++b) {
        if (alike(a, b)) return true;
      }
      return false;
    };
    while (p > taken && stack.first - p < most_lacked && !of_layers(p - 1)) --p;
    if (p == stack.first) return p;  // it would have begun there
    for (; p > taken && like > stack.first && alike(p - 1, like - 1); --like) {
      matrices += all_[--p].dims.size() == 2;
    }
    return matrices > 1 ? p : stack.first;
  }

  /// How many of a layer before the stack, which begins with parameter `before`, the others have.
  std::size_t matched(const LayerStack& stack, std::size_t before) const {
    std::size_t like = stack.first + stack.period;
    for (std::size_t p = stack.first; p > before; --p) like -= alike(p - 1, like - 1);
    return stack.first + stack.period - like;
  }

  /// Of blocks of two weights or more.
  std::int64_t weights_between(const std::vector<LayerRange>& layers) const {
    std::int64_t out = 0;
    for (std::size_t k = 0; k + 1 < layers.size(); ++k) {
      std::int64_t weights = 0;
      for (std::size_t p = 0; p < all_.size(); ++p) {
        const std::uint32_t need = first_need(p);
        const bool between = need >= layers[k].end && need < layers[k + 1].first;
        weights += between && all_[p].dims.size() > 1;
      }
      if (weights > 1) out += weights;
    }
    return out;
  }

 private:
  bool alike(std::size_t a, std::size_t b) const { return all_[a].dims == all_[b].dims; }

  const Dataflow& flow_;
  const ForwardPass& pass_;
  std::vector<Gradient> all_;
};

/// Where the layers of a stack begin, by its parameters.
class Stacks {
 public:
  Stacks(const Step& step, const Dataflow& flow, const ForwardPass& pass,
         std::vector<Gradient> gradients)
      : trace_(step.trace),
        flow_(flow),
        pass_(pass),
        parameters_(flow, pass, std::move(gradients)) {}

  void find(LayerRanges& out) {
    std::vector<LayerRange> found;
    std::size_t taken = 0;  // parameters up to here are of the stacks so far
    for (const LayerStack& stack : repeated_blocks(parameters_.shapes())) {
      const std::vector<LayerRange> layers = layers_of(stack, taken);
      taken = stack.first + stack.size();
      // What goes on as a stack did may be the first of the next one.
      while (!found.empty() && !layers.empty() && found.back().end > layers.front().first) {
        found.pop_back();
      }
      for (const LayerRange& layer : layers) {
        const bool inside = layer.first >= pass_.begin && layer.end <= pass_.end;
        if (layer.first < layer.end && inside) found.push_back(layer);
      }
    }
    out.unlike += parameters_.weights_between(found);
    out.layers.insert(out.layers.end(), found.begin(), found.end());
  }

 private:
  bool alike(std::uint32_t a, std::uint32_t b) const {
    const auto &x = operands_of(trace_, flow_.ops[a].op).tensors.shapes,
               &y = operands_of(trace_, flow_.ops[b].op).tensors.shapes;
    return flow_.ops[a].row == flow_.ops[b].row &&
           std::equal(x.begin(), x.end(), y.begin(), y.end(), same_dims);
  }
  /// Whether it adds two tensors of one shape, which ends a block: its result and what it was
  /// given.
  bool adds_skip(std::uint32_t i) const {
    const auto& shapes = operands_of(trace_, flow_.ops[i].op).tensors.shapes;
    return flow_.ops[i].row->is(adds_gradients) && shapes.size() == 2 && shapes[0].rank > 1 &&
           same_dims(shapes[0], shapes[1]);
  }

  std::vector<LayerRange> layers_of(const LayerStack& stack, std::size_t taken) const {
    const std::size_t before = parameters_.first_of_unlike(stack, taken);
    const std::vector<std::uint32_t> begins =
        before < stack.first ? begins_behind(stack, before) : begins_of(stack);
    std::vector<LayerRange> out;
    for (std::size_t k = 0; k + 1 < begins.size(); ++k) out.push_back({begins[k], begins[k + 1]});
    if (out.empty() || out.back().first >= out.back().end) return {};
    out.push_back({out.back().end, 2 * out.back().end - out.back().first});
    // Parameters of the last ones may have been taken for those of the next stack (an encoder's
    // layer is as the second half of a decoder's).
    while (goes_on(out.back())) {
      const LayerRange last = out.back();
      out.push_back({last.end, 2 * last.end - last.first});
    }
    return out;
  }

  /// Whether the operations behind a layer are those of it once more.
  bool goes_on(const LayerRange& layer) const {
    const std::uint32_t period = layer.end - layer.first;
    if (layer.end + period > pass_.end) return false;
    for (std::uint32_t i = layer.first; i < layer.end; ++i) {
      if (!alike(i, i + period)) return false;
    }
    return true;
  }

  /// The last parameter of a layer is its own in any case: those before the first layer may be as
  /// the first ones of the next layer (a norm of embeddings), of which they are found to be. So the
  /// first layer begins where operations begin to repeat themselves.
  std::vector<std::uint32_t> begins_of(const LayerStack& stack) const {
    std::vector<std::uint32_t> own;
    for (std::size_t k = 1; k <= stack.count; ++k) {
      own.push_back(parameters_.first_need(stack.first + k * stack.period - 1));
    }
    const std::uint32_t period = own[1] - own[0];
    std::uint32_t begin = own[0];
    while (begin > pass_.begin && begin - 1 + period < pass_.end &&
           alike(begin - 1, begin - 1 + period)) {
      --begin;
    }
    // Layers that take turns (shifted windows) are not alike from their begin on.
    if (begin > parameters_.first_need(stack.first + parameters_.beyond(stack))) {
      return begins_behind(stack, stack.first);
    }
    std::vector<std::uint32_t> out;
    for (const std::uint32_t need : own) out.push_back(need - (own[0] - begin));
    return out;
  }

  /// `before`: the first parameter of the layer before, or the stack's own. A norm's arithmetic
  /// comes before its weight, behind what ended the block before.
  std::vector<std::uint32_t> begins_behind(const LayerStack& stack, std::size_t before) const {
    const std::size_t matched = parameters_.matched(stack, before);
    std::vector<std::uint32_t> out{parameters_.first_need(before)};
    const std::size_t count = matched > 0 ? stack.count + 1 : stack.count;
    for (std::size_t k = 1; k < count; ++k) {
      out.push_back(parameters_.first_need(stack.first + k * stack.period - matched));
    }
    std::uint32_t lead = 0;
    while (lead < out[1] - out[0] && !adds_skip(out[1] - lead - 1)) ++lead;
    for (std::uint32_t& begin : out) begin -= std::min(lead, begin - pass_.begin);
    return out;
  }

  const Trace& trace_;
  const Dataflow& flow_;
  const ForwardPass& pass_;
  Parameters parameters_;
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
