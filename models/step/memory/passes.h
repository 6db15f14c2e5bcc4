// How often a step runs the same layers: text that is written word by word passes through all of a
// model's layers for each word, a loop over recurrent cells through those of a step of time.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "sim/core/tensors/operands.h"

namespace tandem {

/// A layer by the parameters that it takes.
struct LayerUse {
  bool embedding = false;
  bool cell = false;  // of a recurrent layer, which a loop of the program runs
  std::vector<TensorShape> parameters;
};

/// How many of the layers of a step, in order, run before a pass begins that only repeats: 0 to all
/// of them. Passes begin with the table of the words and are equal up to the end of the step; an
/// encoder may come before them. Two models of one build that both read words of one table's size
/// cannot be told from two passes of one.
std::size_t layers_before_repeats(std::span<const LayerUse> layers);

/// Which layers belong to the second step or a later one of a loop over recurrent cells, which
/// begins with a cell. Stacked cells of one size and nothing between them cannot be told from steps
/// of one.
std::vector<bool> repeated_steps(std::span<const LayerUse> layers);

}  // namespace tandem
