#include "sim/counters/match.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include "sim/counters/align.h"
#include "sim/counters/step_kernels.h"

namespace tandem {

namespace {

/// Going on at another place of the step must be worth this many exact pairs, or this share of the
/// step, but for small steps no more than a quarter of them.
constexpr double restart_pairs = 8;
constexpr double restart_share = 0.05;
constexpr double restart_most_share = 0.25;
constexpr double exact_pair_score = 3.5;

AlignmentCosts costs_for(std::size_t kernels) {
  const auto n = static_cast<double>(kernels);
  const double pairs =
      std::min(std::max(restart_pairs, restart_share * n), std::max(2.0, restart_most_share * n));
  return {.gap = 0.5, .restart = exact_pair_score * pairs};
}

/// Different sequences of kernels that are tried for the best step.
constexpr std::size_t most_candidates = 4;

/// Rows by process and device in order of appearance, launch order within.
std::vector<std::uint32_t> ordered_rows(const CounterReport& report) {
  std::map<std::pair<std::int64_t, std::int64_t>, std::size_t> first;
  std::vector<std::uint32_t> rows(report.size());
  std::iota(rows.begin(), rows.end(), 0U);
  const auto key = [&](std::uint32_t r) { return std::pair(report.process[r], report.device[r]); };
  for (const std::uint32_t r : rows) first.try_emplace(key(r), r);
  std::stable_sort(rows.begin(), rows.end(), [&](std::uint32_t a, std::uint32_t b) {
    return first.at(key(a)) < first.at(key(b));
  });
  return rows;
}

/// The pairs of one step and one report.
class StepMatcher {
 public:
  struct Pair {
    std::uint32_t row, kernel;
    MatchQuality quality;
    float score;
  };

  StepMatcher(const Launches& report, const Launches& trace)
      : report_(report), trace_(trace), correlation_(report, trace), matched_(report.size()) {
    const Alignment found =
        align(report.size(), trace.size(), correlation_, costs_for(trace.size()));
    score_ = found.score;
    for (const AlignedPair& p : found.pairs) add(p.row, p.column);
    match_leftovers();
    find_substitutes(found.pairs);
  }
  const std::vector<Pair>& pairs() const { return pairs_; }
  double score() const { return score_; }

 private:
  void add(std::uint32_t row, std::uint32_t kernel) {
    const MatchQuality quality = correlation_.quality(row, kernel);
    matched_[row] = quality >= MatchQuality::similar;
    pairs_.push_back({row, kernel, quality, correlation_(row, kernel)});
  }

  /// Kernels that two host threads launched in another order are left over on both sides: pairs
  /// them where everything agrees.
  void match_leftovers() {
    std::vector<bool> taken(trace_.size());
    for (const Pair& p : pairs_) {
      taken[p.kernel] = taken[p.kernel] || p.quality >= MatchQuality::similar;
    }
    std::vector<std::uint32_t> open;
    for (std::uint32_t k = 0; k < trace_.size(); ++k) {
      if (!taken[k]) open.push_back(k);
    }
    for (std::uint32_t row = 0; row < report_.size() && !open.empty(); ++row) {
      if (matched_[row]) continue;
      const auto it = std::find_if(open.begin(), open.end(), [&](std::uint32_t k) {
        return correlation_.quality(row, k) == MatchQuality::exact;
      });
      if (it == open.end()) continue;
      add(row, *it);
      open.erase(it);
    }
  }

  /// Between two matches, as many kernels on one side as on the other: one ran for the other.
  void find_substitutes(const std::vector<AlignedPair>& pairs) {
    for (std::size_t i = 1; i < pairs.size(); ++i) {
      const auto [row, kernel] = pairs[i - 1];
      const std::uint32_t between = pairs[i].row - row - 1;
      if (pairs[i].column <= kernel || pairs[i].column - kernel - 1 != between) continue;
      for (std::uint32_t k = 1; k <= between; ++k) {
        if (!matched_[row + k])
          pairs_.push_back({row + k, kernel + k, MatchQuality::substitute, 0});
      }
    }
  }

  const Launches& report_;
  const Launches& trace_;
  Correlation correlation_;
  std::vector<bool> matched_;  // per row
  std::vector<Pair> pairs_;
  double score_ = 0;
};

/// Gives every kernel its best quality and the rows that have it, in the order of the report.
void collect(const std::vector<StepMatcher::Pair>& pairs, const std::vector<std::uint32_t>& order,
             StepMatch& match) {
  for (const auto& p : pairs) {
    KernelMatch& kernel = match.kernels[p.kernel];
    if (p.quality >= MatchQuality::similar) match.kernel_of_row[order[p.row]] = p.kernel;
    if (p.quality <= kernel.quality) continue;
    const bool replaced = p.quality == MatchQuality::substitute;
    kernel.quality = p.quality;
    kernel.score = replaced ? 0 : p.score;
    kernel.substitute = replaced ? order[p.row] : no_row;
  }
  std::vector<std::vector<std::uint32_t>> rows(match.kernels.size());
  for (const auto& p : pairs) {
    const MatchQuality best = match.kernels[p.kernel].quality;
    if (p.quality == best && best >= MatchQuality::similar) rows[p.kernel].push_back(order[p.row]);
  }
  match.rows.first.assign(1, 0);
  for (auto& list : rows) {
    std::sort(list.begin(), list.end());
    match.rows.rows.insert(match.rows.rows.end(), list.begin(), list.end());
    match.rows.first.push_back(static_cast<std::uint32_t>(match.rows.rows.size()));
    match.iterations = std::max(match.iterations, list.size());
  }
}

/// What tells the kernels of two steps apart.
using Sequence = std::vector<std::pair<StringId, GeometryId>>;

Sequence sequence_of(const Trace& trace, const std::vector<std::uint32_t>& kernels) {
  Sequence sequence;
  for (const std::uint32_t a : kernels) {
    sequence.emplace_back(trace.activities.name[a], trace.activities.geometry[a]);
  }
  return sequence;
}

std::map<std::string_view, std::int64_t> count_names(const Launches& launches) {
  std::map<std::string_view, std::int64_t> count;
  for (const std::uint32_t c : launches.class_of) {
    ++count[launches.names[launches.classes[c].name].base];
  }
  return count;
}

/// Kernels that the step could share with the report if order did not matter.
std::int64_t overlap(const Launches& step, const std::map<std::string_view, std::int64_t>& report) {
  std::int64_t shared = 0;
  for (const auto& [name, n] : count_names(step)) {
    const auto it = report.find(name);
    if (it != report.end()) shared += std::min(n, it->second);
  }
  return shared;
}

/// Steps that differ in their kernels, the most promising ones. Of equal ones the last: what ran
/// before the first is often not in the trace.
std::vector<std::size_t> candidates(const Trace& trace, const Links& links,
                                    const CounterReport& report) {
  const auto rows = ordered_rows(report);
  const Launches report_launches = launches_of(report, rows);
  const auto names = count_names(report_launches);
  std::set<Sequence> seen;
  std::vector<std::pair<std::int64_t, std::size_t>> ranked;
  for (std::size_t step = links.steps.size(); step-- > 0;) {
    const auto kernels = kernels_of_step(trace, links, step);
    if (!seen.insert(sequence_of(trace, kernels)).second) continue;
    ranked.emplace_back(-overlap(launches_of(trace, kernels), names), step);
  }
  std::stable_sort(ranked.begin(), ranked.end());
  std::vector<std::size_t> steps;
  for (const auto& [shared, step] : ranked) {
    if (steps.size() < most_candidates) steps.push_back(step);
  }
  return steps;
}

}  // namespace

StepMatch match_step(const Trace& trace, const Links& links, const CounterReport& report,
                     std::size_t step) {
  const auto activities = kernels_of_step(trace, links, step);
  const auto order = ordered_rows(report);
  const Launches trace_launches = launches_of(trace, activities);
  const Launches report_launches = launches_of(report, order);
  const StepMatcher matcher(report_launches, trace_launches);
  StepMatch match;
  match.step = links.steps[step].name;
  match.step_index = step;
  match.score = matcher.score();
  match.kernel_of_row.assign(report.size(), no_row);
  for (const std::uint32_t a : activities) match.kernels.push_back({.activity = a});
  collect(matcher.pairs(), order, match);
  return match;
}

StepMatch match_best_step(const Trace& trace, const Links& links, const CounterReport& report) {
  StepMatch best;
  for (const std::size_t step : candidates(trace, links, report)) {
    StepMatch match = match_step(trace, links, report, step);
    if (best.step.empty() || match.score > best.score) best = std::move(match);
  }
  return best;
}

double foreign_share(const CounterReport& report, const StepMatch& match) {
  double exact = 0;
  for (std::size_t k = 0; k < match.kernels.size(); ++k) {
    if (match.kernels[k].quality != MatchQuality::exact) continue;
    exact += static_cast<double>(match.rows.of(k).size());
  }
  return 1 - exact / static_cast<double>(std::max<std::size_t>(report.size(), 1));
}

void count_foreign_rows(const CounterReport& report, const StepMatch& match, LossList& losses) {
  const double share = foreign_share(report, match);
  if (share <= partly_foreign) return;
  losses.add("counters_of_another_run", Severity::warning,
             "rows of the counter report that are no launch of the step: its counters are of "
             "another model, batch, precision or version ('tandem check' says more)",
             std::llround(share * static_cast<double>(report.size())));
}

std::size_t find_step(const Trace& trace, const Links& links, const std::string& name) {
  std::string known;
  for (std::size_t i = 0; i < links.steps.size(); ++i) {
    const std::string& step = links.steps[i].name;
    if (step == name || step.ends_with("#" + name)) return i;
    known += (known.empty() ? "" : ", ") + step;
  }
  throw InputError(trace.path, "", "no step \"" + name + "\"", "one of: " + known);
}

}  // namespace tandem
