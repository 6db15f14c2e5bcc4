// Traces that cannot be compiled, and law files that cannot be used.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "models/arch/gpu_config.h"
#include "models/whatif/compile/compile.h"
#include "models/whatif/precision/law.h"
#include "sim/core/fields/field.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

const std::string law_file = source_path("configs/kernels/fusion.json");

std::string error_of(Step step) {
  const GpuCatalogue gpus = load_catalogue(source_path("configs/gpus"));
  const HostModel host = load_host_model(source_path("configs/hosts/default.json"));
  LossList losses;
  try {
    with_jit(std::move(step), {},
             {find_gpu(gpus, "h200_sxm"), load_fusion_law(law_file),
              TimeConstants::load(source_path("configs/kernels/time.json")),
              load_library_names(source_path("configs/kernels/libraries.json")),
              load_measured_layers(source_path("configs/kernels/layers.json")), host,
              load_precision_law(source_path("configs/kernels/precision.json")).products},
             losses);
  } catch (const InputError& e) {
    return e.what();
  }
  return "";
}

TEST(FuseBadInput, ATraceWithoutShapes) {
  test::FlowMaker m;
  m.op("aten::relu", "", "");
  EXPECT_NE(error_of(m.step()).find("operator shapes"), std::string::npos);
}

TEST(FuseBadInput, ATraceOfCompiledCode) {
  test::FlowMaker m;
  m.op("CompiledFunction>aten::mm", "[[8,8],[8,8]]", R"(["float","float"])");
  EXPECT_NE(error_of(m.step()).find("compiled"), std::string::npos);
}

/// The law file with one change, in a file of its own.
std::string changed_law(const std::string& name, void (*change)(Json&)) {
  Json json = read_json_file(law_file);
  change(json);
  const std::string path = (std::filesystem::path(testing::TempDir()) / name).string();
  std::ofstream(path) << json.dump();
  return path;
}

TEST(FuseBadInput, LawFilesMustBeComplete) {
  const auto missing =
      changed_law("fusion_missing.json", [](Json& j) { j["constants"].erase("finish_us"); });
  EXPECT_THROW(load_fusion_law(missing), InputError);
  const auto unknown = changed_law("fusion_unknown.json", [](Json& j) {
    j["constants"]["magic"] = j["constants"]["finish_us"];
  });
  EXPECT_THROW(load_fusion_law(unknown), InputError);
  const auto negative = changed_law("fusion_negative.json",
                                    [](Json& j) { j["constants"]["finish_us"]["value"] = -1; });
  EXPECT_THROW(load_fusion_law(negative), InputError);
  const auto extra = changed_law("fusion_extra.json", [](Json& j) { j["comment"] = "no"; });
  EXPECT_THROW(load_fusion_law(extra), InputError);
  EXPECT_THROW(load_fusion_law("no/such/file.json"), InputError);
}

TEST(FuseBadInput, EveryConstantSaysWhereItComesFrom) {
  const FusionLaw law = load_fusion_law(law_file);
  ASSERT_FALSE(law.origins.empty());
  for (const Provenance& p : law.origins) {
    EXPECT_FALSE(p.source.empty());
    EXPECT_EQ(p.kind == ValueKind::fitted, !p.fitted_on.empty());
  }
}

}  // namespace
}  // namespace tandem
