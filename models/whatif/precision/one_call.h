// Layers of attention (torch.nn.MultiheadAttention, batch_first) that the framework runs in one
// call in inference, and in pieces where autocast is on.
#pragma once

#include "models/whatif/precision/typed_step.h"

namespace tandem {

/// Whether layers of the step may be one call where it has pieces, or the other way round.
bool exchanges_calls(const Trace& trace, const Dataflow& flow, bool to_autocast);

/// In pieces the layer turns its input, whose first dimension is then the position: what it reads
/// is copied, the bias is added by a kernel of its own, queries, keys and values are copied once
/// more, and the result lies turned. Sums of it and norms behind them pay for that. In one call
/// nothing of this happens. After the types of all operations are rewritten. Returns how many
/// layers were exchanged.
int exchange_calls(TypedStep& s, bool to_autocast);

/// What products of blocks in one call apply to their results (OpFlag whole_block) becomes kernels,
/// as under autocast; the rest of the calls a compiler takes apart by itself.
void apply_behind_products(TypedStep& s);

}  // namespace tandem
