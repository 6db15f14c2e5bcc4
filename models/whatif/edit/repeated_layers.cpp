#include "models/whatif/edit/repeated_layers.h"

#include <algorithm>
#include <map>

namespace tandem {

namespace {

/// Of a layer, and stacks of a model (encoders, decoders, stages): the search takes as many passes
/// over the parameters, so that a trace of anything else ends as well.
constexpr std::size_t most_parameters = 1024;
constexpr std::size_t most_stacks = 16;
constexpr std::size_t least_matrices = 2;

/// Sums over rows may leave a bias with a first dimension of 1.
bool is_matrix(const std::vector<std::int64_t>& dims) {
  return dims.size() == 2 && dims[0] > 1 && dims[1] > 1;
}

using Dims = std::vector<std::int64_t>;

bool is_filter_of_pixels(const Dims& dims) { return dims.size() == 4; }
/// Of a filter [out, in, height, width].
bool of_one_pixel(const Dims& dims) { return dims[2] == 1 && dims[3] == 1; }
bool of_one_channel(const Dims& dims) { return dims[1] == 1; }

/// Parameters by number of their shape, and how many matrices stand before each, and how many
/// filters of several pixels that mix channels.
struct Sequence {
  std::vector<std::size_t> shape;
  std::vector<std::size_t> matrices, mixing;

  Sequence(const std::vector<Dims>& shapes, bool filters) : matrices{0}, mixing{0} {
    std::map<Dims, std::size_t> known;
    for (const Dims& dims : shapes) {
      const bool filter = filters && is_filter_of_pixels(dims);
      shape.push_back(known.try_emplace(dims, known.size()).first->second);
      matrices.push_back(matrices.back() + (is_matrix(dims) || (filter && of_one_pixel(dims))));
      mixing.push_back(mixing.back() + (filter && !of_one_pixel(dims) && !of_one_channel(dims)));
    }
  }
  bool alike(std::size_t i, std::size_t period) const { return shape[i] == shape[i + period]; }
  /// Whether one period is a layer: no repetition of a shorter one, with matrices.
  bool is_layer(const LayerStack& s) const {
    if (matrices[s.first + s.period] - matrices[s.first] < least_matrices) return false;
    if (mixing[s.first + s.period] > mixing[s.first]) return false;
    for (std::size_t part = 1; 2 * part <= s.period; ++part) {
      if (s.period % part == 0 && repeats(s.first, s.first + s.period, part)) return false;
    }
    return true;
  }

 private:
  bool repeats(std::size_t begin, std::size_t end, std::size_t period) const {
    for (std::size_t i = begin; i + period < end; ++i) {
      if (!alike(i, period)) return false;
    }
    return true;
  }
};

LayerStack longest(const Sequence& all, std::size_t begin, std::size_t end) {
  LayerStack best;
  for (std::size_t period = 1; 2 * period <= end - begin && period <= most_parameters; ++period) {
    std::size_t alike = 0;  // in a row, each to the one a period further
    for (std::size_t i = begin; i + period < end; ++i) {
      const bool ends = i + period + 1 == end || !all.alike(i + 1, period);
      alike = all.alike(i, period) ? alike + 1 : 0;
      const LayerStack stack{i + 1 - alike, period, alike / period + 1};
      if (!ends || stack.count < 2 || stack.size() <= best.size()) continue;
      if (all.is_layer(stack)) best = stack;
    }
  }
  return best;
}

void add_stacks(const Sequence& all, std::size_t begin, std::size_t end,
                std::vector<LayerStack>& out) {
  if (out.size() >= most_stacks) return;
  const LayerStack stack = longest(all, begin, end);
  if (stack.count < 2) return;
  add_stacks(all, begin, stack.first, out);
  out.push_back(stack);
  add_stacks(all, stack.first + stack.size(), end, out);
}

}  // namespace

std::vector<LayerStack> repeated_layers(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<LayerStack> out;
  add_stacks(Sequence(shapes, false), 0, shapes.size(), out);
  return out;
}

std::vector<LayerStack> repeated_blocks(const std::vector<std::vector<std::int64_t>>& shapes) {
  std::vector<LayerStack> out;
  add_stacks(Sequence(shapes, true), 0, shapes.size(), out);
  return out;
}

}  // namespace tandem
