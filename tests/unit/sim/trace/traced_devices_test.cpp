// Which GPU a trace is of.
#include "sim/trace/traced_devices.h"

#include <gtest/gtest.h>

#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

// Device 0 is named first and runs 10 us, device 1 two kernels of 20.
TEST(TracedDevices, TheBusiestComesFirst) {
  test::TraceMaker m;
  m.kernel(0, 10, 1);
  m.kernel(20, 20, 2);
  m.kernel(50, 20, 3);
  Trace& trace = m.trace;
  trace.devices = {{0, "first", 0, 7, 0, 80}, {1, "second", 0, 9, 0, 132}};
  const StreamId other(static_cast<std::uint32_t>(trace.streams.size()));
  trace.streams.push_back({1, 0, 7});
  trace.activities.stream[1] = trace.activities.stream[2] = other;
  order_devices(trace);
  EXPECT_EQ(trace.devices.front().name, "second");
  EXPECT_EQ(trace.losses.count("several_devices"), 1);
}

TEST(TracedDevices, OneDeviceIsNoLoss) {
  test::TraceMaker m;
  m.kernel(0, 10, 1);
  order_devices(m.trace);
  EXPECT_TRUE(m.trace.losses.all().empty());
}

}  // namespace
}  // namespace tandem
