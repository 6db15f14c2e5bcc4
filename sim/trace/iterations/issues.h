// The sequence in which iterations are looked for: what the host issued, in that order.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "sim/trace/iterations/repetition.h"
#include "sim/trace/links.h"

namespace tandem {

/// One device work, or one node, and when the host issued it.
struct Issue {
  TimePoint begin, end;
  ThreadId thread;  // invalid: nothing is known of the host
};

/// A sequence in which iterations are looked for, and the same with coarser tokens.
struct Issues {
  std::vector<Issue> issue;
  TokenSequence by_launch;  // equal work: the same kernel on the same grid
  TokenSequence by_name;    // the same kernel
};

/// All device work, in the order of the launches; of a runtime without a GPU, its nodes.
Issues issues_of(const Trace& trace, const Links& links);

/// What the main stream runs, where there are others: those may do other things each time.
std::optional<Issues> issues_of_main_stream(const Trace& trace, const Links& links);

/// Positions of the first issue that begins at or after each time; times ascend. Threads overlap,
/// so issues are not sorted by begin.
std::vector<std::size_t> positions(const std::vector<Issue>& issues,
                                   const std::vector<TimePoint>& times);

}  // namespace tandem
