// Operations that nobody described: what a prediction cannot know about them is a counted loss.
#pragma once

#include "models/step/step.h"
#include "sim/core/error.h"

namespace tandem {

/// Loss `unknown_operation`: device work of a step whose operation has no row in the operation
/// table (models/ops/op_table.cpp), with its share of the device time and the first name. A warning
/// from one percent of the device time on. Empty if there is none.
LossList unknown_operations(const Step& step);

}  // namespace tandem
