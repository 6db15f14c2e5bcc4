// Every way an energy config or a recording can be wrong, and what the error says.
#include "models/energy/energy_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <tuple>

#include "models/arch/gpu_config.h"
#include "models/energy/power_log.h"
#include "sim/core/fields/field.h"
#include "sim/core/text/csv_rows.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
const std::string configs = source_path("configs");

class EnergyConfigFile : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(testing::TempDir()) / "tandem_energy_config" / test->name();
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream((dir_ / name).string()) << text;
    return (dir_ / name).string();
  }
  static std::string error_of(const std::function<void()>& action) {
    try {
      action();
    } catch (const InputError& caught) {
      return caught.what();
    }
    return "no error";
  }
  std::string gpu_error(const std::function<void(Json&)>& change) const {
    Json json = read_json_file(configs + "/gpus/h200_sxm.json");
    change(json["energy"]);
    return error_of([&] { load_energy(write("gpu.json", json.dump())); });
  }
  std::string rules_error(const std::function<void(Json&)>& change) const {
    Json json = read_json_file(configs + "/kernels/energy.json");
    change(json);
    return error_of([&] { load_work_rules(write("work.json", json.dump())); });
  }
  static void expect_has(const std::string& text, const std::string& part) {
    EXPECT_NE(text.find(part), std::string::npos) << text << "\n  lacks: " << part;
  }
  fs::path dir_;
};

TEST_F(EnergyConfigFile, EveryGpuHasOne) {
  const GpuCatalogue gpus = load_catalogue(configs + "/gpus");
  const EnergyCatalogue energies = load_energies(gpus);
  EXPECT_GE(gpus.gpus.size(), 10U);
  for (const GpuArch& gpu : gpus.gpus) {
    const EnergyConfig config = find_energy(energies, gpu);
    EXPECT_EQ(config.trace.power_limit_w, gpu.tdp_w) << gpu.name;
    EXPECT_LT(config.trace.static_w, gpu.tdp_w) << gpu.name;
  }
}

// What `calibrate energy` writes: the same file but for its constants, and nothing else changes.
TEST_F(EnergyConfigFile, WrittenConfigsReadBack) {
  const std::string path = configs + "/gpus/h200_sxm.json";
  const std::string text = with_energy(path, load_energy(path).value());
  const std::string again = write("h200_sxm.json", text);
  EXPECT_EQ(with_energy(again, load_energy(again).value()), text);
  EXPECT_EQ(to_json(load_gpu(again)), to_json(load_gpu(path)));
}

// A GPU that exists only on paper has the constants of its base.
TEST_F(EnergyConfigFile, ABaseGivesItsConstants) {
  fs::copy_file(configs + "/gpus/h200_sxm.json", dir_ / "h200_sxm.json");
  const std::string paper = write("paper.json", R"({"base": "h200_sxm"})");
  EXPECT_EQ(load_energy(paper).value().trace.static_w,
            load_energy(configs + "/gpus/h200_sxm.json").value().trace.static_w);
  EXPECT_FALSE(load_energy(write("alone.json", "{}")).has_value());
}

TEST_F(EnergyConfigFile, GpuWithoutConstants) {
  GpuArch gpu;
  gpu.name = "b300";
  const EnergyCatalogue energies = load_energies(load_catalogue(configs + "/gpus"));
  const std::string error = error_of([&] { find_energy(energies, gpu); });
  expect_has(error, "b300.json");
  expect_has(error, "no energy constants");
}

TEST_F(EnergyConfigFile, WrongConstants) {
  const auto value = [](Json& j) -> Json& { return j["trace"]["static_w"]["value"]; };
  expect_has(gpu_error([&](Json& j) { value(j) = -5; }), "energy.trace.static_w.value");
  expect_has(gpu_error([&](Json& j) { value(j) = "many"; }), "text \"many\"");
  expect_has(gpu_error([&](Json& j) { value(j) = nullptr; }), "null");
  expect_has(gpu_error([&](Json& j) { value(j) = 0; }), "energy.trace.static_w.value");
  expect_has(gpu_error([](Json& j) { j["trace"]["static_w"]["unit"] = "J"; }), "unit");
  expect_has(gpu_error([](Json& j) { j["trace"].erase("static_w"); }), "no key \"static_w\"");
  expect_has(gpu_error([](Json& j) { j["trace"]["color"] = 1; }), "unknown key \"color\"");
  expect_has(gpu_error([](Json& j) { j["access"].erase("l2_pj_per_sector"); }),
             "no key \"l2_pj_per_sector\"");
}

TEST_F(EnergyConfigFile, WrongFrame) {
  expect_has(rules_error([](Json& j) { j["schema"] = "tandem.energy/9"; }), "schema");
  expect_has(gpu_error([](Json& j) { j.erase("access"); }), "no key \"access\"");
  expect_has(gpu_error([](Json& j) { j["more"] = 1; }), "unknown key \"more\"");
  expect_has(gpu_error([](Json& j) { j["correlation"].erase(0); }), "6 rows");
  expect_has(gpu_error([](Json& j) { j["correlation"][1][2] = 7; }), "-1 to 1");
  expect_has(gpu_error([](Json& j) { j["correlation"][1] = "x"; }), "6 rows");
  expect_has(error_of([&] { load_energy(write("list.json", "[]")); }), "an object");
  expect_has(error_of([&] { load_energy((dir_ / "none.json").string()); }), "none.json");
}

TEST_F(EnergyConfigFile, WrongCorrelations) {
  const auto set = [](std::size_t i, std::size_t j, double r) {
    return [=](Json& json) { json["correlation"][i][j] = r; };
  };
  expect_has(gpu_error(set(1, 1, -1)), "found -1 in row 2, column 2, expected 1 on the diagonal");
  expect_has(gpu_error(set(2, 1, 0.123)), "found 0.123 in row 3, column 2");
  // The first goes with the second and with the third, these against each other.
  expect_has(gpu_error([](Json& json) {
               for (std::size_t i = 0; i < 6; ++i) {
                 for (std::size_t j = 0; j < 6; ++j) json["correlation"][i][j] = i == j ? 1 : 0;
               }
               for (const auto& [i, j, r] : {std::tuple{0, 1, 0.9}, {0, 2, 0.9}, {1, 2, -0.9}}) {
                 json["correlation"][i][j] = json["correlation"][j][i] = r;
               }
             }),
             "found correlations that contradict each other");
}

TEST_F(EnergyConfigFile, MorePowerWithoutWorkThanTheBoardMayDraw) {
  for (const char* part : {"trace", "access"}) {
    Json json = read_json_file(configs + "/gpus/h200_sxm.json");
    json["energy"][part]["static_w"]["value"] = 701;
    const std::string path = write("h200_sxm.json", json.dump());
    GpuFiles files;
    EnergyCatalogue energies;
    expect_has(
        error_of([&] { add_energy_of(energies, load_gpu(path), path, files); }),
        std::string("energy.") + part + ".static_w: found 701 W, expected at most the 700 W");
  }
}

TEST_F(EnergyConfigFile, WrongRules) {
  expect_has(rules_error([](Json& j) { j["rates"]["rows"][0]["family"] = "magic"; }), "gemm");
  expect_has(rules_error([](Json& j) { j["rates"]["rows"][0]["unit"] = "abacus"; }), "tensor");
  expect_has(rules_error([](Json& j) { j["rates"]["rows"][0].erase("dram_share"); }), "dram_share");
  expect_has(rules_error([](Json& j) { j["rates"]["rows"] = 5; }), "rows");
  expect_has(rules_error([](Json& j) { j["constants"]["half_rate_us"]["value"] = -1; }),
             "half_rate_us");
}

TEST_F(EnergyConfigFile, WrongRecordings) {
  const auto log_error = [&](const std::string& text) {
    return error_of([&] { read_power_log(write("samples.csv", text)); });
  };
  const std::string header = "time_s,energy_j,instant_w\n";
  EXPECT_EQ(log_error(header + "1,2,3\n2,3,4\n"), "no error");
  expect_has(log_error(""), "found no content, expected a CSV file with a header");
  expect_has(log_error("time_s,power\n1,2\n"), "energy_j");
  expect_has(log_error(header + "1,2\n"), "line 2");
  expect_has(log_error(header + "1,x,3\n"), "\"x\"");
  expect_has(log_error(header + "1,nan,3\n"), "nan");
  expect_has(log_error(header + "2,2,3\n1,3,4\n"), "times in order");
  expect_has(error_of([&] { read_csv(dir_.string()); }),
             "found a folder, expected a CSV file with a header");
}

}  // namespace
}  // namespace tandem
