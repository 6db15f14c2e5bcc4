// Lists of rows that lie in memory of the host.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"

namespace tandem {

/// The host operation that takes rows of a table, or adds to them, of which `op` is a part; no_row:
/// there is none.
std::uint32_t rows_around(const Step& step, const Dataflow& flow, const FlowOp& op);

/// Per host operation: whether it takes or adds rows by a list that lies in memory of the host of a
/// compiled model, too. Generated code reads no such list: the framework copies it and its kernels
/// stay (torch/_inductor/lowering.py, check_and_broadcast_indices). An eager trace shows the copy;
/// but a list that the program makes of constants is made on the device when compiled, unless a
/// gradient reads it again (torch/_inductor/fx_passes/post_grad.py, ConstructorMoverPass; random
/// numbers stay).
std::vector<bool> host_lists(const Step& step, const Dataflow& flow);

}  // namespace tandem
