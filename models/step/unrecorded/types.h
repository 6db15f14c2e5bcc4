// Types of operands that a trace did not record: reports of Nsight Systems state their shapes
// alone.
#pragma once

#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Whether operands have shapes, and no operand has a type.
bool lacks_types(const Trace& trace);

/// Gives the operands of operations that launched device work, and of those around them, the types
/// that the names of their kernels tell; what these leave open (what a conversion reads) is that of
/// the latest result of as many elements. Does nothing to a trace that states any type.
void infer_unrecorded_types(Trace& trace, const Links& links);

}  // namespace tandem
