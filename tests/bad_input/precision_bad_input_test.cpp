// Precisions that cannot be, traces that do not tell enough, law files that cannot be used.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/arch/gpu_config.h"
#include "models/whatif/precision/precision.h"
#include "sim/core/field.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

const std::string configs_folder = source_path("configs");
const std::string precision_law_file = configs_folder + "/kernels/precision.json";

std::string error_of(Step step, Precision to, const std::string& gpu) {
  const GpuCatalogue gpus = load_catalogue(configs_folder + "/gpus");
  LossList losses;
  try {
    with_precision(std::move(step), to, find_gpu(gpus, gpu), load_precision_law(precision_law_file),
                   TimeConstants::load(configs_folder + "/kernels/time.json"),
                   load_library_names(configs_folder + "/kernels/libraries.json"),
                   load_measured_layers(configs_folder + "/kernels/layers.json"),
                   load_host_model(configs_folder + "/hosts/default.json"), losses);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

Step product() {
  test::FlowMaker m;
  m.op("aten::mm", "[[64,64],[64,64]]", R"(["float","float"])", "", "volta_sgemm_128x64_nn");
  return m.step();
}

TEST(PrecisionBadInput, AName) {
  try {
    parse_precision("fp8");
    FAIL();
  } catch (const InputError& e) {
    EXPECT_NE(std::string(e.what()).find("one of: fp32, tf32, amp, bf16"), std::string::npos);
  }
}

TEST(PrecisionBadInput, AGpuWithoutTheTensorCores) {
  EXPECT_NE(error_of(product(), Precision::bf16, "v100_sxm2_16gb").find("bf16"), std::string::npos);
  EXPECT_NE(error_of(product(), Precision::tf32, "v100_sxm2_16gb").find("tf32"), std::string::npos);
  EXPECT_EQ(error_of(product(), Precision::amp, "v100_sxm2_16gb"), "");
}

TEST(PrecisionBadInput, ATraceWithoutShapes) {
  test::FlowMaker m;
  m.op("aten::mm", "", "");
  EXPECT_NE(error_of(m.step(), Precision::amp, "h200_sxm").find("record_shapes"),
            std::string::npos);
}

std::string law_error(const std::string& name, void (*change)(Json&)) {
  Json json = read_json_file(precision_law_file);
  change(json);
  const std::string path = (std::filesystem::path(testing::TempDir()) / name).string();
  std::ofstream(path) << json.dump();
  try {
    load_precision_law(path);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(PrecisionBadInput, LawFiles) {
  EXPECT_NE(law_error("extra.json", [](Json& j) { j["more"] = 1; }).find("\"more\""),
            std::string::npos);
  EXPECT_NE(law_error("short.json", [](Json& j) { j["constants"].erase("conv_ratio"); })
                .find("conv_ratio"),
            std::string::npos);
  EXPECT_NE(law_error("negative.json",
                      [](Json& j) { j["constants"]["cast_up_dram_share"]["value"] = -1; })
                .find("cast_up_dram_share"),
            std::string::npos);
}

std::string time_error(const std::string& name, void (*change)(Json&)) {
  Json json = read_json_file(configs_folder + "/kernels/time.json");
  change(json);
  const std::string path = (std::filesystem::path(testing::TempDir()) / name).string();
  std::ofstream(path) << json.dump();
  try {
    TimeConstants::load(path);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(PrecisionBadInput, PacesOfAttention) {
  EXPECT_EQ(time_error("paces.json", [](Json&) {}), "");
  const auto says = [](const std::string& error, const std::string& text) {
    EXPECT_NE(error.find(text), std::string::npos) << error;
  };
  says(time_error("none.json", [](Json& j) { j.erase("attention"); }), "no key \"attention\"");
  says(time_error("object.json", [](Json& j) { j["attention"] = 1; }), "attention: found number 1");
  says(time_error("type.json", [](Json& j) { j["attention"][0]["type"] = "fp8"; }),
       "attention[0].type: found text \"fp8\"");
  says(time_error("pass.json", [](Json& j) { j["attention"][1].erase("pass"); }),
       "attention[1]: found no key \"pass\"");
  says(time_error("twice.json", [](Json& j) { j["attention"][1] = j["attention"][0]; }),
       "attention: found not one row for fp16");
  says(time_error("rows.json",
                  [](Json& j) { j["attention"][2]["values"]["own_rows"]["value"] = 0; }),
       "attention[2].values.own_rows");
}

std::string layers_error(const std::string& name, void (*change)(Json&)) {
  Json json = read_json_file(configs_folder + "/kernels/layers.json");
  change(json);
  const std::string path = (std::filesystem::path(testing::TempDir()) / name).string();
  std::ofstream(path) << json.dump();
  try {
    load_measured_layers(path);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(PrecisionBadInput, MeasuredLayers) {
  EXPECT_EQ(layers_error("whole.json", [](Json&) {}), "");
  EXPECT_NE(layers_error("way.json", [](Json& j) { j["layers"][1][10][0] = "magic"; })
                .find("layers[1]: found \"magic\""),
            std::string::npos);
  EXPECT_NE(layers_error("row.json", [](Json& j) { j["layers"][2] = Json::array({"nchw"}); })
                .find("layers[2]"),
            std::string::npos);
  EXPECT_NE(layers_error("size.json", [](Json& j) { j["layers"][0][2] = -4; }).find("layers[0]"),
            std::string::npos);
  // An image of one row has filters of one row.
  EXPECT_NE(layers_error("line.json", [](Json& j) { j["layers"][0][6] = Json::array({100}); })
                .find("layers[0]: found number 3, expected a list"),
            std::string::npos);
  EXPECT_NE(layers_error("area.json",
                         [](Json& j) {
                           j["layers"][0][6] = Json::array({100});
                           j["layers"][0][7] = Json::array({3, 3});
                         })
                .find("expected a list of one number"),
            std::string::npos);
  EXPECT_NE(layers_error("none.json", [](Json& j) { j.erase("layers"); }).find("layers"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem
