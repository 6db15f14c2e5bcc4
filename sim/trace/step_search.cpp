#include "sim/trace/step_search.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "sim/core/median.h"
#include "sim/core/named.h"
#include "sim/trace/beginning.h"
#include "sim/trace/iterations/issues.h"
#include "sim/trace/iterations/repetition.h"
#include "sim/trace/iterations/windows.h"
#include "sim/trace/named_spans.h"

namespace tandem {

namespace {

/// A first step that takes so many times the others' is a warm-up.
constexpr double slow_first = 1.3;
/// The same where there is one other step only, which may itself be off.
constexpr double slow_first_of_two = 1.6;
/// What follows the last mark is an iteration if it launches so many times what the others do.
constexpr double whole_iteration = 0.9;
constexpr std::size_t names_shown = 8;

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
    links.steps = windows_of(trace, links, issues.issue, found.ranges);
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
