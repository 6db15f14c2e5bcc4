// One what-if from a trace in memory: transform, plan, engine, metrics, counters, energy.
#include <benchmark/benchmark.h>

#include <string>

#include "sim/predict/predict.h"
#include "sim/sweep/metrics.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string root = source_dir();

ReplayOptions options() {
  ReplayOptions o;
  o.configs = root + "/configs";
  o.trace_path =
      root +
      "/validation/captures/h200_2026-11-20_fit/traces/resnet50-train-fp32-eager-b32.json.zst";
  return o;
}

const Analysis& analysis() {
  static const Analysis a = analyse(import_trace(options().trace_path, {}), options());
  return a;
}

void run(benchmark::State& state, const ReplayOptions& o) {
  analysis();
  for (auto _ : state) benchmark::DoNotOptimize(measure_point(predict(analysis(), o).result));
}

void whatif_batch(benchmark::State& state) {
  ReplayOptions o = options();
  o.batch = 128;
  run(state, o);
}
BENCHMARK(whatif_batch)->Unit(benchmark::kMillisecond);

void whatif_precision(benchmark::State& state) {
  ReplayOptions o = options();
  o.precision = "amp";
  run(state, o);
}
BENCHMARK(whatif_precision)->Unit(benchmark::kMillisecond);

void whatif_jit(benchmark::State& state) {
  ReplayOptions o = options();
  o.mode.mode = Mode::jit;
  run(state, o);
}
BENCHMARK(whatif_jit)->Unit(benchmark::kMillisecond);

void whatif_cuda_graph(benchmark::State& state) {
  ReplayOptions o = options();
  o.mode.mode = Mode::cuda_graph;
  run(state, o);
}
BENCHMARK(whatif_cuda_graph)->Unit(benchmark::kMillisecond);

void whatif_override(benchmark::State& state) {
  ReplayOptions o = options();
  o.overrides = {"gpu.sm_count=160"};
  run(state, o);
}
BENCHMARK(whatif_override)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tandem
