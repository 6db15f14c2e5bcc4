// Every way a GPU config can be wrong, and what the error says.
#include "models/arch/gpu_config.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>

#include "sim/core/fields/field.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;
const std::string source = source_path("configs/gpus");

class GpuConfig : public testing::Test {
 protected:
  void SetUp() override {
    const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
    dir_ = fs::path(testing::TempDir()) / "tandem_gpu_config" / test->name();
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }

  std::string path(const std::string& name) const { return (dir_ / (name + ".json")).string(); }
  Json original() const { return read_json_file(std::string(source) + "/h200_sxm.json"); }

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
  }

  /// The error for h200_sxm after `change`, without the path of the file.
  std::string error(const std::function<void(Json&)>& change) const {
    Json json = original();
    change(json);
    write("h200_sxm", json.dump());
    return load_error("h200_sxm");
  }
  std::string load_error(const std::string& name) const {
    return error_of([&] { load_gpu(path(name)); });
  }
  std::string error_of(const std::function<void()>& action) const {
    try {
      action();
    } catch (const InputError& caught) {
      std::string text = caught.what();
      for (std::size_t at; (at = text.find(dir_.string() + "/")) != std::string::npos;) {
        text.erase(at, dir_.string().size() + 1);
      }
      return text;
    }
    return "no error";
  }

  fs::path dir_;
};

TEST_F(GpuConfig, UnchangedIsAccepted) {
  EXPECT_EQ(error([](Json&) {}), "no error");
}

TEST_F(GpuConfig, NotAFileOrNotJson) {
  EXPECT_EQ(load_error("missing"),
            "missing.json: found No such file or directory, expected a JSON file");
  write("cut", "{\"schema\": \"tandem.gpu/1\", ");
  EXPECT_TRUE(load_error("cut").starts_with("cut.json:line 1, column 28: found "))
      << load_error("cut");
  EXPECT_TRUE(load_error("cut").ends_with(", expected JSON")) << load_error("cut");
  write("list", "[]");
  EXPECT_EQ(load_error("list"), "list.json: found array [], expected an object {...}");
}

TEST_F(GpuConfig, FileKeys) {
  EXPECT_EQ(error([](Json& j) { j["extends"] = "x"; }),
            "h200_sxm.json: found unknown key \"extends\", expected one of: schema, name, "
            "display_name, aliases, base, values, energy");
  EXPECT_EQ(error([](Json& j) { j.erase("aliases"); }),
            "h200_sxm.json: found no key \"aliases\", expected all of: schema, name, display_name, "
            "aliases, values (base and energy may be left out)");
  EXPECT_EQ(error([](Json& j) { j["schema"] = "tandem.gpu/9"; }),
            "h200_sxm.json:schema: found text \"tandem.gpu/9\", expected one of: tandem.gpu/1");
  EXPECT_EQ(error([](Json& j) { j["name"] = "h201"; }),
            "h200_sxm.json:name: found h201, expected h200_sxm, the name of the file");
  EXPECT_EQ(error([](Json& j) { j["aliases"] = "H200"; }),
            "h200_sxm.json:aliases: found text \"H200\", expected a list of texts");
}

TEST_F(GpuConfig, UnknownAndMissingValues) {
  const std::string unknown = error([](Json& j) { j["values"]["sms"] = j["values"]["sm_count"]; });
  EXPECT_TRUE(unknown.starts_with(
      "h200_sxm.json:values: found unknown key \"sms\", expected one of: compute_major, "))
      << unknown;
  const std::string missing = error([](Json& j) { j["values"].erase("sm_count"); });
  EXPECT_TRUE(missing.starts_with(
      "h200_sxm.json:values: found no key \"sm_count\", expected all of: compute_major, "))
      << missing;
  EXPECT_TRUE(missing.ends_with("idle_w (or a \"base\" that has them)")) << missing;
}

TEST_F(GpuConfig, WrongValues) {
  const auto value = [this](const char* json) {
    return error([&](Json& j) { j["values"]["tdp_w"]["value"] = parse_json(json, "test"); });
  };
  const std::string place = "h200_sxm.json:values.tdp_w.value: found ";
  EXPECT_EQ(value("\"700\""), place + "text \"700\", expected a number > 0");
  EXPECT_EQ(value("null"), place + "null, expected a number > 0");
  EXPECT_EQ(value("0"), place + "number 0, expected a number > 0");
  EXPECT_EQ(value("-1"), place + "number -1, expected a number > 0");
  EXPECT_EQ(value("[700]"), place + "array [700], expected a number > 0");
  EXPECT_EQ(error([](Json& j) { j["values"]["sm_count"]["value"] = 132.5; }),
            "h200_sxm.json:values.sm_count.value: found number 132.5, expected a whole number > 0");
}

TEST_F(GpuConfig, NumbersThatAreNotFinite) {
  std::string text = original().dump();
  const std::string good = "\"tdp_w\":{\"value\":700";
  ASSERT_NE(text.find(good), std::string::npos);
  for (const char* bad : {"NaN", "Infinity", "1e999"}) {
    std::string changed = text;
    changed.replace(changed.find(good), good.size(), std::string("\"tdp_w\":{\"value\":") + bad);
    write("h200_sxm", changed);
    EXPECT_NE(load_error("h200_sxm").find("expected JSON"), std::string::npos) << bad;
  }
}

TEST_F(GpuConfig, WrongOrigins) {
  const auto part = [this](const char* key, const Json& json) {
    return error([&](Json& j) { j["values"]["tdp_w"][key] = json; });
  };
  const std::string place = "h200_sxm.json:values.tdp_w";
  EXPECT_EQ(part("unit", "kW"), place + ".unit: found text \"kW\", expected one of: W");
  EXPECT_EQ(part("kind", "guessed"),
            place + ".kind: found text \"guessed\", expected one of: spec, measured, fitted");
  EXPECT_EQ(part("source", ""), place + ".source: found text \"\", expected a text");
  EXPECT_EQ(part("note", "x"), place +
                                   ": found unknown key \"note\", expected one of: value, unit, "
                                   "source, kind, fitted_on, uncertainty");
  EXPECT_EQ(part("kind", "fitted"),
            place +
                ": found kind \"fitted\" without \"fitted_on\", expected the data it was "
                "fitted on");
  EXPECT_EQ(part("fitted_on", "runs"),
            place + ": found \"fitted_on\", expected it with kind \"fitted\" only");
  EXPECT_EQ(part("uncertainty", -0.1),
            place + ".uncertainty: found number -0.1, expected a number > 0");
}

TEST_F(GpuConfig, MissingOrigins) {
  EXPECT_EQ(error([](Json& j) { j["values"]["tdp_w"].erase("source"); }),
            "h200_sxm.json:values.tdp_w: found no key \"source\", expected all of: value, unit, "
            "source, kind");
  EXPECT_EQ(error([](Json& j) { j["values"]["tdp_w"] = 700; }),
            "h200_sxm.json:values.tdp_w: found number 700, expected {\"value\": ..., \"unit\": "
            "..., \"source\": ..., \"kind\": ...}");
}

TEST_F(GpuConfig, KeysThatStandTwice) {
  write("twice", R"({"schema": "tandem.gpu/1", "schema": "tandem.gpu/1"})");
  EXPECT_EQ(load_error("twice"), "twice.json:schema: found the key twice, expected it once");
}

TEST_F(GpuConfig, Contradictions) {
  const auto value = [this](const char* key, const Json& json) {
    return error([&](Json& j) { j["values"][key]["value"] = json; });
  };
  EXPECT_EQ(value("base_clock_mhz", 2000),
            "h200_sxm.json:base_clock_mhz: found 2000, expected at most boost_clock_mhz");
  EXPECT_EQ(value("dram_read_gbps", 5000),
            "h200_sxm.json:dram_read_gbps: found 5000, expected at most dram_peak_gbps");
  EXPECT_EQ(value("shared_carveouts_bytes", {0, 8192, 4096, 233472}),
            "h200_sxm.json:shared_carveouts_bytes: found sizes out of order, expected ascending "
            "sizes");
  EXPECT_EQ(value("shared_carveouts_bytes", {0, 8192}),
            "h200_sxm.json:shared_block_optin_bytes: found 232448, expected with "
            "shared_reserved_bytes at most the largest carve-out");
  EXPECT_EQ(value("max_threads_per_sm", 2047),
            "h200_sxm.json:max_threads_per_sm: found 2047, expected a multiple of warp_size");
  EXPECT_EQ(value("sm_count", 131),
            "h200_sxm.json:cluster_group_sms: found a sum of 132, expected a sum of sm_count");
}

TEST_F(GpuConfig, Bases) {
  const std::string head = R"({"schema": "tandem.gpu/1", "aliases": [], "values": {}, )";
  write("h200_sxm", original().dump());
  write("child", head + R"("name": "child", "display_name": "C", "base": "h200_sxm"})");
  EXPECT_EQ(load_error("child"), "no error");
  write("grandchild", head + R"("name": "grandchild", "display_name": "G", "base": "child"})");
  EXPECT_EQ(load_error("grandchild"),
            "child.json:base: found a base of a base, expected a config without \"base\"");
  write("orphan", head + R"("name": "orphan", "display_name": "O", "base": "nobody"})");
  EXPECT_EQ(load_error("orphan"),
            "nobody.json: found No such file or directory, expected a JSON file");
}

TEST_F(GpuConfig, CatalogueWithTwoOwnersOfAName) {
  write("h200_sxm", original().dump());
  write("twin", R"({"schema": "tandem.gpu/1", "name": "twin", "display_name": "T",
                    "aliases": ["nvidia h200"], "base": "h200_sxm", "values": {}})");
  const std::string found = error_of([&] { load_catalogue(dir_.string()); });
  EXPECT_EQ(found.substr(found.find(":twin")),
            ":twin: found \"nvidia h200\", which h200_sxm claims too, expected each name and alias "
            "at one GPU");
}

TEST_F(GpuConfig, CatalogueWithoutConfigs) {
  EXPECT_EQ(error_of([&] { load_catalogue(dir_.string() + "/none"); }),
            "none: found no folder, expected a folder of GPU configs");
  EXPECT_EQ(error_of([&] { load_catalogue(dir_.string() + "/"); }),
            ": found no *.json, expected GPU configs");
}

}  // namespace
}  // namespace tandem
