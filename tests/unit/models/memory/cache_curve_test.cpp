#include "models/memory/cache_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <map>
#include <string>

#include "models/arch/gpu_config.h"
#include "sim/core/text/csv_rows.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string root = source_dir();

/// Misses of the second of two rounds over the array, line by line.
double simulated_miss_share(int sets, int ways, int lines) {
  std::vector<std::list<int>> cache(static_cast<std::size_t>(sets));
  int misses = 0;
  for (int round = 0; round < 3; ++round) {
    misses = 0;
    for (int line = 0; line < lines; ++line) {
      std::list<int>& set = cache[static_cast<std::size_t>(line % sets)];
      const auto it = std::find(set.begin(), set.end(), line);
      if (it == set.end()) {
        ++misses;
      } else {
        set.erase(it);
      }
      set.push_front(line);
      if (set.size() > static_cast<std::size_t>(ways)) set.pop_back();
    }
  }
  return static_cast<double>(misses) / lines;
}

TEST(CacheCurve, AsALeastRecentlyUsedCache) {
  int cases = 0;
  for (const int ways : {1, 2, 4, 8}) {
    const int sets = 16;
    const CacheShape shape{128.0 * sets * ways, 128, static_cast<double>(ways)};
    for (int lines = 1; lines < 3 * sets * ways; ++lines, ++cases) {
      EXPECT_NEAR(cyclic_miss_share(shape, 128.0 * lines), simulated_miss_share(sets, ways, lines),
                  1e-12)
          << ways << " ways, " << lines << " lines";
    }
  }
  EXPECT_GT(cases, 500);
}

TEST(CacheCurve, NoCacheNoArray) {
  EXPECT_EQ(cyclic_miss_share({0, 128, 16}, 1e6), 0);
  EXPECT_EQ(cyclic_miss_share({1e6, 128, 16}, 0), 0);
}

/// 40 cycles up to 100 KB, then a linear rise to `high` at 120 KB.
std::vector<CurvePoint> stairs(double high) {
  std::vector<CurvePoint> curve;
  for (int kb = 10; kb <= 200; kb += 5) {
    const double share = std::clamp((kb - 100) / 20.0, 0.0, 1.0);
    curve.push_back({1e3 * kb, 40 + share * (high - 40) + (kb % 2)});
  }
  return curve;
}

TEST(CurveSteps, OneStep) {
  const std::vector<CurveStep> steps = curve_steps(stairs(240));
  ASSERT_EQ(steps.size(), 1U);
  EXPECT_NEAR(steps[0].knee_bytes, 110e3, 1e3);
  EXPECT_NEAR(steps[0].begin_bytes, 100e3, 1);
  EXPECT_NEAR(steps[0].below, 40.5, 1);
  EXPECT_NEAR(steps[0].above, 240.5, 1);
}

TEST(CurveSteps, NoStepInAFlatCurveOrAFewPoints) {
  EXPECT_TRUE(curve_steps(stairs(41)).empty());
  EXPECT_TRUE(curve_steps({}).empty());
  EXPECT_TRUE(curve_steps(std::vector<CurvePoint>{{1, 40}, {2, 400}}).empty());
}

std::vector<CurvePoint> recorded(const std::string& level) {
  std::vector<CurvePoint> curve;
  for (const CsvRow& row :
       read_csv(root + "/validation/captures/h200_2026-11-20_fit/cache/cache.csv")) {
    if (row.text("level") != level) continue;
    curve.push_back({row.number("bytes"), row.number("cycles") / row.number("accesses")});
  }
  return curve;
}

// Thesis figure 5.4 on our board. The capacity of the model lies between the last size that is
// served in full, less a tenth, and the middle of the rise.
TEST(CacheCurve, KneesOfTheRecording) {
  const GpuCatalogue gpus = load_catalogue(root + "/configs/gpus");
  const CacheKnees k = cache_knees(find_gpu(gpus, "h200_sxm"));
  const std::map<std::string, std::vector<double>> expected{
      {"l1", {k.l1}}, {"l2_one_sm", {k.l2_near, k.l2_one_sm}}, {"l2_all_sms", {k.l2_all_sms}}};
  for (const auto& [level, capacities] : expected) {
    const std::vector<CurveStep> steps = curve_steps(recorded(level));
    ASSERT_EQ(steps.size(), capacities.size()) << level;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_GT(capacities[i], 0.9 * steps[i].begin_bytes) << level;
      EXPECT_LT(capacities[i], steps[i].knee_bytes) << level;
    }
  }
}

TEST(CacheCurve, UndividedL2) {
  GpuArch gpu;
  gpu.l2_bytes = 6 << 20;
  gpu.l2_partitions = 1;
  const CacheKnees k = cache_knees(gpu);
  EXPECT_EQ(k.l2_near, 0);
  EXPECT_EQ(k.l2_one_sm, 6 << 20);
  EXPECT_EQ(k.l2_all_sms, 6 << 20);
}

}  // namespace
}  // namespace tandem
