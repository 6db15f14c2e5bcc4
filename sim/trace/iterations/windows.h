// Ranges of what the host issued as windows of time.
#pragma once

#include <vector>

#include "sim/trace/iterations/issues.h"

namespace tandem {

/// One window a range, from where the host turns to its first issue to where it turns to the first
/// one behind it. Ranges ascend and are not empty.
std::vector<StepWindow> windows_of(const Trace& trace, const Links& links,
                                   const std::vector<Issue>& issues,
                                   const std::vector<TokenRange>& ranges);

}  // namespace tandem
