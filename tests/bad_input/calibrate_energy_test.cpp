// What `tandem calibrate energy` and `calibrate cache` say to recordings that tell nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>

#include "models/energy/recording.h"
#include "sim/cli/calibrate/calibrate.h"
#include "sim/core/error.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
const std::string recordings = source_path("validation/captures/h200_2026-11-20_fit");
constexpr const char* header =
    "kernel,threads,blocks,sm_share,begin_s,end_s,launches,sectors,flop,divides\n";

class Recordings : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(testing::TempDir()) / "tandem_recordings" / test->name();
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream((dir_ / name).string()) << text;
  }
  /// 60 s: 100 W, but 300 W in [10, 50).
  void write_samples() const {
    std::string text = "time_s,energy_j,instant_w\n";
    double joule = 0;
    for (int i = 0; i < 600; ++i) {
      const double watt = i >= 100 && i < 500 ? 300 : 100;
      text +=
          std::to_string(0.1 * i) + "," + std::to_string(joule) + "," + std::to_string(watt) + "\n";
      joule += 0.1 * watt;
    }
    write("samples.csv", text);
  }
  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const InputError& caught) {
      return caught.what();
    }
    return "no error";
  }
  std::string energy_error(const Arguments& more = {"--gpu", "h200_sxm"}) const {
    Arguments all{dir_.string()};
    all.insert(all.end(), more.begin(), more.end());
    return error_of([&] { calibrate_energy(all); });
  }
  std::string cache_error() const {
    return error_of([&] { calibrate_cache({dir_.string(), "--gpu", "h200_sxm"}); });
  }
  static void expect_has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\n  lacks: " << part;
  }
  fs::path dir_;
};

TEST_F(Recordings, CommandLine) {
  expect_has(energy_error({}), "no --gpu");
  expect_has(energy_error({"--gpu"}), "--gpu: found no value, expected a value: GPU");
  expect_has(energy_error({"--gpu", "h300"}), "h300");
  expect_has(energy_error({"--gpu", "h200_sxm", "--speed", "1"}), "speed");
  expect_has(error_of([] { calibrate_energy({"--gpu", "h200_sxm"}); }), "no folder");
  expect_has(error_of([] { calibrate_cache({"--gpu", "h200_sxm"}); }), "no folder");
}

TEST_F(Recordings, MissingFiles) {
  expect_has(energy_error(), "samples.csv: found No such file");
  write_samples();
  expect_has(energy_error(), "points.csv: found No such file");
  expect_has(cache_error(), "cache.csv: found No such file");
}

TEST_F(Recordings, NoNumber) {
  write_samples();
  write("points.csv", std::string(header) + "idle,0,0,1,zero,9,0,0,0,0\n");
  expect_has(energy_error(), "zero");
  expect_has(energy_error(), "points.csv");
}

TEST_F(Recordings, NoIdlePower) {
  write_samples();
  write("points.csv", std::string(header) + "l1_load,1024,132,1,20,22,40,1e12,0,0\n");
  expect_has(energy_error(), "idle: found no point with measured power");
}

TEST_F(Recordings, TooFewPoints) {
  write_samples();
  write("points.csv", std::string(header) +
                          "idle,0,0,1,1,8,0,0,0,0\n"
                          "shared_load,1024,132,1,12,14,40,1e12,0,0\n"
                          "shared_load,1024,132,1,16,18,40,2e12,0,0\n");
  expect_has(energy_error(), "shared_load: found 0 usable points");
}

TEST_F(Recordings, NotIdentified) {
  write_samples();
  // The same power for a hundred times the accesses: the energy of one is anything.
  std::string text = std::string(header) + "idle,0,0,1,1,8,0,0,0,0\n";
  const char* const sectors[] = {"1e10", "2e12", "1e12"};
  for (int i = 0; i < 3; ++i) {
    const double begin = 12 + 4 * i;
    text += "shared_load,1024,132,1," + std::to_string(begin) + "," + std::to_string(begin + 3) +
            ",40," + sectors[i] + ",0,0\n";
  }
  write("points.csv", text);
  expect_has(energy_error(), "not identified");
}

TEST_F(Recordings, ShortPointsAreListed) {
  write_samples();
  write("points.csv", std::string(header) +
                          "idle,0,0,1,1,8,0,0,0,0\n"
                          "l1_load,1024,132,1,12,12.1,1,1e12,0,0\n"
                          "l1_load,1024,132,1,100,104,1,1e12,0,0\n");
  const EnergyRecording r = evaluate_recording(dir_.string(), 132);
  ASSERT_EQ(r.dropped.size(), 2U);
  EXPECT_EQ(r.dropped[0].line, 3U);
  expect_has(r.dropped[0].reason, "too short");
  expect_has(r.dropped[1].reason, "too few power readings");
  EXPECT_NEAR(r.idle.value, 100, 0.5);
}

TEST_F(Recordings, CountsThatDisagreeDropTheKernel) {
  const std::string folder = recordings + "/energy/session1";
  const EnergyRecording all = evaluate_recording(folder, 132);
  const EnergyRecording less = evaluate_recording(folder, 132, {{"l1_load", 0.2}});
  EXPECT_NE(find_access(all, "l1_load"), nullptr);
  EXPECT_EQ(find_access(less, "l1_load"), nullptr);
  const EnergyRecording one[] = {less};
  expect_has(error_of([&] { access_energies(one, "test"); }), "l1_load");
}

TEST_F(Recordings, UnwritableOutput) {
  EXPECT_NE(error_of([&] {
              calibrate_energy({recordings + "/energy/session2", "--gpu", "h200_sxm", "--out",
                                (dir_ / "no" / "file.json").string()});
            }).find("can be written"),
            std::string::npos);
}

TEST_F(Recordings, CacheCurveThatIsNone) {
  const std::string columns =
      "level,bytes,warps,accesses,warm_accesses,sectors_per_access,cycles\n";
  write("cache.csv", columns + "l1,2048,1,8,8,8,100\nl1,1024,1,8,8,8,100\n");
  expect_has(cache_error(), "sizes that grow");
  write("cache.csv", columns + "l1,2048,1,8,8,8,-1\n");
  expect_has(cache_error(), "positive cycles");
}

}  // namespace
}  // namespace tandem
