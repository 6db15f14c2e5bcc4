// The page of `tandem validate`: errors of every set, drawn and in tables.
#pragma once

#include <vector>

#include "sim/report/html/page.h"
#include "validation/compare/compare.h"

namespace tandem {

html::Page validation_page(const std::vector<CaseResult>& results);

}  // namespace tandem
