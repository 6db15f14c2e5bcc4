// What holds for every result, whatever the input: one table of invariants over its fields.
#pragma once

#include "sim/predict/result.h"

namespace tandem {

/// Checks each number of the tables step_metric_infos(), gpu_metric_infos() and energy_infos(), and
/// the parts of the result: finite, in the range of its unit (ratios 0..1, nothing negative),
/// levels in order (issue <= active <= elapsed), parts not above their sum. Errors:
/// std::logic_error, a bug, that names field and value.
void check_result(const Result& result);

}  // namespace tandem
