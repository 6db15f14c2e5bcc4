// The 90 % interval of a step, with the sums worked out.
#include "sim/predict/bands.h"

#include <gtest/gtest.h>

#include <cmath>
#include <fstream>

#include "models/whatif/transform.h"
#include "sim/core/error.h"
#include "tests/import_files.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const std::string bands_path = source_path("configs/bands.json");

BandConstants some_constants() {
  BandConstants c;
  c.gpu = {{1, 1}, {0.98, 1.01}, {1, 1}};
  c.network = {1.0, 2.0};
  c.what_ifs = {{"batch", {2.0, 3.0}}, {"gpu", {1.0, 1.0}}};
  return c;
}

TransformReport report(std::string_view name, double expected_error) {
  TransformReport out;
  out.name = name;
  out.expected_error = expected_error;
  return out;
}

TEST(Bands, ErrorsOfWhatIfsAddAsIndependentOnes) {
  // low: sqrt((2 x 0.03)^2 + (1 x 0.08)^2) = 0.10; high: sqrt(0.09^2 + 0.08^2) = 0.1204.
  const LogBand band = what_if_band(some_constants(), {report("batch", 0.03), report("gpu", 0.08)});
  EXPECT_NEAR(band.low, -0.10, 1e-12);
  EXPECT_NEAR(band.high, 0.12041594578792295, 1e-12);
  EXPECT_THROW(what_if_band(some_constants(), {report("clock", 0.1)}), std::logic_error);
}

TEST(Bands, TracedKernelsAndGeneratedOnesHaveResidualsOfTheirOwn) {
  EXPECT_NEAR(gpu_band(some_constants(), Launched::in_graphs, 0, {}).high, std::log(1.01), 1e-12);
  EXPECT_NEAR(gpu_band(some_constants(), Launched::in_graphs, 0, {}).low, std::log(0.98), 1e-12);
  // 2 x 0.06 above, 1 x 0.06 below.
  EXPECT_NEAR(gpu_band(some_constants(), Launched::by_calls, 0.06, {}).high, 0.12, 1e-12);
  EXPECT_NEAR(gpu_band(some_constants(), Launched::by_calls, 0.06, {}).low, -0.06, 1e-12);
}

TEST(Bands, KernelTimeOfAWhatIfIsOffByItsOwnResiduals) {
  // 3 x 0.03 above, more than 1 % of the traced kernels; below 2 x 0.005, less than their 2 %.
  const auto at = [](double error) {
    return kernel_time_band(some_constants(), Launched::in_graphs, 0, {report("batch", error)});
  };
  EXPECT_NEAR(at(0.03).high, 0.09, 1e-12);
  EXPECT_NEAR(at(0.005).low, std::log(0.98), 1e-12);
  // A step follows both: sqrt(0.09^2 + ln(1.01)^2).
  EXPECT_NEAR(gpu_band(some_constants(), Launched::in_graphs, 0, {report("batch", 0.03)}).high,
              std::sqrt(0.09 * 0.09 + std::log(1.01) * std::log(1.01)), 1e-12);
}

TEST(Bands, OnlyTheShareOnTheGpuFollowsTheKernels) {
  // 1000 us, 80 % of it on the GPU; hosts make it 970 to 1060 us; kernels e^-0.05 to e^0.1.
  // below: sqrt(30^2 + (800 x (1 - e^-0.05))^2) = sqrt(900 + 39.0165^2) = 49.2167.
  // above: sqrt(60^2 + (800 x (e^0.1 - 1))^2) = sqrt(3600 + 84.1367^2) = 103.3392.
  const Band band = step_band(1000, {970, 1060}, {-0.05, 0.1}, 0.8);
  EXPECT_NEAR(band.low_us, 1000 - 49.2167, 1e-3);
  EXPECT_NEAR(band.high_us, 1000 + 103.3392, 1e-3);
  EXPECT_NEAR(band.half_width_us(), (49.2167 + 103.3392) / 2, 1e-3);
}

TEST(Bands, APeakOfMemoryIsOffByItsBasisAndByWhatChangedIt) {
  BandConstants c = some_constants();
  c.memory = {{1, 1}, {0.9, std::exp(0.03)}, {1, 1}, {1, 1}, {0.8, 1.2}, {1, 1}};
  c.memory_what_ifs = {{"batch", {0.9, std::exp(0.04)}}};
  // sqrt(0.03^2 + 0.04^2) = 0.05; the GPU changes no peak.
  const std::vector<TransformReport> changes{report("batch", 0), report("gpu", 0.1)};
  EXPECT_NEAR(memory_band(c, MemoryBasis::training, changes).high, 0.05, 1e-12);
  EXPECT_NEAR(memory_band(c, MemoryBasis::training, {}).low, std::log(0.9), 1e-12);
  EXPECT_NEAR(memory_band(c, MemoryBasis::network, changes).high, std::log(1.2), 1e-12);
}

TEST(Bands, FactorsThatNobodyMeasuredAreNamed) {
  const BandConstants c = load_bands(bands_path);
  BandParts parts;
  parts.what_ifs = {{"gpu", 0.1}, {"clock", 0.1}, {"layout", 0.0}};
  EXPECT_EQ(unverified_factors(c, parts), std::vector<std::string>{"clock"});
  parts.basis = HostBasis::network;
  EXPECT_EQ(unverified_factors(c, parts).front(), "host of a network");
}

TEST(Bands, ALoaderIsNotTheHost) {
  Plan plan;
  HostItem item;
  item.gap = microseconds(10), item.input = microseconds(4);
  plan.items = {item};
  EXPECT_EQ(with_host(plan, 1.5).items[0].gap, microseconds(4 + 9));
}

TEST(Bands, HostTimeIsAllThatTheHostDoes) {
  Plan plan;
  HostItem item;
  item.gap = microseconds(10);
  item.call = microseconds(4);
  item.submit = microseconds(2);
  item.wake = microseconds(6);
  item.return_delay = microseconds(5);
  plan.items = {item};
  DeviceWork work;
  work.duration = microseconds(7);
  plan.works = {work};
  const Plan slow = with_host(plan, 1.5);
  EXPECT_EQ(slow.items[0].gap, microseconds(15));
  EXPECT_EQ(slow.items[0].call, microseconds(6));
  EXPECT_EQ(slow.items[0].submit, microseconds(3));
  EXPECT_EQ(slow.items[0].wake, microseconds(9));
  EXPECT_EQ(slow.items[0].return_delay, microseconds(5));
  EXPECT_EQ(slow.works[0].duration, microseconds(7));
}

TEST(Bands, EveryWhatIfAndEveryHostHasARow) {
  const BandConstants c = load_bands(bands_path);
  std::size_t rows = 0;
  for (const Transform& t : transforms()) {
    EXPECT_GT(c.of(t.name).high, 0) << t.name;
    ++rows;
  }
  EXPECT_EQ(rows, c.what_ifs.size());
  for (const Factors& f : c.host) {
    EXPECT_GT(f.low, 0);
    EXPECT_LT(f.low, 1);
    EXPECT_GT(f.high, 1);
  }
  ASSERT_EQ(c.gpu.size(), 3u);
  for (const Factors& f : c.gpu) {
    EXPECT_LT(f.low, 1);
    EXPECT_GT(f.high, 1);
  }
}

TEST(Bands, SayWhatLimitsAStep) {
  const BandConstants c = load_bands(bands_path);
  EXPECT_EQ(c.limit(0), StepLimit::host);
  EXPECT_EQ(c.limit(c.limits.host_below), StepLimit::balance);
  EXPECT_EQ(c.limit(c.limits.gpu_above), StepLimit::balance);
  EXPECT_EQ(c.limit(1), StepLimit::gpu);
}

/// The message about bands.json with the first `from` replaced.
std::string message_with(const std::string& from, const std::string& to) {
  std::ifstream file(bands_path);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  text.replace(text.find(from), from.size(), to);
  const std::string path = testing::TempDir() + "bands.json";
  std::ofstream(path) << text;
  try {
    load_bands(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Bands, AMissingRowIsNamed) {
  EXPECT_NE(message_with("\"batch\"", "\"batches\"").find("no key \"batch\""), std::string::npos);
  EXPECT_NE(message_with("\"trace\"", "\"tracer\"").find("no key \"trace\""), std::string::npos);
  EXPECT_NE(message_with("\"low\"", "\"lowest\"").find("unknown key \"lowest\""),
            std::string::npos);
  EXPECT_NE(message_with("\"value\": 0.4,", "\"value\": 0.7,").find("limits.host_below"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem
