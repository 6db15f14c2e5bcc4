// Sums over rows that generated code runs otherwise than by parts of columns.
#pragma once

#include <cstdint>

#include "models/whatif/compile/kernels/group_view.h"

namespace tandem {

/// Whether what the operation adds up is a copy of what was rolled.
bool sums_rolled(const GroupView& view, std::uint32_t op);

/// The places are those before the roll, which an index gives: the sum is left to as few blocks as
/// there are columns, eight in each.
GeneratedKernel rolled_sum(const GroupView& view, std::uint32_t op, double columns);

/// The gradient of a softmax that the operation adds up and nothing stores (a product reads it in
/// 16 bits): the kernel of the sum computes it once more from what the softmax made. no_row: it
/// adds up something else, or what is stored.
std::uint32_t summed_scores(const GroupView& view, std::uint32_t op);

/// Whether the sum is over the first dimension (windows) of scores whose sides are powers of two.
/// It goes to a table of relative places, and the code that adds it to its rows then has an index
/// for each side: a block takes 32 scores of one row and goes through all windows. (Of other sides
/// there is one index, and many blocks share the windows.)
bool walks_windows(const GroupView& view, std::uint32_t op);

}  // namespace tandem
