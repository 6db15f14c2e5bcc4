// Speed of the kernel model: classification, launch descriptions of a trace, cost of a launch.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <string>

#include "models/arch/gpu_config.h"
#include "models/kernel/classify/classify.h"
#include "models/kernel/counters/cost_model.h"
#include "models/step/launches.h"
#include "models/step/op_nesting.h"
#include "sim/trace/import.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string root = source_dir();

const Trace& trace() {
  static const Trace t = import_trace(
      root +
      "/validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst");
  return t;
}
const Links& links() {
  static const Links l = link_trace(trace());
  return l;
}
const OpNesting& ops() {
  static const OpNesting o = nest_ops(trace(), links());
  return o;
}

void classify_name(benchmark::State& state) {
  const std::string_view name = trace().strings.get(trace().activities.name[0]);
  for (auto _ : state) benchmark::DoNotOptimize(classify(name, "aten::add"));
}
BENCHMARK(classify_name);

void describe_launches(benchmark::State& state) {
  for (auto _ : state) {
    const TraceLaunches launches(trace(), links(), ops().of_call);
    benchmark::DoNotOptimize(launches.shapes());
  }
  state.SetItemsProcessed(state.iterations() *
                          static_cast<std::int64_t>(trace().activities.size()));
}
BENCHMARK(describe_launches);

template <bool cached>
void cost_of_launch(benchmark::State& state) {
  const GpuArch gpu = load_gpu(root + "/configs/gpus/h200_sxm.json");
  const CostConstants constants = CostConstants::load(root + "/configs/kernels/costs.json");
  const TraceLaunches launches(trace(), links(), ops().of_call);
  CostCache cache(gpu, constants);
  std::uint32_t a = 0;
  for (auto _ : state) {
    const KernelLaunch launch = launches.launch(a);
    benchmark::DoNotOptimize(cached ? cache.cost(launches.shape_of(a), launch)
                                    : kernel_cost(gpu, launch, constants));
    a = (a + 1) % static_cast<std::uint32_t>(trace().activities.size());
  }
}
BENCHMARK(cost_of_launch<false>);
BENCHMARK(cost_of_launch<true>);

}  // namespace
}  // namespace tandem
