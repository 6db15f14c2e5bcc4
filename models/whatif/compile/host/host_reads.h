// Values of the device that the host of an eager model waits for and that of a compiled one does
// not.
#pragma once

#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {

/// Whether the operation makes results whose size the device tells.
bool tells_size(const Step& step, const Dataflow& flow, const FlowOp& op);
/// Whether the host operation `row` is Python's reading of a value: Tensor.item, or the truth of a
/// tensor.
bool reads_value(const Step& step, std::uint32_t row);
/// What it reads; unknown where the trace tells no types.
DataType value_type(const Step& step, std::uint32_t row);

/// Takes out of a compiled model the copies to and from the host between its operations, and the
/// waits for them. What a program asks of the device to leave work out (whether a mask masks
/// nothing) libraries do not ask where they are compiled, and numbers become part of the code: of
/// 22 pairs of an eager and a compiled run whose eager model waits for a truth value, none waits
/// when compiled. Numbers that Python reads cut the graph instead and are read as before
/// (graph_cuts.h), as are results whose size the device tells: a model that has them keeps all its
/// waits. `lists`: which host operations copy a list as before (host_lists.h).
void drop_host_reads(const Step& step, const Dataflow& flow, const std::vector<bool>& lists,
                     StepEdit& edit);

}  // namespace tandem
