// What must hold of a replay of every measured capture, in every mode, with and without the
// profiler's cost.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "sim/predict/predict.h"
#include "sim/report/report.h"
#include "sim/trace/source/stored_name.h"

namespace tandem {
namespace {

constexpr Mode modes[] = {Mode::as_traced, Mode::eager_async, Mode::eager_sync, Mode::cuda_graph};
constexpr Profiler profilers[] = {Profiler::remove, Profiler::keep};

/// Every capture below validation/measured, read once.
const std::vector<Trace>& captures() {
  static const std::vector<Trace> traces = [] {
    std::vector<std::string> paths;
    for (const auto& entry :
         std::filesystem::recursive_directory_iterator(TANDEM_SOURCE_DIR "/validation/measured")) {
      const std::string path = entry.path().string();
      if (entry.path().parent_path().filename() == "traces" && trace_stem(path)) {
        paths.push_back(path);
      }
    }
    std::sort(paths.begin(), paths.end());
    std::vector<Trace> out;
    for (const std::string& path : paths) out.push_back(import_trace(path));
    return out;
  }();
  return traces;
}

ReplayOptions options(Mode mode, Profiler profiler) {
  ReplayOptions o;
  o.configs = TANDEM_SOURCE_DIR "/configs";
  o.mode.mode = mode;
  o.profiler = profiler;
  return o;
}

constexpr std::size_t least_captures = 16;
constexpr std::size_t least_replays = least_captures * std::size(modes) * std::size(profilers);

/// Checks every capture x mode x profiler setting; the failing one is named.
void for_every_replay(const std::function<void(const Replay&)>& check) {
  std::size_t cases = 0;
  for (const Trace& trace : captures()) {
    for (const Mode mode : modes) {
      for (const Profiler profiler : profilers) {
        SCOPED_TRACE(trace.path + ", " + std::string(to_string(mode)) +
                     (profiler == Profiler::keep ? ", profiler kept" : ", profiler removed"));
        check(replay(trace, options(mode, profiler)));
        ++cases;
      }
    }
  }
  EXPECT_GE(cases, least_replays);
}

TEST(ReplayProperty, NumbersAreFiniteAndRatiosAreRatios) {
  for_every_replay([](const Replay& r) {
    for (const MetricInfo& info : step_metric_infos()) {
      const double value = info.value(r.result.step);
      EXPECT_TRUE(std::isfinite(value)) << info.name;
      EXPECT_GE(value, 0) << info.name;
      if (info.unit == "ratio") {
        EXPECT_LE(value, 1) << info.name;
      }
    }
    for (const auto& metrics : {r.result.gpu_step, r.result.gpu_kernel_time}) {
      if (!metrics) continue;
      for (const GpuMetricInfo& info : gpu_metric_infos()) {
        const double value = (*metrics).*info.member;
        EXPECT_TRUE(std::isfinite(value)) << info.name;
        EXPECT_GE(value, 0) << info.name;
        if (info.unit == "ratio") {
          EXPECT_LE(value, 1) << info.name;
        }
      }
    }
    EXPECT_GT(r.result.step.time_us, 0);
    EXPECT_GE(r.result.expected_error, 0);
    EXPECT_LE(r.result.expected_error, 1);
  });
}

TEST(ReplayProperty, AStepIsAtLeastAsLongAsItsGpuIsBusy) {
  for_every_replay([](const Replay& r) {
    const StepMetrics& m = r.result.step;
    EXPECT_GE(m.time_us, m.gpu_busy_us * (1 - 1e-9));
    EXPECT_LE(m.gpu_busy_us, m.gpu_kernel_us * (1 + 1e-9));
    EXPECT_GE(m.isolated_time_us, m.phase_gpu_kernel_us);
  });
}

TEST(ReplayProperty, AStepIsAtLeastAsLongAsEachThreadAndStream) {
  for_every_replay([](const Replay& r) {
    const Plan& plan = r.isolated;  // one step and a final synchronisation
    std::vector<Duration> threads(plan.threads.size());
    std::vector<Duration> streams(plan.streams.size());
    for (std::size_t i = 0; i + 1 < plan.items.size(); ++i) {
      threads[plan.items[i].thread] += plan.items[i].gap + plan.items[i].call;
    }
    for (const DeviceWork& work : plan.works) {
      const Duration overlap = std::min({Duration{}, work.gap, work.far_gap});
      streams[work.stream] += work.duration + overlap;
    }
    const double least = r.result.step.time_us * (1 + 1e-9) + 1e-6;
    for (const Duration d : threads) EXPECT_GE(least, to_us(d));
    for (const Duration d : streams) EXPECT_GE(least, to_us(d));
  });
}

TEST(ReplayProperty, TheCriticalPathCoversTheStep) {
  for_every_replay([](const Replay& r) {
    double share = 0;
    double time_us = 0;
    for (const PathShare& p : r.result.critical_path) {
      share += p.share;
      time_us += p.time_us;
    }
    EXPECT_NEAR(share, 1, 1e-9);
    EXPECT_NEAR(time_us, r.result.step.time_us, 1e-3 * r.result.step.time_us);
  });
}

TEST(ReplayProperty, PhasesCoverTheIsolatedStep) {
  for_every_replay([](const Replay& r) {
    const StepMetrics& m = r.result.step;
    const double phases = m.phase_gpu_kernel_us + m.phase_dequeue_us + m.phase_copy_us + m.wait_us;
    EXPECT_NEAR(phases, m.isolated_time_us, 1e-9 * m.isolated_time_us);
  });
}

TEST(ReplayProperty, SharesOfDeviceTimeSumToOne) {
  for_every_replay([](const Replay& r) {
    for (const auto* shares : {&r.result.kernels, &r.result.ops, &r.result.layers}) {
      double share = 0;
      std::int64_t count = 0;
      for (const TimeShare& s : *shares) {
        share += s.share;
        count += s.count;
      }
      EXPECT_NEAR(share, 1, 1e-9);
      EXPECT_EQ(count, r.result.step.kernels);
    }
  });
}

TEST(ReplayProperty, EveryTracedStepIsReproduced) {
  std::size_t steps = 0;
  for (const Trace& trace : captures()) {
    const Replay r = replay(trace, options(Mode::as_traced, Profiler::keep));
    EXPECT_FALSE(r.result.fidelity.empty()) << trace.path;
    for (const StepFidelity& step : r.result.fidelity) {
      EXPECT_NEAR(step.simulated_us / step.traced_us, 1, 0.01) << trace.path << " " << step.name;
      ++steps;
    }
  }
  EXPECT_GE(steps, 2 * least_captures - 1);  // the XProf capture is one step
}

TEST(ReplayProperty, SynchronousLaunchesAreNeverFaster) {
  std::size_t cases = 0;
  for (const Trace& trace : captures()) {
    for (const Profiler profiler : profilers) {
      const auto step_us = [&](Mode mode) {
        return replay(trace, options(mode, profiler)).result.step.time_us;
      };
      EXPECT_GE(step_us(Mode::eager_sync), step_us(Mode::eager_async)) << trace.path;
      ++cases;
    }
  }
  EXPECT_GE(cases, 2 * least_captures);
}

TEST(ReplayProperty, ThePlanHoldsEveryPieceOfWorkOnce) {
  std::size_t works = 0;
  for (const Trace& trace : captures()) {
    const Replay r = replay(trace, options(Mode::as_traced, Profiler::keep));
    std::vector<int> seen(trace.activities.size());
    for (const DeviceWork& work : r.measured.plan.works) ++seen[work.source];
    for (const int n : seen) EXPECT_EQ(n, 1) << trace.path;
    works += seen.size();
  }
  EXPECT_GE(works, 10'000u);
}

std::string result_text(const Trace& trace, Mode mode) {
  return result_json(replay(trace, options(mode, Profiler::remove)).result).dump();
}

TEST(ReplayProperty, ResultsAreTheSameEveryTimeAndInEveryThread) {
  std::size_t cases = 0;
  for (const Trace& trace : captures()) {
    for (const Mode mode : modes) {
      std::string texts[4];
      std::vector<std::thread> threads;
      for (std::string& text : texts) {
        threads.emplace_back([&trace, mode, &text] { text = result_text(trace, mode); });
      }
      for (std::thread& thread : threads) thread.join();
      const std::string alone = result_text(trace, mode);
      for (const std::string& text : texts) EXPECT_EQ(text, alone) << trace.path;
      ++cases;
    }
  }
  EXPECT_GE(cases, least_captures * std::size(modes));
}

}  // namespace
}  // namespace tandem
