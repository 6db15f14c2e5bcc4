// What an eager runtime with an executor writes into XProf's traces.
#include <gtest/gtest.h>

#include "tests/unit/executor_for_tests.h"

namespace tandem {
namespace {

using test::asynchronous_events;
using test::executor_file;
using test::import_text;
using test::span;

std::string_view op_of(const Trace& t, std::size_t node) {
  return t.strings.get(t.ops.name[t.nodes.op[node]]);
}

TEST(ImportExecutor, NodesBelongToOperationsInTheOrderOfTheQueue) {
  const Trace t = import_text(executor_file(asynchronous_events()));
  EXPECT_EQ(t.framework, Framework::tensorflow);
  EXPECT_EQ(t.stated_batch, 8);
  ASSERT_EQ(t.nodes.size(), 2u);
  EXPECT_EQ(op_of(t, 0), "Conv2D");
  EXPECT_EQ(op_of(t, 1), "Relu");
  EXPECT_EQ(t.nodes.begin[0], test::at_us(40));
  EXPECT_EQ(t.threads[t.nodes.thread[0].index()].name, "eager_async_executor");
  ASSERT_EQ(t.value_waits.size(), 1u);
  EXPECT_EQ(t.value_waits.duration[0], from_us(90));
  EXPECT_TRUE(t.losses.all().empty());
}

TEST(ImportExecutor, ANodeWithinItsOperationRanSynchronously) {
  const Trace t = import_text(executor_file(span(1, 10, 50, "EagerLocalExecute: Conv2D") + "," +
                                            span(1, 20, 35, "EagerKernelExecute") + "," +
                                            span(1, 70, 20, "EagerLocalExecute: Relu") + "," +
                                            span(1, 75, 10, "EagerKernelExecute")));
  ASSERT_EQ(t.nodes.size(), 2u);
  EXPECT_EQ(op_of(t, 0), "Conv2D");
  EXPECT_EQ(op_of(t, 1), "Relu");
  EXPECT_EQ(t.nodes.thread[0], t.ops.thread[t.nodes.op[0]]);
}

// Two nodes within one operation both ran for it; what is left out are the operations without any.
TEST(ImportExecutor, SeveralNodesMayLieInOneOperation) {
  const std::string twice = span(1, 10, 50, "EagerLocalExecute: Conv2D") + "," +
                            span(1, 20, 15, "EagerKernelExecute") + "," +
                            span(1, 40, 15, "EagerKernelExecute");
  const Trace t = import_text(executor_file(twice));
  ASSERT_EQ(t.nodes.size(), 2u);
  EXPECT_EQ(t.nodes.op[0], t.nodes.op[1]);
  EXPECT_EQ(t.losses.count("node_without_operation"), 0);
  const Trace more =
      import_text(executor_file(twice + "," + span(1, 70, 20, "EagerLocalExecute: Relu")));
  EXPECT_EQ(more.nodes.size(), 2u);
  EXPECT_EQ(more.losses.count("node_without_operation"), 1);
}

TEST(ImportExecutor, WhatTheWindowCutOffIsLeftOutAndCounted) {
  const Trace t =
      import_text(executor_file(span(2, 1, 5, "EagerKernelExecute") + "," + asynchronous_events() +
                                "," + span(1, 190, 5, "EagerLocalExecute: Mean")));
  ASSERT_EQ(t.nodes.size(), 2u);
  EXPECT_EQ(op_of(t, 0), "Conv2D");
  EXPECT_EQ(t.losses.count("node_without_operation"), 2);  // a node and the last operation
}

}  // namespace
}  // namespace tandem
