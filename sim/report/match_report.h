// A counter report matched with a trace, as text, JSON and per-kernel table. Nothing here computes.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <ostream>
#include <string>
#include <vector>

#include "sim/counters/utilization.h"
#include "sim/metrics/work_names.h"

namespace tandem {

inline constexpr std::string_view match_schema = "tandem.match/1";

/// One match with everything that its reports print.
struct MatchReport {
  const Trace& trace;
  WorkNames names;
  const CounterReport& counters;
  const StepMatch& match;
  MatchSummary summary;
  std::vector<GroupUtilization> layers;
  LossList losses;  // of the trace and of the report, and what does not match
};
MatchReport make_match_report(const Trace& trace, const Links& links, const WorkNames& names,
                              const CounterReport& counters, const StepMatch& match);

/// Match rates, utilizations and what is not matched, in about a page.
std::string match_summary_text(const MatchReport& report);

/// The same without abbreviations.
nlohmann::ordered_json match_json(const MatchReport& report);

/// One row per kernel of the step in launch order: what the trace knows, what the report counted
/// (means where it holds several iterations; empty where it holds nothing), and utilizations.
void write_match_csv(std::ostream& out, const MatchReport& report);

}  // namespace tandem
