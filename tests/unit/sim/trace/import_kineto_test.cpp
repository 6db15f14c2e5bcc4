#include <gtest/gtest.h>

#include "tests/import_files.h"

namespace tandem {
namespace {

using test::import_text;
using test::kernel_event;
using test::kineto;

TimePoint at_ps(std::int64_t ps) { return TimePoint{picoseconds(ps)}; }

TEST(Kineto, ReadsAnOperation) {
  const Trace t = import_text(kineto(
      R"j({"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 12, "tid": 34,
          "ts": 4361851650648.622, "dur": 1.5,
          "args": {"External id": 77, "Sequence number": 5, "Fwd thread id": 1, "Ev Idx": 3,
                   "Concrete Inputs": ["", "[16, 8]"], "Input type": ["float", "Scalar"],
                   "Input Strides": [[64, 1], []], "Input Dims": [[32, 64], []]}},
         {"ph": "M", "name": "thread_name", "pid": 12, "tid": 34, "ts": 0,
          "args": {"name": "thread 34 (python)"}})j"));
  EXPECT_EQ(t.format, "kineto");
  EXPECT_EQ(t.framework, Framework::pytorch);
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.origin_us, 4361851650648);
  EXPECT_EQ(t.ops.begin[0], at_ps(622'000));
  EXPECT_EQ(t.ops.duration[0], nanoseconds(1500));
  EXPECT_EQ(t.strings.get(t.ops.name[0]), "aten::add");
  EXPECT_EQ(t.ops.external_id[0], 77);
  EXPECT_EQ(t.ops.sequence[0], 5);
  EXPECT_EQ(t.ops.forward_thread[0], 1);
  const Operands& operands = operands_of(t, 0);
  ASSERT_EQ(operands.tensors.shapes.size(), 1u);  // a scalar is no tensor
  EXPECT_EQ(operands.tensors.shapes[0].elements(), 32 * 64);
  EXPECT_EQ(operands.tensors.shapes[0].type, DataType::fp32);
  EXPECT_EQ(operands.tensors.shapes[0].strides[0], 64);
  EXPECT_EQ(operands.argument_count, 2);
  EXPECT_EQ(operands.argument(1), Argument(std::vector<std::int64_t>{16, 8}));
  ASSERT_EQ(t.threads.size(), 1u);
  EXPECT_EQ(t.threads[0].pid, 12);
  EXPECT_EQ(t.threads[0].tid, 34);
  EXPECT_EQ(t.threads[0].name, "thread 34 (python)");
  EXPECT_TRUE(t.losses.all().empty());
}

TEST(Kineto, ReadsAKernel) {
  const Trace t = import_text(kineto(kernel_event()));
  ASSERT_EQ(t.activities.size(), 1u);
  EXPECT_EQ(t.activities.kind[0], ActivityKind::kernel);
  EXPECT_EQ(t.activities.begin[0], at_ps(500'000));
  EXPECT_EQ(t.activities.duration[0], nanoseconds(2250));
  EXPECT_EQ(t.activities.correlation[0], 9);
  EXPECT_EQ(t.activities.external_id[0], 5);
  EXPECT_EQ(t.activities.bytes[0], 0);
  ASSERT_EQ(t.streams.size(), 1u);
  EXPECT_EQ(t.streams[0].device, 0);
  EXPECT_EQ(t.streams[0].context, 1);
  EXPECT_EQ(t.streams[0].stream, 7);
  ASSERT_EQ(t.geometries.size(), 1u);
  const LaunchGeometry expected{{8, 4, 2}, {128, 2, 1}, 32, 1024};
  EXPECT_EQ(t.geometries[t.activities.geometry[0].index()], expected);
}

TEST(Kineto, ReadsCopiesSetsCallsSyncsAndAnnotations) {
  const Trace t = import_text(kineto(
      R"j({"ph":"X","cat":"gpu_memcpy","name":"Memcpy HtoD (Pageable -> Device)","pid":0,"tid":7,
          "ts":1,"dur":2,"args":{"device":0,"context":1,"stream":7,"correlation":3,"bytes":4096}},
         {"ph":"X","cat":"gpu_memset","name":"Memset (Device)","pid":0,"tid":7,"ts":5,"dur":1,
          "args":{"device":0,"context":1,"stream":20,"correlation":4,"bytes":24}},
         {"ph":"X","cat":"cuda_runtime","name":"cudaMemcpyAsync","pid":1,"tid":1,"ts":0,"dur":1,
          "args":{"External id":8,"cbid":41,"correlation":3}},
         {"ph":"X","cat":"cuda_driver","name":"cuLaunchKernel","pid":1,"tid":1,"ts":2,"dur":1,
          "args":{"cbid":307,"correlation":6}},
         {"ph":"X","cat":"cuda_sync","name":"Stream Wait Event","pid":0,"tid":7,"ts":3,"dur":1,
          "args":{"cuda_sync_kind":"Stream Wait Event","stream":20,"correlation":10,
                  "wait_on_cuda_event_record_corr_id":9}},
         {"ph":"X","cat":"cuda_sync","name":"Context Sync","pid":0,"tid":-1,"ts":3,"dur":1,
          "args":{"cuda_sync_kind":"Context Sync","stream":4294967295,"correlation":11}},
         {"ph":"X","cat":"user_annotation","name":"ProfilerStep#3","pid":1,"tid":1,"ts":0,"dur":9},
         {"ph":"X","cat":"user_annotation","name":"## forward ##","pid":1,"tid":1,"ts":0,"dur":9},
         {"ph":"X","cat":"overhead","name":"Command Buffer Full","pid":-1,"tid":0,"ts":4,"dur":1})j"));
  ASSERT_EQ(t.activities.size(), 2u);
  EXPECT_EQ(t.activities.kind[0], ActivityKind::memcpy);
  EXPECT_EQ(t.activities.bytes[0], 4096);
  EXPECT_FALSE(t.activities.geometry[0].valid());
  EXPECT_EQ(t.activities.kind[1], ActivityKind::memset);
  EXPECT_EQ(t.streams.size(), 2u);
  ASSERT_EQ(t.calls.size(), 2u);
  EXPECT_EQ(t.calls.api[0], ApiKind::memcpy_async);
  EXPECT_EQ(t.calls.external_id[0], 8);
  EXPECT_EQ(t.calls.api[1], ApiKind::launch_kernel);
  EXPECT_EQ(t.calls.external_id[1], -1);
  ASSERT_EQ(t.syncs.size(), 2u);
  EXPECT_EQ(t.strings.get(t.syncs.kind[0]), "Stream Wait Event");
  EXPECT_EQ(t.syncs.event_record_correlation[0], 9);
  EXPECT_EQ(t.syncs.stream[0], 20);
  EXPECT_EQ(t.syncs.stream[1], -1);
  ASSERT_EQ(t.annotations.size(), 2u);
  EXPECT_EQ(t.annotations.step[0], 3);
  EXPECT_EQ(t.annotations.step[1], -1);
  EXPECT_EQ(t.overheads.size(), 1u);
  EXPECT_TRUE(t.losses.all().empty());
}

TEST(Kineto, TellsWhereParametersAreGathered) {
  const Trace t = import_text(kineto(
      R"j({"ph":"X","cat":"user_annotation","name":"FSDP::all_gather (layers.3)","pid":1,"tid":1,"ts":100,"dur":20},
         {"ph":"X","cat":"user_annotation","name":"FullyShardedDataParallel._pre_forward","pid":1,"tid":1,"ts":130,"dur":9},
         {"ph":"X","cat":"user_annotation","name":"FullyShardedDataParallel.forward","pid":1,"tid":1,"ts":125,"dur":90},
         {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":120,"dur":50,
         "args":{"correlation":7,"device":0,"stream":7,"grid":[8,1,1],"block":[640,1,1]}})j"));
  ASSERT_EQ(t.annotations.size(), 3U);
  EXPECT_EQ(t.annotations.mark[0], AnnotationMark::sharding);
  EXPECT_EQ(t.annotations.mark[1], AnnotationMark::sharding);
  EXPECT_EQ(t.annotations.mark[2], AnnotationMark::none);  // all of the model
}

TEST(Kineto, ReadsTheSchemaBefore2022) {
  const Trace t = import_text(
      R"({"schemaVersion": 1, "deviceProperties": [{"id": 2, "name": "Some GPU", "numSms": 80,
            "totalGlobalMem": 34084028416, "computeMajor": 7, "computeMinor": 0}],
          "traceEvents": [
         {"ph":"X","cat":"Operator","name":"ProfilerStep#5","pid":25738,"tid":"25738",
          "ts":1623142623460111,"dur":900,"args":{"External id":2}},
         {"ph":"X","cat":"Operator","pid":25738,"tid":"25738","ts":1623142623460111,"dur":1,
          "name":"enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"},
         {"ph":"X","cat":"Operator","name":"aten::empty","pid":25738,"tid":"25738",
          "ts":1623142623460112,"dur":25,"args":{"External id":3,"Input Dims":[[],[3, 4]]}},
         {"ph":"X","cat":"Runtime","name":"cudaLaunchKernel","pid":25738,"tid":"25738",
          "ts":1623142623460113,"dur":2,"args":{"cbid":211,"correlation":34417,"external id":3}},
         {"ph":"X","cat":"Kernel","name":"k","pid":0,"tid":"stream 7","ts":1623142623460120,"dur":2,
          "args":{"external id":3,"correlation":34417,"grid":[50,1,1],"block":[256,1,1]}},
         {"ph":"X","cat":"Memcpy","name":"Memcpy HtoD","pid":0,"tid":"stream 7",
          "ts":1623142623460125,"dur":2,"args":{"device":0,"stream":7,"bytes":8}}]})");
  EXPECT_EQ(t.format, "kineto-legacy");
  EXPECT_EQ(t.origin_us, 1623142623460111);
  ASSERT_EQ(t.annotations.size(), 2u);
  EXPECT_EQ(t.annotations.step[0], 5);
  EXPECT_EQ(t.annotations.mark[0], AnnotationMark::none);
  EXPECT_EQ(t.annotations.mark[1], AnnotationMark::input);  // waits for input
  ASSERT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.ops.begin[0], TimePoint{microseconds(1)});
  EXPECT_EQ(t.threads[0].tid, 25738);
  EXPECT_EQ(t.calls.external_id[0], 3);
  ASSERT_EQ(t.activities.size(), 2u);
  EXPECT_EQ(t.activities.external_id[0], 3);
  EXPECT_EQ(t.streams[t.activities.stream[0].index()].stream, 7);
  ASSERT_EQ(t.devices.size(), 1u);
  EXPECT_EQ(t.devices[0].id, 2);
  EXPECT_EQ(t.devices[0].name, "Some GPU");
  EXPECT_EQ(t.devices[0].sm_count, 80);
  EXPECT_EQ(t.devices[0].memory_bytes, 34084028416);
  EXPECT_EQ(t.devices[0].compute_major, 7);
}

TEST(Kineto, KeepsTimesExactFarFromZero) {
  const Trace t = import_text(kineto(kernel_event({{"100.5", "1712867402348700"}}) + "," +
                                     kernel_event({{"100.5", "1712867402348699.001"}}) + "," +
                                     kernel_event({{"100.5", "\"1712867402349700.123456\""}})));
  EXPECT_EQ(t.origin_us, 1712867402348700);
  ASSERT_EQ(t.activities.size(), 3u);
  EXPECT_EQ(t.activities.begin[0], at_ps(0));
  EXPECT_EQ(t.activities.begin[1], at_ps(-999'000));  // before the first row: fine
  EXPECT_EQ(t.activities.begin[2], at_ps(1'000'123'456));
}

TEST(Kineto, ReadsCollectives) {
  const std::string args =
      R"("Collective name": "allreduce", "In msg nelems": 1000, "Group size": 2,
      "dtype": "BFloat16", "Out msg nelems": 2000, "Process Group Name": "1",
      "Process Group Ranks": "[4, 5]", "correlation": 9)";
  const Trace t =
      import_text(kineto(kernel_event({{R"("correlation": 9)", args}}) + "," +
                         kernel_event({{R"("correlation": 9)", args}, {"BFl", "Strange"}})));
  EXPECT_EQ(t.activities.bytes[0], 2000);
  EXPECT_EQ(t.activities.bytes[1], 0);
  EXPECT_GE(t.losses.count("unknown_message_size"), 1);
  ASSERT_NE(collective_of(t, 0), nullptr);
  const Collective& c = *collective_of(t, 0);
  EXPECT_EQ(c.kind, CollectiveKind::all_reduce);
  EXPECT_EQ(c.in_bytes, 2000);
  EXPECT_EQ(c.out_bytes, 4000);
  EXPECT_EQ(c.ranks, 2);
  EXPECT_EQ(c.group, "1");
  EXPECT_EQ(c.members, (std::vector<int>{4, 5}));
}

TEST(Kineto, ReadsCollectivesOffAnnotationsWhereTheirKernelsSayNothing) {
  const Trace t = import_text(kineto(
      R"j({"ph":"X","cat":"user_annotation","name":"nccl:all_to_all","pid":1,"tid":1,"ts":100,"dur":20,
         "args":{"Input Dims":[[6144]],"Input type":["float"]}},
         {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":105,"dur":2,
         "args":{"correlation":7}},
         {"ph":"X","cat":"kernel","name":"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t()","pid":0,"tid":84,
         "ts":120,"dur":50,"args":{"correlation":7,"device":0,"stream":84,"grid":[8,1,1],"block":[640,1,1]}},
         {"ph":"X","cat":"kernel","name":"ncclKernel_AllReduce_RING_LL_Sum_float()","pid":0,"tid":84,
         "ts":180,"dur":5,"args":{"correlation":8,"device":0,"stream":84,"grid":[8,1,1],"block":[640,1,1]}})j"));
  ASSERT_EQ(t.activities.size(), 2U);
  ASSERT_NE(collective_of(t, 0), nullptr);
  EXPECT_EQ(collective_of(t, 0)->kind, CollectiveKind::all_to_all);
  EXPECT_EQ(collective_of(t, 0)->in_bytes, 4 * 6144);
  ASSERT_NE(collective_of(t, 1), nullptr);  // of its name alone
  EXPECT_EQ(collective_of(t, 1)->kind, CollectiveKind::all_reduce);
  EXPECT_EQ(t.losses.count("collective_size_unknown"), 1);
}

TEST(Kineto, TakesKeysInAnyOrder) {
  const Trace t = import_text(
      R"({"traceEvents":[{"args":{"block":[1,1,1],"grid":[2,1,1],"stream":7,"device":0,
          "correlation":1},"dur":1,"ts":5,"tid":7,"pid":0,"name":"k","cat":"kernel","ph":"X"}],
          "distributedInfo":{"backend":"nccl","rank":3,"world_size":8,"pg_count":1},
          "deviceProperties":[{"id":0,"name":"G"}],"schemaVersion":1})");
  ASSERT_EQ(t.activities.size(), 1u);
  EXPECT_EQ(t.geometries[0].grid[0], 2u);
  EXPECT_EQ(t.distributed.rank, 3);
  EXPECT_EQ(t.distributed.world_size, 8);
  EXPECT_EQ(t.devices.size(), 1u);
}

TEST(Kineto, CountsWhatItDoesNotKeepByCategory) {
  const Trace t =
      import_text(kineto(kernel_event() +
                         R"j(,{"ph":"s","id":1,"pid":1,"tid":1,"ts":1,"cat":"ac2g","name":"ac2g"},
         {"ph":"f","id":1,"pid":1,"tid":1,"ts":1,"cat":"ac2g","name":"ac2g","bp":"e"},
         {"ph":"s","id":2,"pid":1,"tid":1,"ts":1,"cat":"fwdbwd","name":"fwdbwd"},
         {"ph":"X","cat":"python_function","name":"f","pid":1,"tid":1,"ts":1,"dur":1,"args":{}},
         {"ph":"X","cat":"gpu_user_annotation","name":"s","pid":0,"tid":7,"ts":1,"dur":1},
         {"ph":"X","cat":"Trace","name":"PyTorch Profiler (0)","pid":"Spans","tid":"x","ts":1,"dur":1},
         {"ph":"i","s":"g","name":"Record Window End","pid":"","tid":"","ts":9},
         {"ph":"C","name":"counter","pid":1,"ts":9,"args":{"value":1}},
         {"ph":"X","cat":"mtia_runtime","name":"x","pid":1,"tid":1,"ts":1,"dur":1})j"));
  EXPECT_EQ(t.losses.count("ignored_ac2g"), 2);
  EXPECT_EQ(t.losses.count("ignored_fwdbwd"), 1);
  EXPECT_EQ(t.losses.count("ignored_python_function"), 1);
  EXPECT_EQ(t.losses.count("ignored_gpu_user_annotation"), 1);
  EXPECT_EQ(t.losses.count("ignored_trace"), 1);
  EXPECT_EQ(t.losses.count("ignored_instant"), 1);
  EXPECT_EQ(t.losses.count("ignored_counter"), 1);
  EXPECT_EQ(t.losses.count("unknown_category"), 1);
  EXPECT_FALSE(t.losses.any(Severity::data_loss));
}

// As PyTorch writes them today, and before 2022 without a category and totals.
TEST(Kineto, ReadsMemoryOfTheDevice) {
  const Trace t = import_text(kineto(
      kernel_event() +
      R"j(,{"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":7,
          "args":{"Total Reserved":4096,"Total Allocated":1536,"Bytes":512,"Addr":1,"Device Id":0,"Device Type":1}},
         {"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":8,
          "args":{"Device Type":1,"Device Id":1,"Bytes":-512}},
         {"ph":"i","s":"t","name":"[memory]","pid":1,"tid":1,"ts":9,"args":{"Device Type":0,"Device Id":-1,"Bytes":4}},
         {"ph":"i","cat":"cpu_instant_event","s":"t","name":"mark","pid":1,"tid":1,"ts":9,"args":{"Bytes":"x"}},
         {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,
          "args":{"Device Type":1}},
         {"ph":"i","cat":"cpu_instant_event","s":"t","name":"[memory]","pid":1,"tid":1,"ts":9,
          "args":{"Device Type":1,"Bytes":"many"}})j"));
  ASSERT_EQ(t.memory.size(), 3U);
  EXPECT_EQ(t.memory.bytes[0], 512);
  EXPECT_EQ(t.memory.allocated[0], 1536);
  EXPECT_EQ(t.memory.device[1], 1);
  EXPECT_EQ(t.memory.bytes[1], -512);
  EXPECT_EQ(t.memory.allocated[1], -1);
  EXPECT_EQ(t.losses.count("ignored_host_memory"), 1);
  EXPECT_EQ(t.losses.count("ignored_cpu_instant_event"), 1);
  EXPECT_EQ(t.losses.count("missing_timestamp"), 1);
  EXPECT_EQ(t.losses.count("bad_argument"), 1);
}

TEST(Kineto, InternsThreadsStreamsAndGeometries) {
  std::string events;
  for (int i = 0; i < 20; ++i) {
    if (i > 0) events += ',';
    events += kernel_event({{"[8,", i % 2 == 0 ? "[8," : "[16,"},
                            {R"("stream": 7)", i % 5 == 0 ? R"("stream": 9)" : R"("stream": 7)"}});
  }
  const Trace t = import_text(kineto(events));
  EXPECT_EQ(t.activities.size(), 20u);
  EXPECT_EQ(t.streams.size(), 2u);
  EXPECT_EQ(t.geometries.size(), 2u);
  EXPECT_EQ(t.strings.size(), 1u);
}

TEST(Import, ReadsGzipWithSeveralMembersAndPadding) {
  const std::string text = kineto(kernel_event() + "," + kernel_event({{"gemm", "conv"}}));
  const std::string half = text.substr(0, text.size() / 2);
  for (const std::string& stored :
       {test::gzip(text), test::gzip(half) + test::gzip(text.substr(half.size())),
        test::gzip("") + test::gzip(text) + test::gzip(""),
        test::gzip(text) + std::string(512, '\0')}) {
    const Trace t = import_text(stored);
    EXPECT_EQ(t.activities.size(), 2u);
    EXPECT_EQ(t.file_bytes, std::ssize(stored));
    EXPECT_EQ(t.json_bytes, std::ssize(text));
  }
}

TEST(Import, ReadsZstdWithSeveralFrames) {
  const std::string text = kineto(kernel_event() + "," + kernel_event({{"gemm", "conv"}}));
  const std::string half = text.substr(0, text.size() / 2);
  const std::string skippable("\x5a\x2a\x4d\x18\x03\0\0\0abc", 11);  // pzstd begins with one
  for (const std::string& stored :
       {test::zstd(text), test::zstd(half) + test::zstd(text.substr(half.size())),
        test::zstd("") + test::zstd(text) + test::zstd(""), skippable + test::zstd(text)}) {
    const Trace t = import_text(stored);
    EXPECT_EQ(t.activities.size(), 2u);
    EXPECT_EQ(t.file_bytes, std::ssize(stored));
    EXPECT_EQ(t.json_bytes, std::ssize(text));
  }
}

// More than a chunk of the decoder's input and of the window, so that both are refilled.
TEST(Import, ReadsLargeZstdAsPlain) {
  std::string events;
  std::uint32_t random = 1;
  for (int i = 0; i < 40'000; ++i) {
    random = random * 1664525u + 1013904223u;
    if (i > 0) events += ',';
    events += kernel_event({{"gemm", std::to_string(random)}});
  }
  const std::string stored = test::zstd(kineto(events));
  ASSERT_GT(stored.size(), std::size_t{1} << 18);
  const Trace plain = import_text(kineto(events));
  const Trace packed = import_text(stored);
  EXPECT_EQ(packed.activities.size(), 40'000u);
  EXPECT_EQ(text_of(packed, packed.activities.name[39'999]),
            text_of(plain, plain.activities.name[39'999]));
}

TEST(Import, ReportsProgress) {
  std::string events = kernel_event();
  while (events.size() < (40u << 20)) events += "," + events;
  const test::TempFile file(kineto(events));
  std::vector<std::pair<std::int64_t, std::int64_t>> calls;
  ImportOptions options;
  options.progress = [&](std::int64_t done, std::int64_t total) {
    calls.emplace_back(done, total);
  };
  const Trace t = import_trace(file.path(), options);
  ASSERT_GE(calls.size(), 3u);
  EXPECT_LE(calls.size(), 6u);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    EXPECT_EQ(calls[i].second, t.file_bytes);
    EXPECT_GE(calls[i].first, i == 0 ? 1 : calls[i - 1].first);
  }
  EXPECT_EQ(calls.back().first, t.file_bytes);
}

TEST(Import, RecognisesContentNotNames) {
  const std::string text = kineto(kernel_event());
  for (const std::string& stored : {text, test::gzip(text), test::zstd(text)}) {
    const test::TempFile file(stored, "picture.png");
    EXPECT_EQ(import_trace(file.path()).activities.size(), 1u);
  }
}

}  // namespace
}  // namespace tandem
