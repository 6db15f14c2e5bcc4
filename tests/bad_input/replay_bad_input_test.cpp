// Traces that import but are hard to replay, and options that name nothing: an InputError that says
// what is wrong, or a counted loss and finite numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "sim/cli/output.h"
#include "sim/predict/predict.h"
#include "sim/predict/result.h"
#include "tests/expect_has.h"
#include "tests/import_files.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

using test::kineto;
using test::TempFile;

std::string event(std::string_view category, std::string_view name, double ts, std::string dur,
                  std::string_view args) {
  std::ostringstream out;
  out << R"({"ph":"X","pid":1,"tid":1,"cat":")" << category << R"(","name":")" << name
      << R"(","ts":)" << ts << R"(,"dur":)" << dur << R"(,"args":{)" << args << "}}";
  return out.str();
}
std::string launch(double ts, int correlation, std::string dur = "5") {
  return event("cuda_runtime", "cudaLaunchKernel", ts, dur,
               R"("correlation":)" + std::to_string(correlation));
}
std::string kernel(double ts, int correlation, std::string dur = "10",
                   std::string_view grid = "[8,1,1]") {
  return event("kernel", "gemm", ts, dur,
               R"("device":0,"context":1,"stream":7,"registers per thread":32,"shared memory":0,)"
               R"("block":[128,1,1],"grid":)" +
                   std::string(grid) + R"(,"correlation":)" + std::to_string(correlation));
}
std::string join(std::initializer_list<std::string> events) {
  std::string out;
  for (const std::string& e : events) out += (out.empty() ? "" : ",\n") + e;
  return kineto(out);
}

ReplayOptions options(const TempFile& file) {
  ReplayOptions o;
  o.trace_path = file.path();
  o.configs = source_path("configs");
  return o;
}

/// The result of a replay in every mode; all numbers must be finite.
Result replay_text(std::string_view text) {
  const TempFile file(text);
  ReplayOptions o = options(file);
  Result first;
  for (const Mode mode : {Mode::cuda_graph, Mode::eager_sync, Mode::eager_async, Mode::as_traced}) {
    o.mode.mode = mode;
    first = replay(o).prediction.result;
    for (const MetricInfo& info : step_metric_infos()) {
      EXPECT_TRUE(std::isfinite(info.value(first.step))) << to_string(mode) << " " << info.name;
    }
    EXPECT_GE(first.step.time_us, 0);
  }
  return first;
}

std::string replay_error(std::string_view text, void (*change)(ReplayOptions&) = nullptr) {
  const TempFile file(text);
  ReplayOptions o = options(file);
  if (change != nullptr) change(o);
  try {
    replay(o);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

const std::string good_trace =
    join({launch(100, 1), kernel(107, 1), launch(120, 2), kernel(127, 2)});

TEST(BadReplay, WithoutGpuWork) {
  EXPECT_HAS(replay_error(join({launch(100, 1), launch(120, 2)})),
             "found a trace without device activity");
  EXPECT_HAS(replay_error(kineto(event("cpu_op", "aten::add", 1, "5", ""))),
             "expected at least one GPU activity");
}

TEST(BadReplay, StepsWithoutLaunches) {
  EXPECT_HAS(replay_error(join({event("user_annotation", "ProfilerStep#1", 500, "100", ""),
                                launch(100, 1), kernel(107, 1)})),
             "found no step that launches device work");
}

TEST(BadReplay, KernelsWithoutAnyLaunchAreReplayedAlone) {
  const Result r = replay_text(join({kernel(100, 1), kernel(120, 2), kernel(140, 3)}));
  EXPECT_EQ(r.losses.count("device_only_trace"), 3);
  EXPECT_EQ(r.losses.count("activity_without_launch"), 3);
  EXPECT_EQ(r.step.kernels, 3);
}

TEST(BadReplay, KernelsAtOneTimeWithoutLaunches) {
  EXPECT_EQ(replay_text(join({kernel(100, 1), kernel(100, 2)})).step.kernels, 2);
}

TEST(BadReplay, LaunchesWithoutKernelsAreCounted) {
  const Result r =
      replay_text(join({launch(100, 1), kernel(107, 1), launch(120, 2), launch(140, 3)}));
  EXPECT_EQ(r.losses.count("launch_without_kernel"), 2);
  EXPECT_EQ(r.step.launches, 1);
}

TEST(BadReplay, OverlappingKernelsOfAStreamAreCounted) {
  const Result r = replay_text(join({launch(100, 1), kernel(107, 1, "500"), launch(120, 2),
                                     kernel(127, 2, "500"), launch(140, 3), kernel(147, 3)}));
  EXPECT_EQ(r.losses.count("overlapping_on_stream"), 2);
}

TEST(BadReplay, KernelsThatBeginBeforeTheirLaunch) {
  EXPECT_EQ(replay_text(join({launch(1000, 1), kernel(10, 1), launch(1100, 2), kernel(20, 2)}))
                .step.kernels,
            2);
}

TEST(BadReplay, DuplicatedCorrelationsAreCounted) {
  const Result r = replay_text(join({launch(100, 1), launch(120, 1), kernel(127, 1)}));
  EXPECT_EQ(r.losses.count("duplicate_correlation"), 1);
  EXPECT_EQ(r.losses.count("launch_without_kernel"), 1);
}

TEST(BadReplay, ManyKernelsOfOneLaunch) {
  EXPECT_EQ(replay_text(join({launch(100, 1), kernel(107, 1), kernel(120, 1), kernel(90, 1)}))
                .step.kernels,
            3);
}

TEST(BadReplay, AGridOfNothingIsCounted) {
  const Result r = replay_text(join({launch(100, 1), kernel(107, 1, "10", "[0,0,0]")}));
  EXPECT_EQ(r.losses.count("bad_geometry"), 1);
  EXPECT_TRUE(r.losses.any(Severity::data_loss));
}

TEST(BadReplay, AbsurdAndNegativeTimesAreCounted) {
  const Result r = replay_text(join({launch(100, 1), kernel(107, 1), kernel(130, 2, "1e9"),
                                     kernel(150, 3, "-5"), launch(120, 2), launch(140, 3)}));
  EXPECT_EQ(r.losses.count("absurd_duration"), 1);
  EXPECT_EQ(r.losses.count("negative_duration"), 1);
  EXPECT_EQ(r.losses.count("launch_without_kernel"), 2);
}

TEST(BadReplay, WorkAndCallsOfNoLength) {
  const Result r =
      replay_text(join({launch(100, 1, "0"), kernel(100, 1, "0"), launch(110, 2, "0"),
                        kernel(110, 2, "0"), event("cpu_op", "aten::add", 120, "1", "")}));
  EXPECT_EQ(r.step.kernels, 2);
  EXPECT_EQ(r.step.gpu_kernel_us, 0);
}

TEST(BadReplay, ATraceOfNoLength) {
  EXPECT_HAS(replay_error(join({launch(100, 1, "0"), kernel(100, 1, "0")})),
             "found no step that launches device work");
}

TEST(BadReplay, DurationsOfQuarterHours) {
  const Result r = replay_text(
      join({launch(0, 1), kernel(10, 1, "999000000"), launch(10, 2), kernel(999000011, 2)}));
  EXPECT_GT(r.step.time_us, 999e6);
}

TEST(BadReplay, NestedAndOverlappingSteps) {
  const Result r = replay_text(
      join({event("user_annotation", "ProfilerStep#1", 90, "200", ""),
            event("user_annotation", "ProfilerStep#2", 115, "50", ""), launch(100, 1),
            kernel(107, 1), launch(120, 2), kernel(127, 2), launch(200, 3), kernel(207, 3)}));
  EXPECT_EQ(r.trace.steps, 2);
}

TEST(BadReplay, SynchronisationsWithoutWork) {
  const Result r = replay_text(
      join({event("cuda_runtime", "cudaStreamSynchronize", 50, "5", R"("correlation":9)"),
            event("cuda_runtime", "cudaDeviceSynchronize", 60, "5", R"("correlation":8)"),
            launch(100, 1), kernel(107, 1)}));
  EXPECT_EQ(r.step.kernels, 1);
}

TEST(BadReplay, NamesThatAreNoUtf8) {
  std::string text = good_trace;
  text.replace(text.find("gemm"), 4, "g\xff\xc3m");
  EXPECT_HAS(replay_error(text), "not valid UTF-8");
}

TEST(BadReplay, PathsThatAreNoUtf8AreWritten) {
  const TempFile file(good_trace, "tr\xff.json");
  const std::string result = file.path() + ".result.json";
  write_outputs(replay(options(file)), {result, "", ""});
  std::ifstream in(result);
  EXPECT_EQ(nlohmann::json::parse(in)["step"]["kernels"], 2);
}

TEST(BadOptions, UnknownGpuNamesTheKnown) {
  const std::string text =
      replay_error(good_trace, [](ReplayOptions& o) { o.traced_gpu = "h201"; });
  EXPECT_HAS(text, "h201");
  EXPECT_HAS(text, "h200_sxm");
}

// A trace that does not say what it ran on takes the GPU that it is told as the traced one.
TEST(BadOptions, AnUnknownTracedGpuIsTheNamedOne) {
  const TempFile file(good_trace);
  ReplayOptions o = options(file);
  o.traced_gpu = "v100_sxm2_16gb";
  const TracedRun run = replay(o).run;
  ASSERT_TRUE(run.gpu.has_value());
  EXPECT_EQ(run.gpu->name, "v100_sxm2_16gb");
}

TEST(BadOptions, Overrides) {
  const auto with = [](const char* gpu, const char* text) {
    const TempFile file(good_trace);
    ReplayOptions o = options(file);
    o.traced_gpu = gpu;
    o.what_ifs.set("set", text);
    try {
      replay(o);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_HAS(with("h200_sxm", "gpu.boost_clock_mhz=fast"), "boost_clock_mhz");
  EXPECT_HAS(with("h200_sxm", "gpu.tpc_count=500"), "at most sm_count");
  EXPECT_HAS(with("h200_sxm", "gpu.no_such=1"), "no_such");
  EXPECT_HAS(with("h200_sxm", "nonsense"), "expected gpu.KEY=VALUE");
  EXPECT_HAS(with("", "gpu.boost_clock_mhz=1900"), "expected");  // no GPU is known
}

// There was no lowest clock: a thousandth of a MHz was predicted, too.
TEST(BadOptions, ClocksThatTheGpuCannotBeLockedTo) {
  const auto at = [](const char* gpu, const char* mhz) {
    const TempFile file(good_trace);
    ReplayOptions o = options(file);
    o.traced_gpu = gpu;
    o.what_ifs.set("clock", mhz);
    try {
      replay(o);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_HAS(at("h200_sxm", "344"), "found 344 MHz, expected at least 345 MHz, min_clock_mhz of");
  EXPECT_HAS(at("h200_sxm", "1981"), "expected at most 1980 MHz, boost_clock_mhz of h200_sxm");
  EXPECT_HAS(at("v100_sxm2_16gb", "152"),
             "at least 153 MHz, a tenth of boost_clock_mhz of v100_sxm2_16gb");
}

TEST(BadOptions, UnknownHostAndConfigs) {
  EXPECT_HAS(replay_error(good_trace, [](ReplayOptions& o) { o.host = "nobody"; }),
             "unknown host \"nobody\"");
  EXPECT_HAS(replay_error(good_trace, [](ReplayOptions& o) { o.configs = "no/such/folder"; }),
             "no/such/folder");
}

/// The error of a replay with this text as the host config.
std::string host_error(const std::string& from, const std::string& to) {
  std::ifstream in(source_path("configs/hosts/default.json"));
  std::ostringstream text;
  text << in.rdbuf();
  std::string config = text.str();
  config.replace(config.find(from), from.size(), to);
  const TempFile file(config, "host.json");
  try {
    load_host_model(file.path());
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(BadHost, IsRejectedWithItsPlace) {
  EXPECT_HAS(host_error("\"launch_latency_us\"", "\"launch_latncy_us\""), "launch_latncy_us");
  EXPECT_HAS(host_error("\"value\": 2.15", "\"value\": -2.15"), "launch_latency_us");
  EXPECT_HAS(host_error("\"value\": 2.15", "\"value\": \"2.15\""), "launch_latency_us");
  EXPECT_HAS(host_error("\"unit\": \"us\"", "\"unit\": \"ms\""), "launch_latency_us");
  EXPECT_HAS(host_error("\"kind\": \"measured\"", "\"kind\": \"guess\""), "launch_latency_us");
  EXPECT_HAS(host_error("\"constants\"", "\"numbers\""), "numbers");
  EXPECT_HAS(host_error("\"value\": 1022", "\"value\": 0"), "queue_depth");
  EXPECT_HAS(host_error("\"value\": 1022", "\"value\": 99999999999"), "queue_depth");
  // Found by fuzzing: a launch whose call alone took longer had a negative rest.
  const std::string error = host_error("\"value\": 11.5", "\"value\": 0.5");
  EXPECT_HAS(error, "constants.launch_call_us");
  EXPECT_HAS(error, "at most eager_launch_us, 0.5");
}

TEST(BadOutput, PathThatCannotBeWritten) {
  const TempFile file(good_trace);
  const Replay r = replay(options(file));
  EXPECT_THROW(write_outputs(r, {"no/such/folder/result.json", "", ""}), InputError);
  EXPECT_THROW(write_outputs(r, {"", file.path() + "/kernels.csv", ""}), InputError);
  EXPECT_THROW(write_outputs(r, {"", "", "/dev/full"}), InputError);
}

}  // namespace
}  // namespace tandem
