// The simulated caches against the recorded curve of an H200 (thesis figure 5.4,
// bench/device/cache).
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "models/arch/gpu_config.h"
#include "models/memory/cache_chase.h"
#include "sim/core/text/csv_rows.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string recording = source_path("validation/captures/h200_2026-11-20_fit/cache");

GpuArch h200() { return find_gpu(load_catalogue(source_path("configs/gpus")), "h200_sxm"); }

std::map<std::string, std::vector<CurvePoint>> recorded() {
  std::map<std::string, std::vector<CurvePoint>> curves;
  for (const CsvRow& row : read_csv(recording + "/cache.csv")) {
    curves[std::string(row.text("level"))].push_back(
        {row.number("bytes"), row.number("cycles") / row.number("accesses")});
  }
  return curves;
}

// Knees: L1 281 KiB, L2 33.2 and 62.4 MiB from one SM, 54.2 MiB from all.
TEST(CacheChase, KneesOfTheRecordedCurves) {
  const GpuArch gpu = h200();
  const auto curves = recorded();
  const ChaseCycles cycles =
      chase_cycles(gpu, curve_steps(curves.at("l1")), curve_steps(curves.at("l2_one_sm")));
  const std::map<std::string, double> tolerance{
      {"l1", 0.03}, {"l2_one_sm", 0.05}, {"l2_all_sms", 0.1}};
  ASSERT_EQ(curves.size(), tolerance.size());
  for (const auto& [level, curve] : curves) {
    const auto measured = curve_steps(curve);
    const auto model = curve_steps(simulate_curve(gpu, kit_chase(gpu, level), cycles, curve));
    ASSERT_EQ(model.size(), measured.size()) << level;
    ASSERT_FALSE(measured.empty()) << level;
    for (std::size_t i = 0; i < model.size(); ++i) {
      const double off = model[i].knee_bytes / measured[i].knee_bytes - 1;
      std::printf("%s: knee %.2f MiB measured, %+.1f %%\n", level.c_str(),
                  measured[i].knee_bytes / 1048576, 100 * off);
      EXPECT_LT(std::abs(off), tolerance.at(level)) << level;
    }
  }
}

// Under Nsight Compute, DRAM reads were counted in a pass that found no cache filled: the array
// once, and what every further round misses.
TEST(CacheChase, DramReadsOfTheCountedLaunches) {
  const GpuArch gpu = h200();
  const ChaseCycles cycles{46, 288, gpu.l2_far_latency_cycles, 730};
  const std::map<std::string, double> tolerance{{"l2_one_sm", 0.03}, {"l2_all_sms", 0.03}};
  for (const auto& [level, limit] : tolerance) {
    double off = 0, worst = 0;
    int n = 0, row_number = 0;
    for (const CsvRow& row : read_csv(recording + "/counted.csv")) {
      if (row.text("level") != level || row_number++ % 2 == 1) continue;
      Chase chase = kit_chase(gpu, level);
      chase.written = false;
      const double bytes = row.number("bytes");
      const double missed = (row.number("dram_read_sectors") * 32 / bytes - 1) / chase.rounds;
      const double model = simulate_chase(gpu, chase, cycles, bytes).dram_share;
      off += std::abs(model - missed), ++n;
      worst = std::max(worst, std::abs(model - missed));
    }
    std::printf("%s: share of lines from DRAM, mean error %.3f, worst %.2f of %d\n", level.c_str(),
                off / n, worst, n);
    EXPECT_GE(n, 30);
    EXPECT_LT(off / n, limit) << level;
    EXPECT_LT(worst, 0.35) << level;
  }
}

}  // namespace
}  // namespace tandem
