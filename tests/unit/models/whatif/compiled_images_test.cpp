// Images that generated code interpolates or samples, and what joins them.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;
using test::kernel_names;
using test::longest_us;

// Forward an element lies between four others, which takes lanes longer than it takes memory; no
// gradient needs those places, so that they are computed beside it. What is interpolated again is
// stored first: its reader looks at four of its places.
TEST(CompiledImages, InterpolatedImagesTakeLanesAndAreStored) {
  const std::string_view types = R"(["float","ScalarList","Scalar","",""])";
  FlowMaker m;
  m.op("aten::upsample_bilinear2d", "[[8,64,14,14],[],[],[],[]]", types,
       R"(["","[56, 56]","False","",""])");
  m.op("aten::upsample_bilinear2d", "[[8,64,56,56],[],[],[],[]]", types,
       R"(["","[112, 112]","False","",""])");
  CompileBench compiled;
  const Step out = compiled.compile(m.step());
  EXPECT_EQ(out.plan.works.size(), 2U);
  const GeneratedCode& code = compiled.law.generated;
  const double cycles =
      (code.interpolated_lane_cycles + code.places_lane_cycles) * 8 * 64 * 112 * 112;
  EXPECT_NEAR(longest_us(out),
              compiled.law.generated.pointwise.floor_us + lane_us(compiled.gpu(), cycles), 1e-3);
}

// An image that is interpolated and joined with another one is stored first: a kernel for each. One
// that is resized to its nearest places is not.
TEST(CompiledImages, InterpolatedImagesAreStoredBeforeTheyAreJoined) {
  const auto kernels = [](const std::string& resize, const std::string& arguments) {
    FlowMaker m;
    m.op(resize, "[[8,64,14,14],[],[],[],[]]", R"(["float","ScalarList","Scalar","",""])",
         arguments);
    m.op("aten::cat", "[[[8,64,28,28],[8,16,28,28]],[]]", R"(["TensorList","Scalar"])",
         R"(["","1"])");
    m.op("aten::relu", "[[8,80,28,28]]", R"(["float"])");
    return CompileBench().compile(m.step()).plan.works.size();
  };
  EXPECT_EQ(kernels("aten::upsample_bilinear2d", R"(["","[28, 28]","False","",""])"), 2U);
  EXPECT_EQ(kernels("aten::upsample_nearest2d", R"(["","[28, 28]","","",""])"), 1U);
}

// Four maps sampled at as many points each are put side by side: each is stored by a kernel of its
// own, whose lanes take so long, before one kernel reads all four. The library's are not generated.
TEST(CompiledImages, SampledImagesAreStoredBeforeTheyAreJoined) {
  const auto compiled_of = [](const std::string& sampler) {
    FlowMaker m;
    for (int map = 0; map < 4; ++map) {
      m.op(sampler, "[[8,64,28,28],[8,128,128,2],[],[],[]]",
           R"(["float","float","Scalar","Scalar","Scalar"])", R"(["","","0","0","False"])");
    }
    m.op("aten::cat", "[[[8,64,128,128],[8,64,128,128],[8,64,128,128],[8,64,128,128]],[]]",
         R"(["TensorList","Scalar"])", R"(["","1"])");
    m.op("aten::relu", "[[8,256,128,128]]", R"(["float"])");
    return CompileBench().compile(m.step());
  };
  const Step out = compiled_of("aten::grid_sampler_2d");
  const CompileBench bench;
  const double cycles = bench.law.generated.sampled_lane_cycles * 8 * 64 * 128 * 128 * 4;
  double sampled_us = 0;
  for (std::size_t k = 0; k + 1 < out.plan.works.size(); ++k) {
    sampled_us += to_us(out.plan.works[k].duration);
  }
  EXPECT_NEAR(sampled_us, lane_us(bench.gpu(), cycles), 12);
  EXPECT_LT(to_us(out.plan.works.back().duration), lane_us(bench.gpu(), cycles) / 4);
  for (const std::string& name : kernel_names(out)) {
    EXPECT_EQ(name.find("sampler") != std::string::npos, name.find("relu") == std::string::npos)
        << name;
  }
}

}  // namespace
}  // namespace tandem
