#include "sim/trace/step_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>

#include "sim/core/median.h"
#include "sim/core/named.h"
#include "sim/trace/beginning.h"
#include "sim/trace/named_spans.h"
#include "sim/trace/repetition.h"
#include "sim/trace/row_order.h"

namespace tandem {

namespace {

/// A first step that takes so many times the others' is a warm-up.
constexpr double slow_first = 1.3;
/// The same where there is one other step only, which may itself be off.
constexpr double slow_first_of_two = 1.6;
/// What follows the last mark is an iteration if it launches so many times what the others do.
constexpr double whole_iteration = 0.9;
constexpr std::size_t names_shown = 8;

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

/// Numbers keys in the order in which they are first seen.
template <class Key>
class Numbering {
 public:
  std::uint32_t operator()(const Key& key) {
    return numbers_.try_emplace(key, static_cast<std::uint32_t>(numbers_.size())).first->second;
  }

 private:
  std::map<Key, std::uint32_t> numbers_;
};

void append(TokenSequence& to, std::uint32_t token, bool essential) {
  to.token.push_back(token);
  if (token == to.essential.size()) to.essential.push_back(essential);
}

/// The stream with the most kernels: what it runs, it runs in the order of the launches.
std::size_t main_stream(const Trace& trace) {
  std::vector<std::size_t> kernels(trace.streams.size(), 0);
  for (std::size_t i = 0; i < trace.activities.size(); ++i) {
    if (trace.activities.kind[i] != ActivityKind::kernel) continue;
    ++kernels[trace.activities.stream[i].index()];
  }
  return static_cast<std::size_t>(std::max_element(kernels.begin(), kernels.end()) -
                                  kernels.begin());
}

bool any_launched(const Links& links) {
  return std::any_of(links.call_of_activity.begin(), links.call_of_activity.end(),
                     [](std::uint32_t call) { return call != no_row; });
}

Issue issue_of(const Trace& trace, const Links& links, std::uint32_t activity) {
  const std::uint32_t call = links.call_of_activity[activity];
  if (call == no_row) {
    const TimePoint begin = trace.activities.begin[activity];
    return {begin, begin + trace.activities.duration[activity], {}};
  }
  const TimePoint begin = trace.calls.begin[call];
  return {begin, begin + trace.calls.duration[call], trace.calls.thread[call]};
}

/// The activities `rows`; where launches are known, those without one were launched before the
/// trace began and belong to no iteration.
Issues issues_of_device(const Trace& trace, const Links& links, std::vector<std::uint32_t> rows) {
  const Activities& acts = trace.activities;
  if (any_launched(links)) {
    std::erase_if(rows, [&](std::uint32_t a) { return links.call_of_activity[a] == no_row; });
  }
  std::vector<std::pair<TimePoint, TimePoint>> order(acts.size());
  for (const std::uint32_t a : rows) {
    order[a] = {issue_of(trace, links, a).begin, acts.begin[a]};
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return order[a] < order[b]; });
  Issues out;
  Numbering<std::pair<std::uint32_t, std::uint32_t>> launches;
  Numbering<std::uint32_t> names;
  for (const std::uint32_t a : rows) {
    out.issue.push_back(issue_of(trace, links, a));
    const bool kernel = acts.kind[a] == ActivityKind::kernel;
    const std::uint32_t name = acts.name[a].value;
    append(out.by_launch, launches({name, acts.geometry[a].value}), kernel);
    append(out.by_name, names(name), kernel);
  }
  return out;
}

/// Of a runtime without a GPU: its nodes in the order in which the program enqueued them.
Issues issues_of_nodes(const Trace& trace) {
  const HostOps& ops = trace.ops;
  std::vector<std::uint32_t> rows(trace.nodes.op.begin(), trace.nodes.op.end());
  sort_by_begin(ops, rows);
  Issues out;
  Numbering<std::pair<std::uint32_t, std::uint32_t>> calls;
  Numbering<std::uint32_t> names;
  for (const std::uint32_t op : rows) {
    out.issue.push_back({ops.begin[op], ops.begin[op] + ops.duration[op], ops.thread[op]});
    append(out.by_launch, calls({ops.name[op].value, ops.operands[op].value}), true);
    append(out.by_name, names(ops.name[op].value), true);
  }
  return out;
}

/// All device work, in the order of the launches.
Issues issues_of(const Trace& trace, const Links& links) {
  if (trace.activities.size() == 0) return issues_of_nodes(trace);
  std::vector<std::uint32_t> rows(trace.activities.size());
  std::iota(rows.begin(), rows.end(), 0U);
  return issues_of_device(trace, links, std::move(rows));
}

/// What the main stream runs, where there are others: those may do other things each time.
std::optional<Issues> issues_of_main_stream(const Trace& trace, const Links& links) {
  if (trace.activities.size() == 0 || trace.streams.size() < 2) return {};
  const auto rows = links.activities_of_stream.of(main_stream(trace));
  return issues_of_device(trace, links, {rows.begin(), rows.end()});
}

/// Positions of the first issue that begins at or after each time; times ascend. Threads overlap,
/// so issues are not sorted by begin.
std::vector<std::size_t> positions(const std::vector<Issue>& issues,
                                   const std::vector<TimePoint>& times) {
  std::vector<std::size_t> out;
  std::size_t at = 0;
  for (const TimePoint time : times) {
    while (at < issues.size() && issues[at].begin < time) ++at;
    out.push_back(at);
  }
  return out;
}

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

std::vector<TimePoint> ends_of(const std::vector<HostSpan>& spans) {
  std::vector<TimePoint> out;
  for (const HostSpan& span : spans) out.push_back(span.end);
  return out;
}

std::vector<TimePoint> begins_of(const std::vector<HostSpan>& spans) {
  std::vector<TimePoint> out;
  for (const HostSpan& span : spans) out.push_back(span.begin);
  return out;
}

/// The ranges between positions, and from the last one on.
std::vector<TokenRange> ranges_from(const std::vector<std::size_t>& begins, std::size_t end) {
  std::vector<TokenRange> out;
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const std::size_t until = i + 1 < begins.size() ? begins[i + 1] : end;
    if (until > begins[i]) out.push_back({begins[i], until});
  }
  return out;
}

std::string annotation_names(const Trace& trace) {
  std::set<std::string_view> names;
  for (const StringId name : trace.annotations.name) names.insert(text_of(trace, name));
  std::string text;
  for (const std::string_view name : names) {
    text += fmt::format("{}\"{}\"", text.empty() ? "" : ", ", name);
    if (names.size() > names_shown && text.size() > 200) return text + " ...";
  }
  return text.empty() ? "an annotation (torch.profiler.record_function), of which there is none"
                      : "one of the annotations: " + text;
}

/// What was found, before it becomes windows.
struct Found {
  std::vector<TokenRange> ranges;
  StepsBy by = StepsBy::nothing;
  bool warm_up = false;
  bool alike = true;
  bool rest = false;  // something followed that is no iteration
};

/// Of a long trace the beginning is kept, which may end within an iteration.
bool is_beginning(const Trace& trace) { return trace.losses.count(later_events) > 0; }

/// Leaves out what follows the last mark where that is less than an iteration: marks may stand at
/// the end of each, or the trace may end within one.
bool drop_rest(std::vector<TokenRange>& ranges) {
  if (ranges.size() < 2) return false;
  std::vector<std::size_t> others;
  for (std::size_t i = 0; i + 1 < ranges.size(); ++i)
    others.push_back(ranges[i].end - ranges[i].begin);
  const double last = static_cast<double>(ranges.back().end - ranges.back().begin);
  if (last >= whole_iteration * static_cast<double>(median(std::move(others)))) return false;
  ranges.pop_back();
  return true;
}

Found by_annotation(const Trace& trace, const Issues& issues, const std::string& name) {
  const auto spans = spans_named(trace, [&](std::string_view text) { return text == name; });
  if (spans.empty()) {
    throw InputError(trace.path, "--step", "\"" + name + "\", which no event is called",
                     annotation_names(trace));
  }
  Found out;
  out.by = StepsBy::annotation;
  out.ranges = ranges_from(positions(issues.issue, begins_of(spans)), issues.issue.size());
  if (out.ranges.empty()) {
    throw InputError(trace.path, "--step", "\"" + name + "\", after which no device work follows",
                     "an annotation that begins each step");
  }
  if (is_beginning(trace) && out.ranges.size() > 1) out.ranges.pop_back();
  out.rest = drop_rest(out.ranges);
  return out;
}

Found by_repetition(const Issues& issues, std::size_t count) {
  for (const TokenSequence* tokens : {&issues.by_launch, &issues.by_name}) {
    if (auto found = find_repetition(*tokens, count)) {
      return {std::move(found->iterations), StepsBy::repetition, found->other_first, true};
    }
  }
  return {};
}

/// Iterations that end with the optimizer, whose updates are `spans`; a single one is the whole
/// trace.
Found by_optimizer(const std::vector<HostSpan>& spans, const Issues& issues) {
  if (spans.empty()) return {};
  const std::vector<std::size_t> ends = positions(issues.issue, ends_of(spans));
  if (ends.size() == 1) return {{{0, issues.issue.size()}}, StepsBy::optimizer, false, true};
  for (const TokenSequence* tokens : {&issues.by_launch, &issues.by_name}) {
    if (auto found = find_repetition(*tokens, std::span<const std::size_t>(ends))) {
      return {std::move(found->iterations), StepsBy::optimizer, found->other_first, true};
    }
  }
  return {};
}

Found by_count(const Trace& trace, const Issues& issues, std::int64_t count) {
  if (is_beginning(trace)) {
    throw InputError(trace.path, "--steps", std::to_string(count),
                     fmt::format("no --steps: only the beginning of so long a trace is kept ({})",
                                 later_events));
  }
  const std::size_t n = issues.issue.size();
  if (count < 1 || static_cast<std::size_t>(count) > n) {
    throw InputError(trace.path, "--steps", std::to_string(count),
                     fmt::format("1 to {}, the device work of its main stream", n));
  }
  const auto steps = static_cast<std::size_t>(count);
  if (steps == 1) return {{{0, n}}, StepsBy::count, false, true};
  Found out = by_optimizer(optimizer_spans(trace), issues);
  if (out.ranges.size() != steps) out = by_repetition(issues, steps);
  if (out.ranges.size() == steps) return out;
  out = {{}, StepsBy::count, false, false};
  for (std::size_t i = 0; i < steps; ++i)
    out.ranges.push_back({i * n / steps, (i + 1) * n / steps});
  return out;
}

Found search(const Trace& trace, const Issues& issues) {
  // Where an optimizer is marked it says what an iteration is, and nothing else does.
  const std::vector<HostSpan> updates = optimizer_spans(trace);
  return updates.empty() ? by_repetition(issues, 0) : by_optimizer(updates, issues);
}

/// Leaves out a first step that is much slower than the others.
bool drop_slow_first(std::vector<StepWindow>& steps) {
  if (steps.size() < 2) return false;
  std::vector<Duration> others;
  for (std::size_t i = 1; i < steps.size(); ++i) others.push_back(steps[i].end - steps[i].begin);
  const double limit = others.size() == 1 ? slow_first_of_two : slow_first;
  const Duration first = steps.front().end - steps.front().begin;
  if (to_us(first) <= limit * to_us(median(std::move(others)))) return false;
  steps.erase(steps.begin());
  return true;
}

void report(const Found& found, bool dropped, Links& links) {
  links.losses.add(
      "no_repetition", Severity::warning,
      "no steps are marked and nothing repeats itself: the whole trace is taken as one "
      "step (--steps N or --step NAME says otherwise)",
      found.by == StepsBy::nothing ? 1 : 0);
  links.losses.add("warm_up_step", Severity::warning,
                   "the first iteration ran other kernels or took much longer than the others: a "
                   "warm-up, which was left out",
                   found.warm_up || dropped ? 1 : 0);
  links.losses.add("rest_after_last_mark", Severity::warning,
                   "device work after the last mark that launches less than the steps before it "
                   "do: no step of its own, it was left out",
                   found.rest ? 1 : 0);
  links.losses.add("steps_not_alike", Severity::warning,
                   "the trace does not repeat itself as often as --steps says: it was cut into "
                   "parts of equally much device work",
                   found.alike ? 0 : 1);
}

}  // namespace

void choose_steps(const Trace& trace, const StepChoice& choice, Links& links) {
  const bool asked = !choice.annotation.empty() || choice.count != 0;
  if (!asked && links.steps_by == StepsBy::marks) return;
  Issues issues = issues_of(trace, links);
  Found found = !choice.annotation.empty() ? by_annotation(trace, issues, choice.annotation)
                : choice.count != 0        ? by_count(trace, issues, choice.count)
                                           : search(trace, issues);
  if (found.by == StepsBy::nothing) {
    if (auto main = issues_of_main_stream(trace, links)) {
      issues = std::move(*main);
      found = search(trace, issues);
    }
  }
  bool dropped = false;
  if (found.by != StepsBy::nothing) {
    links.steps = Windows(trace, links, issues.issue).of(found.ranges);
    // Of parts that were cut alike, the first is what the user asked for.
    dropped = found.alike && drop_slow_first(links.steps);
  }
  links.steps_by = found.by;
  report(found, dropped, links);
}

std::string_view to_string(StepsBy by) {
  constexpr std::string_view names[] = {"marks",      "annotation", "optimizer",
                                        "repetition", "count",      "nothing"};
  static_assert(std::size(names) == values_up_to(StepsBy::nothing));
  return names[static_cast<std::size_t>(by)];
}

}  // namespace tandem
