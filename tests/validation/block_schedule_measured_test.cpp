// Schedules of blocks against Nsight Compute: how long SMs hold blocks, and how many warps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/kernel/counters/block_schedule.h"
#include "models/kernel/counters/cost_model.h"
#include "models/step/launches.h"
#include "models/step/op_nesting.h"
#include "sim/counters/match.h"
#include "sim/counters/utilization.h"
#include "sim/trace/import.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

/// Sums over kernels, weighted with their traced time. In points of 100.
struct Errors {
  int kernels = 0;
  double us = 0;
  double active = 0;        // of SMSP active, against Nsight Compute
  double occupancy = 0;     // of achieved occupancy
  double model_active = 0;  // of SMSP active, against the counter model behind kernels.csv

  double mean(double sum) const { return sum / us; }
};

struct Model {
  GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  CostConstants costs = CostConstants::load(source_path("configs/kernels/costs.json"));
};

double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

void add_kernel(const GpuArch& gpu, const CostConstants& costs, const KernelLaunch& launch,
                const CounterValues& counted, Errors& e) {
  constexpr std::int64_t any_grid = 100'000'000;
  const auto value = [&](Counter c) { return counted[static_cast<std::size_t>(c)]; };
  const double us = launch.duration_us;
  const BlockSchedule s =
      schedule_blocks(gpu, launch.geometry, us, block_pace(gpu, launch, costs), any_grid);
  const KernelCost cost = kernel_cost(gpu, launch, costs);
  // Nsight Compute's elapsed cycles begin before and end after the kernel that a trace shows.
  const double cycles = us * gpu.boost_clock_mhz;
  const double in_window = cycles / (cycles + costs.general().counter_window_cycles);
  const double active = 100 * s.smsp_active_share * in_window;
  const double model = percent(cost.smsp_active_cycles, cost.smsp_elapsed_cycles) * in_window;
  const double active_cycles = value(Counter::smsp_active_cycles);
  const double all_warps = active_cycles / gpu.smsp_per_sm * max_warps_per_sm(gpu);
  ++e.kernels;
  e.us += us;
  e.active += us * std::abs(active - percent(active_cycles, value(Counter::smsp_elapsed_cycles)));
  e.model_active += us * std::abs(active - model);
  e.occupancy += us * std::abs(100 * s.achieved_occupancy -
                               percent(value(Counter::warp_active_cycles), all_warps));
}

void add_capture(const Model& model, const std::string& folder, const std::string& name,
                 Errors& e) {
  const Trace trace = import_trace(folder + "/traces/" + name + ".json.zst");
  const Links links = link_trace(trace);
  const CounterReport report = read_counter_report(folder + "/counters/" + name + ".csv.zst");
  const GpuArch& gpu = *match_device(model.gpus, trace.devices.at(0)).gpu;
  const StepMatch match = match_best_step(trace, links, report);
  const TraceLaunches launches(trace, links, nest_ops(trace, links).of_call);
  for (std::size_t i = 0; i < match.kernels.size(); ++i) {
    if (match.rows.of(i).empty()) continue;
    add_kernel(gpu, model.costs, launches.launch(match.kernels[i].activity),
               mean_counters(report, match.rows.of(i)), e);
  }
}

Errors score(const std::string& folder, const std::vector<std::string>& names) {
  const Model model;
  Errors e;
  for (const std::string& name : names) {
    add_capture(model, source_path("validation/captures/") + folder, name, e);
  }
  std::printf("%s: %d kernels, SMSP active %.2f, occupancy %.2f, to the counter model %.2f\n",
              folder.c_str(), e.kernels, e.mean(e.active), e.mean(e.occupancy),
              e.mean(e.model_active));
  return e;
}

// Before the schedule knew launch, tail and the rate at which blocks start: 4.64 and 8.96.
TEST(BlockScheduleMeasured, TrainingAndInferenceOfTheFittedNetworks) {
  const Errors e = score("h200_2026-11-20_fit",
                         {"bert_base2l-train-amp-eager-b16", "dlrm-train-fp32-eager-b8192",
                          "lenet5-infer-fp32-eager-b1024", "resnet50-infer-fp32-eager-b128",
                          "resnet50-train-amp-eager-b32", "resnet50-train-fp32-eager-b32"});
  EXPECT_EQ(e.kernels, 2255);
  EXPECT_LT(e.mean(e.active), 3.0);
  EXPECT_LT(e.mean(e.occupancy), 4.5);
  EXPECT_LT(e.mean(e.model_active), 1.0);
}

// Before: 4.1 and 9.6. Only the form of the refill was chosen with these in sight.
TEST(BlockScheduleMeasured, OtherNetworks) {
  const Errors e = score("h200_2026-11-21_networks_holdout",
                         {"gpt2_2l-train-amp-eager-b4", "mobilenet_v2-infer-fp32-eager-b64"});
  EXPECT_EQ(e.kernels, 395);
  EXPECT_LT(e.mean(e.active), 4.0);
  EXPECT_LT(e.mean(e.occupancy), 5.5);
  EXPECT_LT(e.mean(e.model_active), 1.5);
}

// Kernels of several streams overlap in the trace, which makes them longer, and run alone under
// Nsight Compute: SMSP active is that of another duration. Before: 7.2 and 1.6.
TEST(BlockScheduleMeasured, OverlappingStreams) {
  const Errors e = score("h200_2026-11-21_networks_holdout", {"lstm-train-fp32-eager-b64"});
  EXPECT_EQ(e.kernels, 624);
  // Deviation 10 of validation/DEVIATIONS.md; below, the gap has closed.
  EXPECT_GT(e.mean(e.active), 4.5);
  EXPECT_LT(e.mean(e.active), 6.0);
  EXPECT_LT(e.mean(e.occupancy), 2.0);
  EXPECT_LT(e.mean(e.model_active), 1.0);
}

}  // namespace
}  // namespace tandem
