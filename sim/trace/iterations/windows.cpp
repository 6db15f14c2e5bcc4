#include "sim/trace/iterations/windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace tandem {
namespace {

/// Makes windows of ranges of issues.
class Windows {
 public:
  Windows(const Trace& trace, const Links& links, const std::vector<Issue>& issues)
      : trace_(trace), links_(links), issues_(issues) {}

  std::vector<StepWindow> of(const std::vector<TokenRange>& ranges) {
    std::vector<std::size_t> begins;
    for (const TokenRange& range : ranges) {
      begins.push_back(range.begin);
      if (range.end < issues_.size()) begins.push_back(range.end);
    }
    begins.erase(std::unique(begins.begin(), begins.end()), begins.end());
    find_cuts(begins);
    std::vector<StepWindow> out;
    for (const TokenRange& range : ranges) {
      StepWindow step;
      step.name = fmt::format("iteration {}", out.size() + 1);
      step.thread = issues_[range.begin].thread;
      step.begin = cuts_.at(range.begin);
      if (range.end < issues_.size()) {
        step.end = cuts_.at(range.end);
      } else {
        step.end = end_of_run(range, out.empty() ? nullptr : &out.back(), ranges, out.size());
      }
      out.push_back(std::move(step));
    }
    return out;
  }

 private:
  /// Where the host turns to each of the issues: where the outermost operation around it begins
  /// that holds nothing of the issue before.
  void find_cuts(const std::vector<std::size_t>& begins) {
    for (const std::size_t i : begins) cuts_[i] = issues_[i].begin;
    const auto widen = [&](const auto& rows) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        const TimePoint begin = rows.begin[r];
        const TimePoint end = begin + rows.duration[r];
        const auto at =
            std::lower_bound(begins.begin(), begins.end(), begin,
                             [&](std::size_t i, TimePoint t) { return issues_[i].begin < t; });
        if (at == begins.end() || issues_[*at].begin >= end) continue;
        if (issues_[*at].thread != rows.thread[r]) continue;
        if (*at > 0 && begin < issues_[*at - 1].end) continue;
        cuts_[*at] = std::min(cuts_[*at], begin);
      }
    };
    if (!issues_.front().thread.valid()) return;
    widen(trace_.ops);
    widen(trace_.annotations);
  }

  /// The end of the outermost span around `issue` that begins at `from` or later.
  TimePoint outer_end(const Issue& issue, TimePoint from) const {
    TimePoint end = issue.end;
    const auto cover = [&](const auto& rows) {
      for (std::size_t r = 0; r < rows.size(); ++r) {
        if (rows.thread[r] != issue.thread || rows.begin[r] < from) continue;
        const TimePoint row_end = rows.begin[r] + rows.duration[r];
        if (rows.begin[r] <= issue.begin && row_end > issue.begin) end = std::max(end, row_end);
      }
    };
    cover(trace_.ops);
    cover(trace_.annotations);
    return end;
  }

  /// Calls that begin in [from, to).
  std::vector<std::uint32_t> calls_within(TimePoint from, TimePoint to) const {
    std::vector<std::uint32_t> out;
    for (const std::uint32_t call : links_.calls_in_order) {
      if (trace_.calls.begin[call] >= from && trace_.calls.begin[call] < to) out.push_back(call);
    }
    return out;
  }

  /// Where an iteration ends that no other follows: with the last issue and the calls that the
  /// iteration before it made behind its last one (records, waits for the device).
  TimePoint end_of_run(const TokenRange& range, const StepWindow* before,
                       const std::vector<TokenRange>& ranges, std::size_t number) const {
    const Issue& last = issues_[range.end - 1];
    if (!last.thread.valid()) return device_end();
    TimePoint end = outer_end(last, cuts_.at(range.begin));
    if (before == nullptr) return end;
    const auto usual = calls_within(issues_[ranges[number - 1].end - 1].end, before->end);
    const auto here = calls_within(last.end, TimePoint::max());
    for (std::size_t i = 0; i < std::min(usual.size(), here.size()); ++i) {
      if (trace_.calls.name[here[i]] != trace_.calls.name[usual[i]]) break;
      const TimePoint begin = trace_.calls.begin[here[i]];
      const Issue call{begin, begin + trace_.calls.duration[here[i]], trace_.calls.thread[here[i]]};
      end = std::max(end, outer_end(call, last.end));
    }
    return end;
  }

  TimePoint device_end() const {
    TimePoint end = TimePoint::min();
    for (std::size_t a = 0; a < trace_.activities.size(); ++a) {
      end = std::max(end, trace_.activities.begin[a] + trace_.activities.duration[a]);
    }
    return end;
  }

  const Trace& trace_;
  const Links& links_;
  const std::vector<Issue>& issues_;
  std::unordered_map<std::size_t, TimePoint> cuts_;
};

}  // namespace

std::vector<StepWindow> windows_of(const Trace& trace, const Links& links,
                                   const std::vector<Issue>& issues,
                                   const std::vector<TokenRange>& ranges) {
  return Windows(trace, links, issues).of(ranges);
}

}  // namespace tandem
