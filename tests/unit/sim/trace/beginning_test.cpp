// Of a trace with more events than are held, the beginning is kept, in whole steps.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "sim/trace/importers/importers.h"
#include "sim/trace/links.h"
#include "sim/trace/step_search.h"
#include "tests/import_files.h"
#include "tests/unit/executor_for_tests.h"

namespace tandem {
namespace {

using test::span;
using test::TempFile;

Trace read_first(const std::vector<std::string>& events, std::size_t most_rows) {
  std::string text;
  for (const std::string& event : events) text += (text.empty() ? "" : ",") + event;
  const TempFile file(test::kineto(text));
  ByteSource source(file.path());
  return read_kineto(source, most_rows);
}

std::string event(const std::string& cat, const std::string& name, int ts, int dur,
                  const std::string& args = "") {
  return R"({"ph":"X","pid":1,"tid":1,"cat":")" + cat + R"(","name":")" + name + R"(","ts":)" +
         std::to_string(ts) + R"(,"dur":)" + std::to_string(dur) + R"(,"args":{)" + args + "}}";
}

std::string device_event(int ts, int id) {
  return event("kernel", "gemm", ts, 10,
               R"("device":0,"stream":7,"grid":[1,1,1],"block":[32,1,1],"correlation":)" +
                   std::to_string(id));
}

/// Steps of 1000 us, each with its mark, an operation, a launch after 100 us and its kernel `lag`
/// us later. As PyTorch writes them, marks and operations come first.
std::vector<std::string> run_of(int steps, int lag) {
  std::vector<std::string> events;
  for (int k = 0; k < steps; ++k) {
    const int at = 1000 * k;
    events.push_back(event("user_annotation", "ProfilerStep#" + std::to_string(k), at, 1000));
    events.push_back(event("cpu_op", "aten::mm", at + 10, 500));
  }
  for (int k = 0; k < steps; ++k) {
    const int at = 1000 * k + 100;
    events.push_back(event("cuda_runtime", "cudaLaunchKernel", at, 5,
                           R"("correlation":)" + std::to_string(k + 1)));
    events.push_back(device_event(at + lag, k + 1));
  }
  return events;
}

TEST(Beginning, AllIsKeptOfATraceThatFits) {
  const Trace t = read_first(run_of(10, 200), 40);
  EXPECT_EQ(t.annotations.size(), 10u);
  EXPECT_EQ(t.activities.size(), 10u);
  EXPECT_TRUE(t.losses.all().empty());
}

// 20 rows are full after the marks and operations: what begins at 5000 us or later goes. They are
// full again after the kernel of the fifth step: now the middle of the 20, the launch of the third
// step at 2100 us, is where the trace ends, and two steps are whole by then.
TEST(Beginning, TheFirstWholeStepsAreKept) {
  const Trace t = read_first(run_of(10, 200), 20);
  ASSERT_EQ(t.annotations.size(), 2u);
  EXPECT_EQ(t.annotations.step[1], 1);
  EXPECT_EQ(t.ops.size(), 3u);
  EXPECT_EQ(t.calls.size(), 2u);
  EXPECT_EQ(t.activities.size(), 2u);
  EXPECT_EQ(t.losses.count("later_events"), 40 - 9);
  EXPECT_EQ(t.losses.all().front().severity, Severity::warning);
  EXPECT_NE(t.losses.all().front().description.find("behind the first 0.002 s"), std::string::npos);
}

// Kernels come 1500 us after their launch. The fifth step's would begin at 5600 us, which is not
// kept, so the trace ends with its launch at 4100 us: four steps, with the fourth step's kernel,
// which begins later than that, at 4600 us.
TEST(Beginning, AStepWhoseDeviceWorkIsMissingIsNotWhole) {
  const Trace t = read_first(run_of(10, 1500), 20);
  EXPECT_EQ(t.annotations.size(), 4u);
  EXPECT_EQ(t.ops.size(), 5u);
  EXPECT_EQ(t.calls.size(), 4u);
  ASSERT_EQ(t.activities.size(), 4u);
  EXPECT_EQ(t.activities.begin[3], t.calls.begin[3] + from_us(1500));
}

TEST(Beginning, WhateverTheOrderOfTheFileItIsTheBeginning) {
  std::vector<std::string> events = run_of(200, 200);
  std::mt19937 random(7);
  int orders = 0;
  for (; orders < 20; ++orders) {
    std::shuffle(events.begin(), events.end(), random);
    const Trace t = read_first(events, 100);
    const std::size_t steps = t.annotations.size();
    // At least half of the rows stay when the later half goes, but for the end that is not whole.
    EXPECT_GE(steps, 100u / 2 / 4 - 2);
    EXPECT_LE(t.ops.size() + t.calls.size() + t.activities.size() + steps, 100u);
    for (const std::int64_t step : t.annotations.step) {
      EXPECT_LT(step, static_cast<std::int64_t>(steps));  // 0 .. steps - 1, none is missing
    }
    EXPECT_GE(t.activities.size(), steps);
  }
  EXPECT_EQ(orders, 20);
}

std::string error_of(const std::vector<std::string>& events, std::size_t most_rows) {
  try {
    read_first(events, most_rows);
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(Beginning, AStepThatDoesNotFitIsAnError) {
  std::vector<std::string> events = {event("user_annotation", "ProfilerStep#1", 0, 100'000)};
  for (int i = 0; i < 50; ++i) events.push_back(event("cpu_op", "aten::mm", 100 * i, 50));
  EXPECT_NE(error_of(events, 20).find("expected steps of fewer than 10 events"), std::string::npos);
  EXPECT_EQ(error_of(events, 60), "");
}

TEST(Beginning, EventsThatAllBeginAtOnceAreAnError) {
  const std::vector<std::string> events(50, event("cpu_op", "aten::mm", 100, 50));
  EXPECT_NE(error_of(events, 20).find("found 20 events within a microsecond"), std::string::npos);
}

TEST(Beginning, HowOftenACutTraceRepeatsItselfCannotBeSaid) {
  const Trace t = read_first(run_of(10, 200), 20);
  Links links = link_trace(t);
  EXPECT_EQ(links.steps.size(), 2u);
  EXPECT_THROW(choose_steps(t, {"", 10}, links), InputError);
  const Trace whole = read_first(run_of(10, 200), 40);
  Links all = link_trace(whole);
  choose_steps(whole, {"", 10}, all);
  EXPECT_EQ(all.steps.size(), 10u);
}

// Ten operations, then their nodes: what a node belongs to is known after rows went.
TEST(Beginning, NodesOfAnExecutorKeepTheirOperations) {
  std::string text;
  for (int i = 0; i < 10; ++i) {
    text += span(1, 100 * i, 20, "EagerLocalExecute: Op" + std::to_string(i)) + ",";
  }
  for (int i = 0; i < 10; ++i) {
    text += span(2, 100 * i + 50, 20, "EagerKernelExecute") + (i < 9 ? "," : "");
  }
  const TempFile file(test::executor_file(text));
  ByteSource source(file.path());
  const Trace t = read_xprof(source, 8);
  ASSERT_GE(t.nodes.size(), 2u);
  for (std::size_t node = 0; node < t.nodes.size(); ++node) {
    EXPECT_EQ(t.strings.get(t.ops.name[t.nodes.op[node]]), "Op" + std::to_string(node));
  }
}

}  // namespace
}  // namespace tandem
