#include "sim/counters/utilization.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/counters/step_kernels.h"

namespace tandem {

namespace {

std::size_t at(Counter counter) { return static_cast<std::size_t>(counter); }

/// Sums over kernels that have both a counter and elapsed cycles: a kernel without the counter must
/// not count as one with the value 0.
struct Share {
  double counted = 0;
  double elapsed = 0;
  double traced_us = 0;
  void add(const CounterValues& c, Counter counter, double us) {
    const double elapsed_cycles = c[at(Counter::smsp_elapsed_cycles)];
    if (std::isnan(c[at(counter)]) || std::isnan(elapsed_cycles)) return;
    counted += c[at(counter)];
    elapsed += elapsed_cycles;
    traced_us += us;
  }
  double of_kernels() const { return elapsed > 0 ? counted / elapsed : absent; }
  double of_step(double step_us) const {
    // Kernels of many streams may last longer than the step; no SM is active longer than it.
    const double share = step_us > 0 ? of_kernels() * traced_us / step_us : absent;
    return share <= 1 ? share : absent;
  }
};

/// Of two levels, each in order in every kernel, that contradict each other as sums because some
/// kernels lack one of them: the one that stands for fewer cycles says nothing beside the other.
void keep_comparable(double small_of, double& small, double large_of, double& large) {
  if (!(small > large)) return;
  (small_of < large_of ? small : large) = absent;
}

struct Shares {
  Share smsp_active, smsp_issue, tc_active, tc_issue;
  void add(const CounterValues& c, double us) {
    smsp_active.add(c, Counter::smsp_active_cycles, us);
    smsp_issue.add(c, Counter::smsp_issue_cycles, us);
    tc_active.add(c, Counter::tc_active_cycles, us);
    tc_issue.add(c, Counter::tc_issue_cycles, us);
  }
  Utilization of_kernels() const {
    return comparable({smsp_active.of_kernels(), smsp_issue.of_kernels(), tc_active.of_kernels(),
                       tc_issue.of_kernels()});
  }
  Utilization of_step(double us) const {
    return comparable({smsp_active.of_step(us), smsp_issue.of_step(us), tc_active.of_step(us),
                       tc_issue.of_step(us)});
  }

 private:
  Utilization comparable(Utilization u) const {
    keep_comparable(smsp_issue.elapsed, u.smsp_issue, smsp_active.elapsed, u.smsp_active);
    return u;
  }
};

void add_values(CounterValues& sums, const CounterValues& values) {
  for (std::size_t i = 0; i < counter_count; ++i) {
    if (std::isnan(values[i])) continue;
    sums[i] = std::isnan(sums[i]) ? values[i] : sums[i] + values[i];
  }
}

/// Of sums that contradict each other because some kernels lack a counter, the smaller one, which
/// should be the larger one, lacks more: it is not stated.
void drop_partial_sums(CounterValues& sums) {
  const auto drop = [&](Counter small, Counter large) {
    if (sums[at(small)] > sums[at(large)]) sums[at(large)] = absent;
  };
  drop(Counter::smsp_issue_cycles, Counter::smsp_active_cycles);
  for (const Counter counter :
       {Counter::smsp_issue_cycles, Counter::smsp_active_cycles, Counter::tc_active_cycles}) {
    drop(counter, Counter::smsp_elapsed_cycles);
  }
}

double sm_count(const Trace& trace, const CounterReport& report) {
  for (std::size_t row = 0; row < report.size(); ++row) {
    if (report.value(Counter::sm_count, row) > 0) return report.value(Counter::sm_count, row);
  }
  const bool known = !trace.devices.empty() && trace.devices.front().sm_count > 0;
  return known ? trace.devices.front().sm_count : absent;
}

void count_rows(const CounterReport& report, const StepMatch& match, MatchSummary& s) {
  s.rows = static_cast<std::int64_t>(report.size());
  s.iterations = static_cast<std::int64_t>(match.iterations);
  for (std::size_t row = 0; row < report.size(); ++row) {
    const double ns = report.value(Counter::duration_ns, row);
    const double us = std::isnan(ns) ? 0 : ns * 1e-3;
    const bool matched = match.kernel_of_row[row] != no_row;
    s.rows_us += us;
    s.rows_matched += matched;
    s.rows_matched_us += matched ? us : 0;
  }
}

}  // namespace

CounterValues mean_counters(const CounterReport& report, std::span<const std::uint32_t> rows) {
  CounterValues mean;
  for (std::size_t c = 0; c < counter_count; ++c) {
    double sum = 0;
    double n = 0;
    for (const std::uint32_t row : rows) {
      const double value = report.values[c][row];
      if (std::isnan(value)) continue;
      sum += value;
      ++n;
    }
    mean[c] = n > 0 ? sum / n : absent;
  }
  return mean;
}

bool put_in_order(CycleLevels c) {
  constexpr double between_passes = 1.05;
  bool contradict = false;
  const auto raise = [&](double& level, double least) {
    if (!(level < least)) return;
    contradict |= least > level * between_passes;
    level = least;
  };
  raise(c.issue, c.tc_issue);
  for (const double part : {c.issue, c.tc_issue, c.tc_active}) raise(c.active, part);
  for (const double part : {c.active, c.issue, c.tc_issue, c.tc_active}) raise(c.elapsed, part);
  return contradict;
}

bool put_in_order(CounterValues& c) {
  return put_in_order({c[at(Counter::smsp_elapsed_cycles)], c[at(Counter::smsp_active_cycles)],
                       c[at(Counter::smsp_issue_cycles)], c[at(Counter::tc_active_cycles)],
                       c[at(Counter::tc_issue_cycles)]});
}

void count_contradicting(std::int64_t kernels, LossList& losses) {
  losses.add("counters_contradict", Severity::warning,
             "kernels whose counters, measured or modelled where the report has none, are not "
             "in the order issue <= active <= elapsed: the larger one holds",
             kernels);
}

Utilization utilization_of(const CounterValues& counters) {
  Shares shares;
  shares.add(counters, 0);
  return shares.of_kernels();
}

MatchSummary summarize(const Trace& trace, const Links& links, const CounterReport& report,
                       const StepMatch& match, std::optional<double> step_us) {
  MatchSummary s;
  s.kernels = static_cast<std::int64_t>(match.kernels.size());
  s.step_us = step_us ? *step_us : to_us(period_of_step(trace, links, match.step_index));
  s.sums.fill(absent);
  count_rows(report, match, s);
  Shares shares;
  Share time;
  for (std::size_t k = 0; k < match.kernels.size(); ++k) {
    const KernelMatch& kernel = match.kernels[k];
    const double us = to_us(trace.activities.duration[kernel.activity]);
    s.kernel_us += us;
    s.substituted += kernel.quality == MatchQuality::substitute;
    if (kernel.quality < MatchQuality::similar) continue;
    ++s.matched;
    s.exact += kernel.quality == MatchQuality::exact;
    s.matched_us += us;
    CounterValues counters = mean_counters(report, match.rows.of(k));
    s.contradicting += put_in_order(counters);
    add_values(s.sums, counters);
    shares.add(counters, us);
    time.add(counters, Counter::duration_ns, us);
  }
  drop_partial_sums(s.sums);
  s.kernel_time = shares.of_kernels();
  s.step = shares.of_step(s.step_us);
  const double smsps = smsps_per_sm * sm_count(trace, report);
  if (time.counted > 0 && time.traced_us > 0) {
    s.profiled_clock_ghz = time.elapsed / (smsps * time.counted);
    s.implied_clock_ghz = time.elapsed / (smsps * time.traced_us * 1e3);
  }
  return s;
}

std::vector<GroupUtilization> utilization_by(const Trace& trace, const CounterReport& report,
                                             const StepMatch& match,
                                             std::span<const std::string_view> labels) {
  std::map<std::string_view, std::size_t> index;
  std::vector<GroupUtilization> groups;
  std::vector<Shares> shares;
  for (std::size_t k = 0; k < match.kernels.size(); ++k) {
    const auto [it, added] = index.try_emplace(labels[k], groups.size());
    if (added) {
      groups.push_back({.label = std::string(labels[k]), .kernel_time = {}});
      shares.emplace_back();
    }
    GroupUtilization& group = groups[it->second];
    const double us = to_us(trace.activities.duration[match.kernels[k].activity]);
    ++group.kernels;
    group.kernel_us += us;
    if (match.kernels[k].quality < MatchQuality::similar) continue;
    ++group.matched;
    group.matched_us += us;
    CounterValues counters = mean_counters(report, match.rows.of(k));
    put_in_order(counters);
    shares[it->second].add(counters, us);
  }
  for (std::size_t i = 0; i < groups.size(); ++i) groups[i].kernel_time = shares[i].of_kernels();
  std::stable_sort(groups.begin(), groups.end(),
                   [](const auto& a, const auto& b) { return a.kernel_us > b.kernel_us; });
  return groups;
}

}  // namespace tandem
