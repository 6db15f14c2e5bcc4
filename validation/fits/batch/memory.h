// Scores the peak-memory law on series with measured peaks.
#pragma once

#include <vector>

#include "validation/fits/batch/series.h"

namespace tandem {

/// Prints mean relative errors from no, one and two measured peaks; each pair if `pairs`.
void print_memory(const std::vector<Series>& all, const BatchLaw& law, bool pairs);

}  // namespace tandem
