// Kernels of a traced step and rows of a counter report: which is which.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/counters/correlation.h"
#include "sim/counters/counter_report.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// A kernel of the step.
struct KernelMatch {
  std::uint32_t activity = no_row;
  MatchQuality quality = MatchQuality::none;  // of its rows
  double score = 0;                           // of the first of them
  std::uint32_t substitute = no_row;  // row of another kernel that ran in its place; not its row
};

struct StepMatch {
  std::string step;
  std::size_t step_index = 0;                // into Links::steps
  std::vector<KernelMatch> kernels;          // in launch order
  RowLists rows;                             // per kernel: its rows, one an iteration profiled
  std::vector<std::uint32_t> kernel_of_row;  // per row of the report; no_row: unmatched
  std::size_t iterations = 0;                // the most rows that a kernel has
  double score = 0;
};

/// Matches the kernels of one step by name, template arguments, grid, block, registers, duration
/// and order. Kernels may be missing or differ on either side, the report may hold a part of the
/// step or several iterations of it, and of several processes.
StepMatch match_step(const Trace& trace, const Links& links, const CounterReport& report,
                     std::size_t step);

/// The same for the step that fits best. Steps with equal kernels are tried once.
StepMatch match_best_step(const Trace& trace, const Links& links, const CounterReport& report);

/// The share of the report's rows that are no launch of the step in everything.
double foreign_share(const CounterReport& report, const StepMatch& match);
/// From where on that is said. Of reports of the same program every row is a launch of the step, in
/// all captures that have one.
inline constexpr double partly_foreign = 0.05;
/// From where on most of the report is of something else.
inline constexpr double mostly_foreign = 0.5;

/// Counts as a warning, "counters_of_another_run", the rows of a report that is partly foreign.
void count_foreign_rows(const CounterReport& report, const StepMatch& match, LossList& losses);

/// Index of the step called `name`, also by its number alone. Errors: InputError that lists the
/// steps.
std::size_t find_step(const Trace& trace, const Links& links, const std::string& name);

}  // namespace tandem
