// How much more a changed step gets done, from two steps made by hand.
#include <gtest/gtest.h>

#include <cmath>

#include "sim/predict/bands.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

BandConstants constants() { return load_bands(source_path("configs/bands.json")); }

/// Of a step of `time_us`, all of it on the host, which may be from 0.8 to 1.25 times as slow.
BandParts on_host(double time_us) {
  BandParts parts;
  parts.host = {0.8 * time_us, 1.25 * time_us};
  return parts;
}

/// Of one that does not follow the host.
BandParts on_gpu(double time_us) {
  BandParts parts;
  parts.host = {time_us, time_us};
  parts.gpu_share = 1;
  return parts;
}

TEST(SpeedUp, IsOfThroughputWithTheHostsOfBothSteps) {
  const BandParts host = on_host(1000), gpu = on_gpu(1500);
  // Twice the batch in a step 1.5 times as long: 2 / 1.5.
  const SpeedUp s = speed_up(constants(), {1000, 32, host}, {1500, 64, gpu}, {});
  EXPECT_DOUBLE_EQ(s.value, 2 / 1.5);
  EXPECT_DOUBLE_EQ(s.base_us, 1000);
  // The changed step does not follow the host; the base is 0.8 to 1.25 times as long.
  EXPECT_NEAR(s.low, s.value * 0.8, 1e-9);
  EXPECT_NEAR(s.high, s.value * 1.25, 1e-9);
}

TEST(SpeedUp, HostsOfTwoRunsCountApart) {
  const BandParts host = on_host(1000);
  const SpeedUp s = speed_up(constants(), {1000, 1, host}, {1000, 1, host}, {});
  EXPECT_DOUBLE_EQ(s.value, 1);
  // log 0.8 and log 1.25 are equal but for the sign: one such end of each step, at a right angle.
  EXPECT_NEAR(s.high, std::exp(std::sqrt(2.0) * std::log(1.25)), 1e-9);
  EXPECT_NEAR(s.low, 1 / s.high, 1e-9);
}

// A network's host may be off by 1.5625 = 1.25 x 1.25 either way, two runs on it by 1.25: half of
// the logarithms. Of the steps' own 0.8 and 1.25 that is their square root, of each of the two.
TEST(SpeedUp, OfTheUnknownHostOfGeneratedStepsOnlyTwoRunsDiffer) {
  BandConstants bands = constants();
  const auto set = [&](HostBasis basis, double low, double high) {
    Factors& f = bands.host[static_cast<std::size_t>(basis)];
    f.low = low, f.high = high;
  };
  set(HostBasis::trace, 0.8, 1.25), set(HostBasis::network, 0.64, 1.5625);
  BandParts host = on_host(1000);
  host.basis = HostBasis::network;
  const SpeedUp s = speed_up(bands, {1000, 1, host}, {1000, 1, host}, {});
  EXPECT_NEAR(s.high, std::exp(std::sqrt(2.0) * std::log(1.25) / 2), 1e-9);
  EXPECT_NEAR(s.low, 1 / s.high, 1e-9);
}

TEST(SpeedUp, HasWhatWhatIfsExpectInKernelTime) {
  const BandParts base = on_gpu(1000), changed = on_gpu(500);
  const BandConstants bands = constants();
  const std::vector<TransformReport> what_ifs = {
      {"precision", "precision", "fp32", "amp", {}, {}, 0.1}};
  const SpeedUp s = speed_up(bands, {1000, 1, base}, {500, 1, changed}, what_ifs);
  const Factors& times = bands.of("precision");
  EXPECT_NEAR(s.low, 2 / std::exp(0.1 * times.high), 1e-9);
  EXPECT_NEAR(s.high, 2 * std::exp(0.1 * times.low), 1e-9);
}

TEST(SpeedUp, HasTheErrorOfOtherLaunches) {
  const BandParts base = on_gpu(1000);
  BandParts changed = on_gpu(1000);
  changed.launched = Launched::in_graphs;
  const BandConstants bands = constants();
  const SpeedUp s = speed_up(bands, {1000, 1, base}, {1000, 1, changed}, {});
  EXPECT_NEAR(s.low, 1 / bands.of(Launched::in_graphs).high, 1e-9);
  EXPECT_NEAR(s.high, 1 / bands.of(Launched::in_graphs).low, 1e-9);
}

TEST(SpeedUp, HasWhatCollectivesMayBeOffBy) {
  const BandParts parts = on_gpu(1000);
  // 100 of 1000 us to either side: 1.1 times in the logarithm.
  const SpeedUp s = speed_up(constants(), {1000, 1, parts}, {1000, 1, parts, 100}, {});
  EXPECT_NEAR(s.low, 1 / 1.1, 1e-9);
  EXPECT_NEAR(s.high, 1.1, 1e-9);
}

}  // namespace
}  // namespace tandem
