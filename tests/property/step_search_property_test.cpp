// Iterations found in captures whose step marks were taken away are the marked ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "sim/trace/import.h"
#include "sim/trace/step_search.h"
#include "tests/captures.h"

namespace tandem {
namespace {

/// Device work that is issued in each step, by the host or, where nothing is known of it, when it
/// runs.
std::vector<std::size_t> works_of_steps(const Trace& trace, const Links& links) {
  std::vector<std::size_t> works(links.steps.size(), 0);
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const std::uint32_t call = links.call_of_activity[a];
    const TimePoint issued = call == no_row ? trace.activities.begin[a] : trace.calls.begin[call];
    for (std::size_t s = 0; s < works.size(); ++s) {
      works[s] += issued >= links.steps[s].begin && issued < links.steps[s].end;
    }
  }
  return works;
}

Annotations without(const Annotations& notes, const std::function<bool(std::size_t)>& dropped) {
  Annotations out;
  for (std::size_t i = 0; i < notes.size(); ++i) {
    if (dropped(i)) continue;
    each_column([&](const auto& from, auto& to) { to.push_back(from[i]); }, notes, out);
  }
  return out;
}

/// Device work of each marked step; nothing unless there are at least two of equally much.
std::vector<std::size_t> equal_marked_steps(const Trace& trace) {
  if (trace.activities.size() == 0) return {};
  const Links links = link_trace(trace);
  if (links.steps_by != StepsBy::marks) return {};
  const std::vector<std::size_t> marked = works_of_steps(trace, links);
  const bool alike =
      std::all_of(marked.begin(), marked.end(), [&](std::size_t n) { return n == marked.front(); });
  if (!alike || marked.size() < 2 || marked.front() < 3) return {};
  return marked;
}

/// Whether the iterations found are the marked ones, less a warm-up.
void expect_marked(const Trace& trace, const std::vector<std::size_t>& marked) {
  Links links = link_trace(trace);
  ASSERT_EQ(links.steps_by, StepsBy::nothing);
  choose_steps(trace, {}, links);
  const auto warm_up = static_cast<std::size_t>(links.losses.count("warm_up_step"));
  EXPECT_EQ(links.steps.size() + warm_up, marked.size()) << to_string(links.steps_by);
  for (const std::size_t works : works_of_steps(trace, links)) EXPECT_EQ(works, marked.front());
}

void expect_marked_without_the_profilers_marks(Trace& trace,
                                               const std::vector<std::size_t>& marked) {
  SCOPED_TRACE("without the profiler's marks");
  const Column<std::int64_t>& step = trace.annotations.step;
  trace.annotations = without(trace.annotations, [&](std::size_t i) { return step[i] >= 0; });
  expect_marked(trace, marked);
}

void expect_marked_without_any_annotation(Trace& trace, const std::vector<std::size_t>& marked) {
  SCOPED_TRACE("without any annotation");
  trace.annotations = {};
  expect_marked(trace, marked);
}

void expect_marked_of_the_device_alone(Trace& trace, const std::vector<std::size_t>& marked) {
  SCOPED_TRACE("of the device alone");
  // Iterations launched before the marked ones still run: they are found as well.
  if (trace.activities.size() != marked.size() * marked.front()) return;
  trace.annotations = {};
  trace.ops = {};
  trace.calls = {};
  expect_marked(trace, marked);
}

// One test, for reading a capture takes longer than what is checked of it: each check takes more of
// the trace away.
TEST(StepSearchProperty, IterationsAreFoundWithoutMarksWithoutAnnotationsAndOfTheDeviceAlone) {
  std::size_t cases = 0;
  for (const std::string& path : test::captures(240)) {
    // A graph whose first nodes are alike to its last: the cut lies 12 of 529 nodes off the marks.
    if (path.find("efficientnet_b0-infer-amp-cudagraph-b16") != std::string::npos) continue;
    // The same of an eager encoder of pictures in FP16, 4 of 546 launches.
    if (path.find("aimv2-infer-fp16w-eager-b96") != std::string::npos) continue;
    // Experts that get other words in each step launch other kernels: nothing repeats itself, as
    // many as they are, and a trace without marks is said to hold one step.
    if (path.find("routed-train-amp") != std::string::npos) continue;
    // An answer that is four equal blocks and one copy: each block is taken for an iteration.
    if (path.find("residue_pairs-infer") != std::string::npos) continue;
    SCOPED_TRACE(path);
    Trace trace = import_trace(path);
    const std::vector<std::size_t> marked = equal_marked_steps(trace);
    if (marked.empty()) continue;
    expect_marked_without_the_profilers_marks(trace, marked);
    expect_marked_without_any_annotation(trace, marked);
    expect_marked_of_the_device_alone(trace, marked);
    ++cases;
  }
  EXPECT_GE(cases, 75U);
}

}  // namespace
}  // namespace tandem
