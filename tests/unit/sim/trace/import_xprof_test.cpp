#include <gtest/gtest.h>

#include "tests/import_files.h"

namespace tandem {
namespace {

using test::import_text;

std::string xprof(std::string_view events) {
  return R"j({"displayTimeUnit":"ns","metadata":{"highres-ticks":true},"traceEvents":[
    {"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},
    {"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute,MemcpyD2D)"}},
    {"ph":"M","pid":1,"tid":99,"name":"thread_name","args":{"name":"TensorFlow Ops"}},
    {"ph":"M","pid":501,"name":"process_name","args":{"name":"/host:CPU"}},
    {"ph":"M","pid":501,"tid":7,"name":"thread_name","args":{"name":"python3"}},)j" +
         std::string(events) + ",{}]}";
}

TEST(Xprof, ReadsDeviceActivities) {
  const Trace t = import_text(xprof(
      R"({"ph":"X","pid":1,"tid":13,"ts":10125.447,"dur":1.248,"name":"fusion_38","args":{
          "context_id":"$$1","correlation_id":"12","hlo_module":"jit_step","kernel_details":
          "regs:26 static_shared:2112 dynamic_shared:100 grid:10,2,1 block:128,1,1 occ_pct:100"}},
         {"ph":"X","pid":1,"tid":13,"ts":10178.215,"dur":6.976,"name":"Memset 3","args":{
          "Memset_details":"kind:device num_bytes:26849792 async:1","correlation_id":"13"}},
         {"ph":"X","pid":1,"tid":13,"ts":10190.5,"dur":28.0,"name":"MemcpyH2D","args":{
          "memcpy_details":"size:4096 dest:0 async:1","correlation_id":"14"}},
         {"ph":"X","pid":1,"tid":99,"ts":10125.447,"dur":1.248,"name":"Conv2D"})"));
  EXPECT_EQ(t.format, "xprof");
  EXPECT_EQ(t.framework, Framework::jax);
  EXPECT_EQ(t.origin_us, 10125);
  ASSERT_EQ(t.activities.size(), 3u);
  EXPECT_EQ(t.activities.begin[0], TimePoint{nanoseconds(447)});
  EXPECT_EQ(t.activities.duration[0], nanoseconds(1248));
  EXPECT_EQ(t.activities.correlation[0], 12);
  const LaunchGeometry expected{{10, 2, 1}, {128, 1, 1}, 26, 2212};
  EXPECT_EQ(t.geometries[t.activities.geometry[0].index()], expected);
  EXPECT_EQ(t.activities.kind[1], ActivityKind::memset);
  EXPECT_EQ(t.activities.bytes[1], 26849792);
  EXPECT_EQ(t.activities.kind[2], ActivityKind::memcpy);
  EXPECT_EQ(t.activities.bytes[2], 4096);
  ASSERT_EQ(t.streams.size(), 2u);  // the copies do not name a context here
  EXPECT_EQ(t.streams[0].stream, 13);
  EXPECT_EQ(t.streams[0].context, 1);
  EXPECT_EQ(t.losses.count("ignored_derived_row"), 1);
  EXPECT_EQ(t.losses.count("ignored_empty_event"), 1);
  EXPECT_FALSE(t.losses.any(Severity::warning));
}

TEST(Xprof, ReadsHostThreads) {
  const Trace t = import_text(xprof(
      R"j({"ph":"X","pid":501,"tid":7,"ts":10.5,"dur":5,"name":"EagerExecute: MatMul"},
         {"ph":"X","pid":501,"tid":7,"ts":11.0,"dur":1,"name":"volta_sgemm","args":{"correlation_id":"5"}},
         {"ph":"X","pid":501,"tid":7,"ts":12.0,"dur":1,"name":"MemcpyD2H","args":{
          "correlation_id":"6","memcpy_details":"size:4 dest:0 async:0"}},
         {"ph":"X","pid":501,"tid":7,"ts":13.0,"dur":1,"name":"cuStreamSynchronize",
          "args":{"correlation_id":"7"}},
         {"ph":"X","pid":501,"tid":7,"ts":13.0,"dur":1,"name":"cuGraphLaunch (CudaGraph:381)",
          "args":{"correlation_id":"8"}},
         {"ph":"X","pid":501,"tid":7,"ts":13.0,"dur":1,"name":"cuMemAlloc","args":{"correlation_id":"9"}},
         {"ph":"X","pid":501,"tid":7,"ts":10.0,"dur":9,"name":"train","args":{"step_num":"4"}},
         {"ph":"X","pid":501,"tid":7,"ts":10.0,"dur":9,"name":"$profiler.py:151 start_trace"},
         {"ph":"X","pid":501,"tid":7,"ts":10.0,"dur":9,"name":"BUFFER_FLUSH"},
         {"ph":"X","pid":1,"tid":13,"ts":20,"dur":3.0720000000000001,"name":"volta_sgemm",
          "args":{"correlation_id":"5"}})j"));
  EXPECT_EQ(t.framework, Framework::tensorflow);
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.strings.get(t.ops.name[0]), "EagerExecute: MatMul");
  EXPECT_FALSE(t.ops.operands[0].valid());
  ASSERT_EQ(t.calls.size(), 5u);
  EXPECT_EQ(t.calls.api[0], ApiKind::launch_kernel);
  EXPECT_EQ(t.calls.api[1], ApiKind::memcpy_blocking);
  EXPECT_EQ(t.calls.api[2], ApiKind::stream_synchronize);
  EXPECT_EQ(t.calls.api[3], ApiKind::launch_graph);
  EXPECT_EQ(t.calls.api[4], ApiKind::other);
  ASSERT_EQ(t.annotations.size(), 1u);
  EXPECT_EQ(t.annotations.step[0], 4);
  EXPECT_EQ(t.overheads.size(), 1u);
  ASSERT_EQ(t.activities.size(), 1u);
  EXPECT_EQ(t.activities.duration[0], nanoseconds(3072));
  ASSERT_EQ(t.threads.size(), 1u);
  EXPECT_EQ(t.threads[0].name, "python3");
  EXPECT_EQ(t.losses.count("missing_geometry"), 1);
  EXPECT_EQ(t.losses.count("ignored_python_function"), 1);
}

TEST(Xprof, CountsRowsOfUnannouncedProcesses) {
  const Trace t = import_text(xprof(
      R"({"ph":"X","pid":501,"tid":7,"ts":10.5,"dur":5,"name":"op"},
         {"ph":"X","pid":77,"tid":7,"ts":10.5,"dur":5,"name":"op"})"));
  EXPECT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.losses.count("unknown_process"), 1);
  EXPECT_TRUE(t.losses.any(Severity::data_loss));
}

}  // namespace
}  // namespace tandem
