// The page of a comparison: the answer, what the steps wait for, and where their times differ.
#pragma once

#include "sim/diff/diff.h"
#include "sim/report/html/page.h"

namespace tandem {

html::Page diff_page(const Diff& diff);

}  // namespace tandem
