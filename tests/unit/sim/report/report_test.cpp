// What reports print of a given Result.
#include "sim/report/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "models/step/attribution.h"
#include "sim/engine/engine.h"
#include "tests/unit/plan_for_tests.h"
#include "tests/unit/trace_for_tests.h"

namespace tandem {
namespace {

using nlohmann::ordered_json;
using test::PlanBuilder;
using test::TraceMaker;

Result some_result() {
  Result r;
  r.trace = {"a.json",
             "kineto",
             Framework::pytorch,
             "NVIDIA H200",
             32,
             1,
             2,
             StepsBy::marks,
             20'000,
             12'345.678,
             100,
             90,
             300,
             1,
             0,
             1,
             2,
             "ProfilerStep#4"};
  r.scenario = {"h200_sxm",  Mode::as_traced,  false,     32,          1,
                "as-traced", Profiler::remove, "default", std::nullopt};
  r.fidelity = {{"ProfilerStep#3", 1000, 1010}, {"ProfilerStep#4", 1000, 1000}};
  r.step.time_us = 12'345.678;
  r.step.throughput_per_s = 2591.9;
  r.step.gpu_utilization = 0.5;
  r.step.launches = 90;
  r.limited_by = StepLimit::host;
  r.band = {11'500, 14'000};
  r.expected_error = 0.1;
  for (int i = 0; i < 12; ++i) r.kernels.push_back({std::string(1, char('a' + i)), 1, 10, 0.1});
  r.losses.add("a_note", Severity::info, "not worth a line");
  r.losses.add("a_warning", Severity::warning, "worth one", 7);
  return r;
}

TEST(ResultJson, HasThePublishedKeys) {
  const ordered_json json = result_json(some_result());
  std::vector<std::string> keys;
  for (const auto& [key, value] : json.items()) keys.push_back(key);
  const std::vector<std::string> expected{"schema",
                                          "tandem_version",
                                          "trace",
                                          "scenario",
                                          "fidelity",
                                          "step",
                                          "memory",
                                          "batch",
                                          "kernel_time",
                                          "families",
                                          "distributions",
                                          "collectives",
                                          "input_wait_us",
                                          "input_critical_us",
                                          "input_copies",
                                          "ranks",
                                          "limited_by",
                                          "expected_error",
                                          "band",
                                          "speed_up",
                                          "graph_captured_us",
                                          "graphs",
                                          "kernels",
                                          "ops",
                                          "layers",
                                          "modules",
                                          "critical_path",
                                          "step_parts",
                                          "what_ifs",
                                          "data_loss"};
  EXPECT_EQ(keys, expected);
  EXPECT_EQ(json["schema"], "tandem.result/1");
}

TEST(ResultJson, HoldsEveryMetricUnderItsName) {
  const ordered_json json = result_json(some_result());
  for (const MetricInfo& info : step_metric_infos()) {
    EXPECT_TRUE(json["step"].contains(info.name)) << info.name;
  }
  for (const GpuMetricInfo& info : gpu_metric_infos()) {
    EXPECT_TRUE(json["step"].contains(info.name)) << info.name;
    EXPECT_TRUE(json["kernel_time"].contains(info.name)) << info.name;
  }
  // ... and memory_peak_bytes, fits, energy_j, average_power_w, energy.
  EXPECT_EQ(json["step"].size(), step_metric_infos().size() + gpu_metric_infos().size() + 6);
  EXPECT_EQ(json["step"]["time_us"], 12'345.678);
  EXPECT_TRUE(json["step"]["launches"].is_number_integer());
}

TEST(ResultJson, WritesAnUnknownBatchAsNull) {
  Result r = some_result();
  EXPECT_EQ(result_json(r)["trace"]["batch"], 32);
  r.trace.batch = {};
  EXPECT_TRUE(result_json(r)["trace"]["batch"].is_null());
}

// Two passes of 32 items: J a sample is of 64.
TEST(ResultJson, TellsThePassesOfAStep) {
  Result r = some_result();
  r.scenario.batch = 32, r.trace.passes = r.scenario.passes = 2;
  r.energy = EnergySummary{};
  r.energy->energy_j = 128;
  const ordered_json json = result_json(r);
  EXPECT_EQ(json["trace"]["passes"], 2);
  EXPECT_EQ(json["scenario"]["passes"], 2);
  EXPECT_EQ(json["step"]["energy_per_sample_j"], 2);
  EXPECT_NE(summary_text(r).find("batch 32, 2 passes a step)"), std::string::npos);
}

TEST(ResultJson, ListsEveryLoss) {
  const ordered_json json = result_json(some_result());
  ASSERT_EQ(json["data_loss"].size(), 2u);
  EXPECT_EQ(json["data_loss"][1]["code"], "a_warning");
  EXPECT_EQ(json["data_loss"][1]["severity"], "warning");
  EXPECT_EQ(json["data_loss"][1]["count"], 7);
}

TEST(Summary, AnswersFirst) {
  const std::string text = summary_text(some_result());
  EXPECT_NE(text.find("step time  12.346 ms (11.500 ms to 14.000 ms in 9 of 10 cases)   2591.9 "
                      "samples/s   limited by host\n"),
            std::string::npos)
      << text;
  EXPECT_LT(text.find("step time"), text.find("device time by kernel"));
  EXPECT_NE(text.find("2 traced steps re-simulated: mean error 0.50 %, worst 1.00 %"),
            std::string::npos);
  EXPECT_NE(text.find("... and 4 more"), std::string::npos);
  EXPECT_NE(text.find("a_warning (7 x): worth one"), std::string::npos);
  EXPECT_EQ(text.find("a_note"), std::string::npos);
}

TEST(Summary, SaysWhatIsNotKnown) {
  Result r = some_result();
  r.trace.batch = {};
  r.fidelity.clear();
  const std::string text = summary_text(r);
  EXPECT_NE(text.find("batch unknown"), std::string::npos);
  EXPECT_NE(text.find("steps/s"), std::string::npos);
  EXPECT_EQ(text.find("fidelity"), std::string::npos);
}

/// Two kernels, one with quotes, commas and a control character in its name, and their run.
struct SmallRun {
  SmallRun() {
    m.op("aten::add", 0, 30);
    m.launch(10, 5, 1);
    m.launch(20, 5, 2);
    m.kernel(17, 10, 1, 0, "a \"quoted\", name\n");
    m.kernel(28, 10.5, 2, 0, "gemm");
    m.trace.geometries.push_back({{8, 4, 2}, {128, 1, 1}, 32, 1024});
    m.trace.activities.geometry[1] = GeometryId{std::size_t{0}};
    links = link_trace(m.trace);
    b.launch(10, 5, {.us = 10});
    b.launch(5, 5, {.us = 10.5});
    for (std::uint32_t i = 0; i < 2; ++i) b.plan.items[i].source = b.plan.works[i].source = i;
    timeline = simulate(b.plan);
  }
  TraceMaker m;
  Links links;
  PlanBuilder b;
  Timeline timeline;
};

constexpr std::string_view csv_head =
    "name,run,kind,op,layer,stream,grid_x,grid_y,grid_z,block_x,block_y,block_z,"
    "registers_per_thread,shared_memory_bytes,bytes,traced_begin_us,traced_us,simulated_begin_us,"
    "simulated_us,family,confidence,theoretical_occupancy,achieved_occupancy,waves,bound,bound_law,"
    "smsp_active_utilization,smsp_issue_utilization,tc_active_utilization,tc_issue_utilization,"
    "dram_read_bytes,dram_write_bytes,l2_bytes,l1_bytes,shared_bytes,energy_j,"
    "flops,tflops,mfu,roofline_share,intensity,reason\n";

TEST(KernelsCsv, HasOneQuotedRowPerPieceOfWork) {
  const SmallRun run;
  const SimulatedRun measured{run.m.trace, run.b.plan, run.timeline};
  const Attribution a = attribute(run.m.trace, run.links);
  const WorkNames attribution{a.op, a.layer};
  const std::vector<KernelTable> tables{{"traced", measured, attribution, {}, {}}};
  std::ostringstream out;
  write_kernels_csv(out, run.m.trace, {}, tables);
  EXPECT_EQ(
      out.str(),
      std::string(csv_head) +
          "\"a \"\"quoted\"\", name\n\",traced,kernel,\"aten::add\",pointwise,7,0,0,0,0,0,0,0,0,"
          "0,17.000,10.000,17.000,10.000,,,,,,,,,,,,,,,,,,,,,,,\n"
          "\"gemm\",traced,kernel,\"aten::add\",pointwise,7,8,4,2,128,1,1,32,1024,0,"
          "28.000,10.500,28.000,10.500,,,,,,,,,,,,,,,,,,,,,,,\n");
}

TEST(KernelsCsv, ShowsWhatAKernelUsesOfTheGpu) {
  const SmallRun run;
  const SimulatedRun measured{run.m.trace, run.b.plan, run.timeline};
  const Attribution a = attribute(run.m.trace, run.links);
  const WorkNames attribution{a.op, a.layer};
  // 10 SMs of 4 SMSPs at 1000 MHz for 10 us: 400,000 SMSP cycles; 16 warps at most.
  const GpuScale gpu{10, 4, 16, 1000, 100, 400, 1};
  WorkCounters c;
  c.family = KernelFamily::gemm;
  c.confidence = 0.9;
  c.time_us = 10;
  c.theoretical_occupancy = 0.5;
  c.waves = 2;
  c.smsp_elapsed_cycles = 400'000;
  c.smsp_active_cycles = 200'000;  // 50,000 SM cycles
  c.warp_active_cycles = 200'000;  // 4 of 16 warps
  c.smsp_issue_cycles = 100'000;
  c.dram_read_bytes = 700'000;  // of 1e6 at the peak rate
  c.energy_j = 0.25;
  const std::vector<WorkCounters> counters{c, c};
  const std::vector<std::uint32_t> rows{1, no_row};
  const std::vector<KernelTable> tables{{"scenario", measured, attribution, counters, rows}};
  std::ostringstream out;
  write_kernels_csv(out, run.m.trace, gpu, tables);
  const std::string text = out.str();
  EXPECT_NE(text.find("28.000,10.500,17.000,10.000,gemm,0.9,0.5,0.25,2,memory,use,0.5,0.25,0,0,"
                      "700000,0,0,0,0,0.25,0,0,,0.7,0,memory\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(",0,,,28.000,10.500,gemm"), std::string::npos)
      << text;  // added: never traced
}

TEST(KernelUse, NamesWhatBoundsAKernel) {
  const GpuScale gpu{10, 4, 16, 1000, 100, 400, 1};
  WorkCounters c;
  c.time_us = 10;
  c.smsp_elapsed_cycles = 400'000;
  EXPECT_EQ(kernel_use(c, gpu).bound, Bound::latency);
  c.l2_bytes = 2'000'001;  // half of 4e6
  EXPECT_EQ(kernel_use(c, gpu).bound, Bound::memory);
  c.tc_active_cycles = 240'000;  // 60 %
  EXPECT_EQ(kernel_use(c, gpu).bound, Bound::compute);
  c.time_us = 1.9;
  EXPECT_EQ(kernel_use(c, gpu).bound, Bound::launch);
  EXPECT_EQ(kernel_use(c, gpu).bound_law, "use");
  c.bound = Bound::memory;  // what the time model says goes before what the counters suggest
  c.bound_law = "channels";
  EXPECT_EQ(kernel_use(c, gpu).bound, Bound::memory);
  EXPECT_EQ(kernel_use(c, gpu).bound_law, "channels");
}

// 20 us of 10 SMs at 1000 MHz are 800,000 cycles of SMSPs. A kernel of 10 us at 800 MHz leaves
// 720,000 of them, of which it has 320,000; alone it fills its own span.
TEST(GpuMetrics, WorksRunAtTheirOwnClock) {
  const GpuScale gpu{10, 4, 16, 1000, 100, 400, 1};
  WorkCounters c;
  c.time_us = 10;
  c.clock_mhz = 800;
  c.smsp_elapsed_cycles = 320'000;
  c.smsp_issue_cycles = 160'000;
  EXPECT_DOUBLE_EQ(elapsed_us({&c, 1}, gpu), 10);
  EXPECT_DOUBLE_EQ(gpu_metrics({&c, 1}, gpu, 10).smsp_issue_utilization, 0.5);
  EXPECT_DOUBLE_EQ(gpu_metrics({&c, 1}, gpu, 20).smsp_issue_utilization, 160.0 / 720);
  c.clock_mhz = 0;  // counted: the cycles are those that elapsed
  EXPECT_DOUBLE_EQ(elapsed_us({&c, 1}, gpu), 8);
  EXPECT_DOUBLE_EQ(gpu_metrics({&c, 1}, gpu, 8).smsp_issue_utilization, 0.5);
}

TEST(KernelLevels, WeighKernelsWithTheirTime) {
  const GpuScale gpu{10, 4, 16, 1000, 100, 400, 1};
  WorkCounters a;
  a.family = KernelFamily::gemm;
  a.time_us = 30;
  a.confidence = 1;
  a.theoretical_occupancy = 0.5;
  a.waves = 2;
  a.smsp_elapsed_cycles = 1'200'000;
  a.smsp_active_cycles = 600'000;  // 150,000 SM cycles
  a.warp_active_cycles = 600'000;  // 4 of 16 warps
  a.smsp_issue_cycles = 300'000;
  a.shared_bytes = 7;
  a.bound = Bound::compute;
  a.bound_law = "matrix";
  WorkCounters b = a;
  b.time_us = 10;
  b.confidence = 0.5;
  b.theoretical_occupancy = 1;
  b.waves = 4;
  b.smsp_elapsed_cycles = 400'000;
  b.smsp_active_cycles = 200'000;  // 50,000 SM cycles
  b.warp_active_cycles = 600'000;  // 12 of 16 warps
  b.smsp_issue_cycles = 0;
  b.bound = Bound::memory;
  const KernelLevels l = kernel_levels(std::vector<WorkCounters>{b, a}, gpu);
  EXPECT_EQ(l.family, KernelFamily::gemm);
  EXPECT_DOUBLE_EQ(l.confidence, (30 * 1 + 10 * 0.5) / 40);
  EXPECT_DOUBLE_EQ(l.theoretical_occupancy, (30 * 0.5 + 10 * 1) / 40);
  EXPECT_DOUBLE_EQ(l.waves, (30 * 2 + 10 * 4) / 40.0);
  EXPECT_DOUBLE_EQ(l.achieved_occupancy, 1'200'000 / (200'000.0 * 16));
  EXPECT_DOUBLE_EQ(l.metrics.smsp_active_utilization, 0.5);
  EXPECT_DOUBLE_EQ(l.metrics.smsp_issue_utilization, 3.0 / 16);
  EXPECT_DOUBLE_EQ(l.metrics.shared_bytes, 14);
  EXPECT_EQ(l.bound, Bound::compute);  // 30 of 40 us
  EXPECT_EQ(l.bound_law, "matrix");
}

TEST(ResultJson, KernelsCarryTheirLevels) {
  Result r;
  r.kernels.push_back({"gemm", 2, 40, 0.8, 0.25, {}});
  r.kernels.push_back({"Memcpy HtoD", 1, 10, 0.2, 0, {}});
  r.kernels[0].levels.emplace();
  r.kernels[0].levels->family = KernelFamily::gemm;
  r.kernels[0].levels->bound = Bound::compute;
  r.kernels[0].levels->bound_law = "matrix";
  r.kernels[0].levels->waves = 2.5;
  r.kernels[0].levels->metrics.tc_active_utilization = 0.7;
  const ordered_json kernels = result_json(r)["kernels"];
  EXPECT_EQ(kernels[0]["energy_j"], 0.25);
  EXPECT_EQ(kernels[0]["bound"], "compute");
  EXPECT_EQ(kernels[0]["bound_law"], "matrix");
  EXPECT_EQ(kernels[0]["waves"], 2.5);
  EXPECT_EQ(kernels[0]["tc_active_utilization"], 0.7);
  EXPECT_TRUE(kernels[1]["bound"].is_null());
  EXPECT_TRUE(kernels[1]["smsp_active_utilization"].is_null());
  for (const KernelLevelInfo& info : kernel_level_infos()) {
    EXPECT_TRUE(kernels[0].contains(std::string(info.name))) << info.name;
  }
}

}  // namespace
}  // namespace tandem
