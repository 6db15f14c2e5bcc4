// Why a changed step is faster or slower, in one sentence made from the two predictions.
#pragma once

#include <string>

#include "sim/predict/result.h"

namespace tandem {

/// Names the host calls, operations or kernels whose part of the critical path, or whose work,
/// changes most; where the step hardly changes, what keeps it as it is. All numbers are of the two
/// results; times of another batch are told as such.
std::string reason(const Result& base, const Result& changed);

}  // namespace tandem
