// Precisions that cannot be, traces that do not tell enough, law files that cannot be used.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "models/arch/gpu_config.h"
#include "models/whatif/precision/precision.h"
#include "sim/core/fields/field.h"
#include "sim/predict/configs.h"
#include "tests/bad_input/messages.h"
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

// Generated kernels of a compiled step convert on their own.
TEST(PrecisionBadInput, ACompiledStepToWeightsOf16Bits) {
  const auto compiled = [] {
    test::FlowMaker m;
    m.sequence = 7;
    m.op("CompiledFunction>aten::mm", "[[512,256],[256,256]]", R"(["float","float"])");
    return m.step();
  };
  for (const Precision to : {Precision::fp16w, Precision::bf16w}) {
    const std::string error = error_of(compiled(), to, "h200_sxm");
    EXPECT_NE(error.find("found operations of compiled graphs, expected a trace of eager"),
              std::string::npos)
        << error;
    EXPECT_NE(error.find(to_string(to)), std::string::npos);
  }
  EXPECT_EQ(error_of(compiled(), Precision::bf16, "h200_sxm"), "");
  EXPECT_NE(error_of(product(), Precision::bf16w, "v100_sxm2_16gb").find("bf16w"),
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

void says(const std::string& error, const std::string& text) {
  EXPECT_NE(error.find(text), std::string::npos) << error;
}

TEST(PrecisionBadInput, PacesOfAttention) {
  EXPECT_EQ(time_error("paces.json", [](Json&) {}), "");
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

TEST(PrecisionBadInput, PacesOfBatchedProducts) {
  says(time_error("none.json", [](Json& j) { j.erase("batched"); }), "no key \"batched\"");
  says(time_error("number.json", [](Json& j) { j["batched"] = 1; }), "batched: found number 1");
  says(time_error("type.json", [](Json& j) { j["batched"][0]["type"] = "fp16"; }),
       "batched[0].type: found text \"fp16\"");
  says(time_error("major.json", [](Json& j) { j["batched"][1].erase("compute_major"); }),
       "batched[1]: found no key \"compute_major\"");
  says(time_error("share.json", [](Json& j) { j["batched"][0]["values"]["share"]["value"] = -1; }),
       "batched[0].values.share");
  says(time_error("twice.json", [](Json& j) { j["batched"][1] = j["batched"][0]; }),
       "batched[1]: found a second row of its type");
}

/// The error of the table of layers with these two lines after its header.
std::string layers_error(const std::string& header, const std::string& first,
                         const std::string& second = "") {
  const std::string path = (std::filesystem::path(testing::TempDir()) / "layers.csv").string();
  std::ofstream(path) << header << first << second;
  try {
    load_layer_table(path);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(PrecisionBadInput, MeasuredLayers) {
  const std::string header =
      "dimensions,order,pass,images,in_channels,out_channels,groups,side,filter,stride,dilation,"
      "fp32,fp32_us,fp32_turning_us,fp16,fp16_us,fp16_turning_us\n";
  const std::string image = "2,nchw,forward,1,3,32,1,224,3x5,2,1,lanes,5.02,0,lanes,4.93,0\n";
  const std::string line = "1,nhwc,forward,1,3,32,1,224,3,2,1,lanes,5.02,0,lanes+turned,4.93,1\n";
  EXPECT_EQ(layers_error(header, image, line), "");
  const auto says = [](const std::string& error, const std::string& text) {
    EXPECT_NE(error.find("layers.csv:" + text), std::string::npos) << error;
  };
  // `image` or `line` with `from` in place of `to`, on the third line of the file.
  const auto with = [&](std::string second, const std::string& from, const std::string& to) {
    second.replace(second.find(from), from.size(), to);
    return layers_error(header, image, second);
  };
  says(layers_error("order,pass\n", image), "line 2: found 17 values, expected 2");
  says(layers_error("order,pass\n", "nchw,forward\n"),
       "line 1: found the columns order,pass, expected dimensions,");
  says(layers_error(header, ""), "line 2: found the end of the file");
  says(layers_error("", ""), " found no content, expected a CSV file with a header");
  says(with(line, "lanes+turned", "magic"), "line 3: found \"magic\", expected one of: ");
  says(with(line, "1,nhwc", "3,nhwc"), "line 3: found \"3\", expected one of: 1, 2");
  says(with(image, "224", "-4"), "line 3: found \"-4\", expected a whole number > 0");
  says(with(image, "224", "1.5"), "line 3: found \"1.5\", expected a whole number > 0");
  says(with(image, "5.02", "0"), "line 3: found \"0\", expected a number > 0");
  says(with(image, ",0\n", ",nan\n"), "line 3: found \"nan\", expected a number >= 0");
  says(with(image, ",0\n", "\n"), "line 3: found 16 values, expected 17");
  says(with(image, ",0\n", ",0,7\n"), "line 3: found 18 values, expected 17");
  // What has one dimension has filters of one side.
  says(with(line, "224,3", "224,3x5"), "line 3: found \"3x5\", expected a whole number > 0");
  EXPECT_THROW(load_layer_table(testing::TempDir() + "no_such_layers.csv"), InputError);
}

// The GPU that layers were measured on is one of the catalogue.
TEST(PrecisionBadInput, LayersOfAGpuThatNobodyKnows) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(testing::TempDir()) / "configs_of_unknown_layers";
  fs::remove_all(folder);
  fs::copy(configs_folder, folder, fs::copy_options::recursive);
  const fs::path file = folder / "kernels" / "layers.json";
  std::stringstream read;
  read << std::ifstream(file).rdbuf();
  std::string text = read.str();
  const std::string from = "h200_sxm";
  text.replace(text.find(from), from.size(), "h900");
  std::ofstream(file) << text;
  const std::string said = test::message_of([&] { load_configs(folder.string(), "default"); });
  EXPECT_TRUE(test::has(said, "layers.json")) << said;
  EXPECT_TRUE(test::has(said, "\"h900\"")) << said;
  fs::remove_all(folder);
}

}  // namespace
}  // namespace tandem
