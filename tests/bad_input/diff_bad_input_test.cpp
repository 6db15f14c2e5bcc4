// Results that `tandem diff` cannot use: what is wrong with them, and where.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "sim/core/error.h"
#include "sim/core/fields/field.h"
#include "sim/diff/side.h"

namespace tandem {
namespace {

Json good() {
  return parse_json(R"({
    "schema": "tandem.result/1",
    "scenario": {"gpu": "h200_sxm", "mode": "as-traced", "batch": 32, "precision": "as-traced",
                 "profiler": "remove"},
    "step": {"time_us": 10.5, "gpu_kernel_us": 4, "energy_j": null},
    "step_parts": [{"kind": "kernel", "op": "aten::mm", "layer": "linear", "name": "gemm",
                    "count": 1, "time_us": 10.5}],
    "layers": [{"name": "linear", "count": 1, "time_us": 4}],
    "ops": [{"name": "aten::mm", "count": 1, "time_us": 4}],
    "kernels": [{"name": "gemm", "count": 1, "time_us": 4, "op": "aten::mm", "layer": "linear"}]
  })",
                    "r.json");
}

std::string error_of(const Json& json) {
  try {
    read_side(json, "r.json");
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(DiffBadInput, ReadsAResult) {
  const DiffSide side = read_side(good(), "r.json");
  EXPECT_EQ(side.step, from_us(10.5));
  ASSERT_EQ(side.parts.size(), 1u);
  EXPECT_EQ(side.parts[0].kind, PathKind::work);
  EXPECT_EQ(side.metrics.size(), 2u);  // the two numbers
}

TEST(DiffBadInput, NamesWhatIsWrongAndWhere) {
  struct Case {
    const char* pointer;
    Json value;
    const char* says;
  };
  const Case cases[] = {
      {"/schema", "tandem.diff/1", "schema"},
      {"/schema", 1, "schema"},
      {"/step/time_us", -1, "time_us"},
      {"/step/time_us", "long", "time_us"},
      {"/step/dram_read_bytes", 1e308, "at most 1e+30"},
      {"/step_parts", 3, "a list"},
      {"/step_parts/0", 3, "step_parts"},
      {"/step_parts/0/kind", "dream", "one of: host, call, kernel"},
      {"/step_parts/0/op", nullptr, "a text"},
      {"/step_parts/0/count", 1.5, "count"},
      {"/step_parts/0/time_us", 1e300, "time_us"},
      {"/step_parts/0/time_us", 2e11, "at most"},
      {"/kernels/0/op", 7, "a text"},
      {"/scenario", Json::array(), "scenario"},
  };
  int ran = 0;
  for (const Case& c : cases) {
    Json json = good();
    json[Json::json_pointer(c.pointer)] = c.value;
    const std::string error = error_of(json);
    EXPECT_EQ(error.find("r.json:"), 0u) << c.pointer << ": " << error;
    EXPECT_NE(error.find(c.says), std::string::npos) << c.pointer << ": " << error;
    ++ran;
  }
  EXPECT_EQ(ran, 14);
  Json json = good();
  json["step_parts"][0]["time_us"] = 1e10;
  const Json longest = json["step_parts"][0];
  for (int i = 0; i < 100; ++i) json["step_parts"].push_back(longest);
  EXPECT_NE(error_of(json).find("sum to 1.01e+12 us"), std::string::npos) << error_of(json);
}

TEST(DiffBadInput, NamesWhatIsMissing) {
  int ran = 0;
  for (const char* key : {"schema", "scenario", "step", "step_parts", "layers", "ops", "kernels"}) {
    Json json = good();
    json.erase(key);
    const std::string error = error_of(json);
    EXPECT_NE(error.find("no key \"" + std::string(key) + "\""), std::string::npos) << error;
    ++ran;
  }
  EXPECT_EQ(ran, 7);
  EXPECT_NE(error_of(Json::array()).find("r.json"), std::string::npos);
}

TEST(DiffBadInput, TellsResultsFromTraces) {
  EXPECT_TRUE(is_result(R"({"schema": "tandem.result/1")"));
  EXPECT_TRUE(is_result("{\n  \"schema\":\"tandem.sweep/1\""));  // then refused by its schema
  EXPECT_FALSE(is_result(R"({"schemaVersion": 1, "deviceProperties": [)"));
  EXPECT_FALSE(is_result(""));
}

}  // namespace
}  // namespace tandem
