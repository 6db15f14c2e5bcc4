// Tables of relative positions: which of their rows gradients reach most often.
#pragma once

#include "models/step/dataflow.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Of the entries of the index of `scatter`, a gradient that is added to the rows of a table: the
/// share that names the row which is named most often, where the index holds distances of positions
/// that the step clamped to as many values as the table has rows. 0 where it did not: nothing is
/// known of how even the index is.
///
/// Of distances k - q of Q x K positions, the row of the lower bound has those of the bound and all
/// below: the sum over q of min(K, q + bound + 1), and that of the upper bound likewise.
double clamped_row_share(const Trace& trace, const Dataflow& flow, const FlowOp& scatter);

}  // namespace tandem
