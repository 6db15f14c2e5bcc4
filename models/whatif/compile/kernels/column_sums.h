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

}  // namespace tandem
