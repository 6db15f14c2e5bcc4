// Kernels that share the SMs: two or four at once on an H200 against the engine's pool, which gets
// their times alone and their launch geometry (bench/capture/ops_pool.py). Nothing is fitted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/arch/occupancy.h"
#include "sim/engine/engine.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

using nlohmann::json;

DeviceWork work_of(const json& kernel, const GpuArch& gpu) {
  LaunchGeometry g;
  g.grid = kernel["grid"].get<std::array<std::uint32_t, 3>>();
  g.block = kernel["block"].get<std::array<std::uint32_t, 3>>();
  g.registers_per_thread = kernel["registers_per_thread"];
  g.shared_bytes = kernel["shared_bytes"];
  const double places = static_cast<double>(gpu.sm_count) * occupancy(gpu, g).blocks_per_sm;
  const double blocks = static_cast<double>(g.grid[0]) * g.grid[1] * g.grid[2];
  DeviceWork work;
  work.duration = from_us(kernel["alone_us"]);
  work.pool_share = static_cast<float>(std::min(1.0, blocks / places));
  return work;
}

/// Per operation when it ends; each runs on a stream of its own from 0 on, the given order first.
std::vector<double> simulated_ends(const std::vector<std::vector<DeviceWork>>& operations,
                                   const std::vector<std::size_t>& order) {
  Plan plan;
  plan.threads.push_back({"host", {}});
  HostItem launch;
  launch.kind = ItemKind::graph_launch;
  std::vector<std::uint32_t> last(operations.size());
  for (const std::size_t o : order) {
    plan.streams.push_back("stream");
    for (DeviceWork work : operations[o]) {
      work.stream = static_cast<std::uint16_t>(plan.streams.size() - 1);
      work.item = 0;
      last[o] = static_cast<std::uint32_t>(plan.works.size());
      plan.works.push_back(work);
    }
  }
  launch.work_count = static_cast<std::uint32_t>(plan.works.size());
  plan.items.push_back(launch);
  const Timeline t = simulate(plan);
  std::vector<double> ends;
  for (const std::uint32_t w : last) ends.push_back(to_us(t.work_end[w] - TimePoint{}));
  return ends;
}

TEST(SmPoolMeasured, OperationsAtOnceOnAnH200) {
  const GpuArch gpu = load_gpu(source_path("configs/gpus/h200_sxm.json"));
  const json data = json::parse(std::ifstream(
      source_path("validation/captures/h200_2026-11-21_streams_holdout/sm_pool.json")));
  int runs = 0;
  double span_error = 0, end_error = 0, longest_error = 0;
  for (const json& run : data["runs"]) {
    std::vector<std::vector<DeviceWork>> operations;
    std::vector<std::size_t> order;
    double alone = 0, longest = 0, span = 0;
    for (const std::string name : run["kernels"]) {
      operations.emplace_back();
      double own = 0;
      for (const json& kernel : data["kernels"][name]) {
        operations.back().push_back(work_of(kernel, gpu));
        own += kernel["alone_us"].get<double>();
      }
      alone += own, longest = std::max(longest, own);
      order.push_back(order.size());
    }
    if (alone < 20) continue;  // the begin of launches decides
    const auto times = run["begin_end_us"].get<std::vector<std::array<double, 2>>>();
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return times[a][0] < times[b][0]; });
    const std::vector<double> ends = simulated_ends(operations, order);
    for (const auto& time : times) span = std::max(span, time[1]);
    span_error += std::abs(*std::max_element(ends.begin(), ends.end()) / span - 1);
    longest_error += std::abs(longest / span - 1);
    double ends_off = 0;
    for (std::size_t o = 0; o < ends.size(); ++o)
      ends_off += std::abs(ends[o] - times[o][1]) / span;
    end_error += ends_off / static_cast<double>(ends.size());
    ++runs;
  }
  ASSERT_GT(runs, 300);
  span_error /= runs, end_error /= runs, longest_error /= runs;
  std::printf("%d runs: span off by %.1f %%, ends by %.1f %% of it; without sharing %.1f %%\n",
              runs, 100 * span_error, 100 * end_error, 100 * longest_error);
  EXPECT_LT(span_error, 0.07);
  EXPECT_LT(end_error, 0.08);
  EXPECT_GT(longest_error, 0.2);
}

}  // namespace
}  // namespace tandem
