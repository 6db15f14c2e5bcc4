// The device work of each operation, in host order, and how two runs of a model correspond.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "models/step/op_nesting.h"

namespace tandem {

/// What one operation launched; kernels of unknown operations stand alone.
struct OpGroup {
  std::uint64_t chain = 0;  // hash of the operation's name and those around it, or of the kernel's
  std::uint32_t op = no_row;
  std::vector<std::uint32_t> activities;
  double us = 0;  // sum of their durations
};

/// When the host launched an activity: its call; its own begin in a trace without calls. Empty: the
/// call lies before the trace began.
std::optional<TimePoint> issue_time(const Trace& trace, const Links& links, std::uint32_t activity);

/// The groups whose launch lies in `step`.
std::vector<OpGroup> groups_of_step(const Trace& trace, const Links& links,
                                    const OpNesting& nesting, const StepWindow& step);

/// Longest common subsequence of equal chains: pairs of positions, ascending.
std::vector<std::pair<std::uint32_t, std::uint32_t>> align(const std::vector<OpGroup>& a,
                                                           const std::vector<OpGroup>& b);

}  // namespace tandem
