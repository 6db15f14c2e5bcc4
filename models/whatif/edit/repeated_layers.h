// Layers of a model that are alike, from the shapes of its parameters alone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tandem {

/// `count` layers of `period` parameters each, behind one another.
struct LayerStack {
  std::size_t first = 0;  // parameter
  std::size_t period = 0;
  std::size_t count = 0;
  std::size_t size() const { return period * count; }
};

/// Where the shapes repeat themselves: each time the longest stretch, the shortest period of it and
/// its earliest begin, then what lies before and behind it. A layer has two matrices or more and is
/// no repetition itself: biases, embedding tables and blocks of convolutions that are alike are no
/// layers. In the order of the parameters.
std::vector<LayerStack> repeated_layers(const std::vector<std::vector<std::int64_t>>& shapes);
/// The same where filters of one pixel are matrices, too; a layer whose filters look at several
/// pixels of all channels is none.
std::vector<LayerStack> repeated_blocks(const std::vector<std::vector<std::int64_t>>& shapes);

}  // namespace tandem
