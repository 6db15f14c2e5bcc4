// How fast the engine runs: events per second on synthetic plans, one iteration of ResNet-50, and a
// whole what-if over a trace in memory.
#include <benchmark/benchmark.h>

#include <filesystem>

#include "bench/host/synthetic_plan.h"
#include "sim/engine/engine.h"
#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

void simulate_repeatedly(benchmark::State& state, const Plan& plan) {
  std::uint64_t events = 0;
  for (auto _ : state) events += simulate(plan).events;
  state.counters["events"] =
      benchmark::Counter(static_cast<double>(events), benchmark::Counter::kIsRate);
}

void engine_one_stream(benchmark::State& state) {
  simulate_repeatedly(state,
                      bench::synthetic_plan(static_cast<std::uint32_t>(state.range(0)), 1, 1));
}

void engine_4_threads_16_streams(benchmark::State& state) {
  simulate_repeatedly(state,
                      bench::synthetic_plan(static_cast<std::uint32_t>(state.range(0)), 4, 16));
}

const std::string root = source_dir();
const std::string resnet =
    root + "/validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst";

ReplayOptions options() {
  ReplayOptions o;
  o.configs = root + "/configs";
  return o;
}

/// Repeats one iteration six times and simulates it. `gpu_seconds`: GPU work of the iterations that
/// are simulated in a second.
void resnet50_iteration(benchmark::State& state) {
  if (!std::filesystem::exists(resnet)) return state.SkipWithError("no measured traces");
  constexpr std::size_t copies = 6;
  const HostModel host = load_host_model(root + "/configs/hosts/default.json");
  const Trace trace = import_trace(resnet);
  const Links links = link_trace(trace);
  const DeviceTiming timing(trace, links, host);
  const MeasuredPlan measured = measured_plan(trace, links, host, timing);
  const Plan step = step_plan(trace, measured, host, Profiler::remove).plan;
  Duration gpu{};
  for (const DeviceWork& work : step.works) gpu += work.duration;
  for (auto _ : state) {
    const Plan repeated = repeat(step, copies, host);
    benchmark::DoNotOptimize(steady_period(step, simulate(repeated), copies));
  }
  const auto iterations = static_cast<double>(state.iterations() * copies);
  state.counters["iterations"] = benchmark::Counter(iterations, benchmark::Counter::kIsRate);
  state.counters["gpu_seconds"] =
      benchmark::Counter(iterations * to_us(gpu) * 1e-6, benchmark::Counter::kIsRate);
}

/// Everything but reading the trace: links, plan, both simulations, metrics, critical path.
void what_if(benchmark::State& state, Mode mode) {
  if (!std::filesystem::exists(resnet)) return state.SkipWithError("no measured traces");
  const Trace trace = import_trace(resnet);
  ReplayOptions o = options();
  o.mode.mode = mode;
  for (auto _ : state) benchmark::DoNotOptimize(replay(trace, o).prediction.result.step.time_us);
}

BENCHMARK(engine_one_stream)
    ->RangeMultiplier(10)
    ->Range(10'000, 1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(engine_4_threads_16_streams)
    ->RangeMultiplier(10)
    ->Range(10'000, 1'000'000)
    ->Unit(benchmark::kMillisecond);
BENCHMARK(resnet50_iteration)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(what_if, as_traced, Mode::as_traced)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(what_if, cuda_graph, Mode::cuda_graph)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(what_if, eager_sync, Mode::eager_sync)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tandem
