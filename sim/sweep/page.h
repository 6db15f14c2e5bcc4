// The page of a sweep: what is best, curves with error bars, Pareto front, elasticities, all
// points.
#pragma once

#include "sim/report/html/page.h"
#include "sim/sweep/tables.h"

namespace tandem {

/// Points whose peak memory does not fit their GPU are crossed.
html::Page sweep_page(const Sweep& sweep);

}  // namespace tandem
