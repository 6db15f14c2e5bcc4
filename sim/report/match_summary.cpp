#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "sim/report/losses.h"
#include "sim/report/match_report.h"

namespace tandem {

namespace {

constexpr std::size_t most_listed = 10;
constexpr std::size_t name_width = 76;

std::string percent(double share) {
  return std::isnan(share) ? "     n/a" : fmt::format("{:>6.2f} %", 100 * share);
}

std::string ratio(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f} %", 100 * part / whole) : "n/a";
}

std::string shorten(std::string_view name) {
  if (name.starts_with("void ")) name.remove_prefix(5);
  return name.size() <= name_width ? std::string(name)
                                   : fmt::format("{}...", name.substr(0, name_width - 3));
}

std::string headline(const MatchReport& r) {
  const MatchSummary& s = r.summary;
  std::string text =
      fmt::format("trace      {}, {}: {} kernels, {:.3f} ms of {:.3f} ms\n", r.trace.path,
                  r.match.step, s.kernels, s.kernel_us * 1e-3, s.step_us * 1e-3);
  text += fmt::format(
      "counters   {} ({} page): {} kernels, {} of the step\n", r.counters.path, r.counters.layout,
      s.rows, s.iterations == 1 ? "1 iteration" : fmt::format("{} iterations", s.iterations));
  text += fmt::format(
      "matched    {} of {} kernels ({}), {} of kernel time: {} exact, {} similar; not matched: {} "
      "replaced by another kernel, {} missing\n",
      s.matched, s.kernels, ratio(static_cast<double>(s.matched), static_cast<double>(s.kernels)),
      ratio(s.matched_us, s.kernel_us), s.exact, s.matched - s.exact, s.substituted,
      s.kernels - s.matched - s.substituted);
  text += fmt::format("           {} of {} kernels of the report ({})\n", s.rows_matched, s.rows,
                      ratio(static_cast<double>(s.rows_matched), static_cast<double>(s.rows)));
  if (s.matched > s.exact) {
    text += fmt::format(
        "note       {} kernels differ in grid, block, registers, shared memory or template "
        "arguments: their counters are of other launches (another batch, precision or version?)\n",
        s.matched - s.exact);
  }
  if (!std::isnan(s.profiled_clock_ghz)) {
    text += fmt::format(
        "clock      {:.3f} GHz under Nsight Compute; {:.3f} GHz implied by traced "
        "times\n",
        s.profiled_clock_ghz, s.implied_clock_ghz);
  }
  return text;
}

std::string utilization_table(const MatchSummary& s) {
  const auto row = [](std::string_view name, double kernels, double step) {
    return fmt::format("  {:<24} {}  {}\n", name, percent(kernels), percent(step));
  };
  return "\nutilization of          kernel time  whole step\n" +
         row("SMSPs, warp resident", s.kernel_time.smsp_active, s.step.smsp_active) +
         row("issue slots", s.kernel_time.smsp_issue, s.step.smsp_issue) +
         row("tensor cores, active", s.kernel_time.tc_active, s.step.tc_active) +
         row("tensor cores, issue", s.kernel_time.tc_issue, s.step.tc_issue);
}

std::string layers_table(const MatchReport& r) {
  std::string text =
      "\nby type of layer (share of kernel time; SMSP active, issue, tensor active)\n";
  for (std::size_t i = 0; i < std::min(most_listed, r.layers.size()); ++i) {
    const GroupUtilization& g = r.layers[i];
    text +=
        fmt::format("  {:<14} {:>5} x {}  {}  {}  {}\n", g.label, g.kernels,
                    percent(g.kernel_us / r.summary.kernel_us), percent(g.kernel_time.smsp_active),
                    percent(g.kernel_time.smsp_issue), percent(g.kernel_time.tc_active));
  }
  return text;
}

struct Group {
  std::int64_t count = 0;
  double us = 0;
};

std::string list_groups(std::string_view title, const std::map<std::string, Group>& groups) {
  if (groups.empty()) return {};
  std::vector<std::pair<std::string, Group>> rows(groups.begin(), groups.end());
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.second.us > b.second.us; });
  std::string text = fmt::format("\n{}\n", title);
  for (std::size_t i = 0; i < std::min(most_listed, rows.size()); ++i) {
    text += fmt::format("  {:>10.1f} us {:>5} x  {}\n", rows[i].second.us, rows[i].second.count,
                        rows[i].first);
  }
  if (rows.size() > most_listed) {
    text += fmt::format("  ... and {} more names\n", rows.size() - most_listed);
  }
  return text;
}

std::string unmatched_tables(const MatchReport& r) {
  std::map<std::string, Group> kernels;
  for (const KernelMatch& k : r.match.kernels) {
    if (k.quality >= MatchQuality::similar) continue;
    std::string name = shorten(r.trace.strings.get(r.trace.activities.name[k.activity]));
    if (k.substitute != no_row) {
      name += "\n                         in the report: " +
              shorten(r.counters.strings.get(r.counters.kernel[k.substitute]));
    }
    Group& group = kernels[name];
    ++group.count;
    group.us += to_us(r.trace.activities.duration[k.activity]);
  }
  std::map<std::string, Group> rows;
  for (std::size_t row = 0; row < r.counters.size(); ++row) {
    if (r.match.kernel_of_row[row] != no_row) continue;
    Group& group = rows[shorten(r.counters.strings.get(r.counters.kernel[row]))];
    const double ns = r.counters.value(Counter::duration_ns, row);
    ++group.count;
    group.us += std::isnan(ns) ? 0 : ns * 1e-3;
  }
  return list_groups("kernels of the step that the report does not hold", kernels) +
         list_groups("kernels of the report that the step does not hold", rows);
}

}  // namespace

MatchReport make_match_report(const Trace& trace, const Links& links, const WorkNames& names,
                              const CounterReport& counters, const StepMatch& match) {
  std::vector<std::string_view> labels;
  for (const KernelMatch& k : match.kernels) labels.push_back(names.layer[k.activity]);
  LossList losses = trace.losses;
  losses.merge(links.losses);
  losses.merge(counters.losses);
  count_foreign_rows(counters, match, losses);
  MatchSummary summary = summarize(trace, links, counters, match);
  count_contradicting(summary.contradicting, losses);
  return {trace,
          names,
          counters,
          match,
          std::move(summary),
          utilization_by(trace, counters, match, labels),
          std::move(losses)};
}

std::string match_summary_text(const MatchReport& r) {
  return headline(r) + losses_text(r.losses) + utilization_table(r.summary) + layers_table(r) +
         unmatched_tables(r);
}

}  // namespace tandem
