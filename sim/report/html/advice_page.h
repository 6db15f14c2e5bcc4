// The page of an advice: what would help, every row with its band and reason, what was not tried.
#pragma once

#include "sim/advise/advise.h"
#include "sim/report/html/page.h"

namespace tandem::html {

/// Rows that do not fit their GPU come last and say so.
Page advice_page(const Advice& advice);

}  // namespace tandem::html
