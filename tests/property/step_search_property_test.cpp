// Iterations found in captures whose step marks were taken away are the marked ones.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

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

struct Capture {
  std::string path;
  Trace trace;
  std::vector<std::size_t> marked;  // device work of each marked step
};

/// Captures of at least two marked steps of equally much device work.
void for_every_capture(const std::function<void(Capture&)>& check) {
  std::size_t cases = 0;
  for (const std::string& path : test::captures(1)) {
    Capture capture{path, import_trace(path), {}};
    if (capture.trace.activities.size() == 0) continue;
    const Links links = link_trace(capture.trace);
    if (links.steps_by != StepsBy::marks) continue;
    capture.marked = works_of_steps(capture.trace, links);
    const std::size_t one = capture.marked.front();
    const bool alike = std::all_of(capture.marked.begin(), capture.marked.end(),
                                   [&](std::size_t n) { return n == one; });
    if (!alike || capture.marked.size() < 2 || one < 3) continue;
    // A graph whose first nodes are alike to its last: the cut lies 12 of 529 nodes off the marks.
    if (capture.path.find("efficientnet_b0-infer-amp-cudagraph-b16") != std::string::npos) continue;
    SCOPED_TRACE(capture.path);
    check(capture);
    ++cases;
  }
  EXPECT_GE(cases, 75U);
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

TEST(StepSearchProperty, WithoutTheProfilersMarks) {
  for_every_capture([](Capture& c) {
    const Column<std::int64_t>& step = c.trace.annotations.step;
    c.trace.annotations = without(c.trace.annotations, [&](std::size_t i) { return step[i] >= 0; });
    expect_marked(c.trace, c.marked);
  });
}

TEST(StepSearchProperty, WithoutAnyAnnotation) {
  for_every_capture([](Capture& c) {
    c.trace.annotations = {};
    expect_marked(c.trace, c.marked);
  });
}

TEST(StepSearchProperty, OfTheDeviceAlone) {
  for_every_capture([](Capture& c) {
    // Iterations launched before the marked ones still run: they are found as well.
    if (c.trace.activities.size() != c.marked.size() * c.marked.front()) return;
    c.trace.annotations = {};
    c.trace.ops = {};
    c.trace.calls = {};
    expect_marked(c.trace, c.marked);
  });
}

}  // namespace
}  // namespace tandem
