// Which encoders of pictures are taken to be masked once they are compiled.
#include "models/whatif/compile/masks/plain_pictures.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "models/whatif/compile/attention.h"
#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;
using test::half2;

constexpr std::string_view with_scale = R"(["","","","","0.","False","0.125","False"])";
constexpr std::string_view without_scale = R"(["","","","","0.","False","","False"])";

/// What an encoder has besides what a plain one has.
struct Parts {
  bool tokens = false, table = false, two_norms = false, columns = false, turned = false;
  bool words_behind = false, image_made = false, sound = false, clips = false, class_word = true;
  std::string_view call = with_scale;
};

void normalize(FlowMaker& m) {
  m.op("aten::native_layer_norm", "[[2,128,128],[],[128],[128],[]]",
       R"(["c10::Half","ScalarList","c10::Half","c10::Half","Scalar"])");
}

void project(FlowMaker& m) { m.op("aten::mm", "[[256,128],[128,128]]", half2); }

void convolve(FlowMaker& m, const std::string& dims, const std::string& padding,
              const std::string& stride) {
  m.op("aten::cudnn_convolution", "[" + dims + ",[],[],[],[]]",
       R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])",
       R"(["","",")" + padding + R"(",")" + stride + R"(","","1"])",
       "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc");
}

/// 127 patches of each of two pictures and a word for their class, or 128; one layer of two heads
/// of 64.
Step picture_encoder(const Parts& p) {
  FlowMaker m;
  if (p.tokens) {
    m.op("aten::embedding>aten::index_select", "[[1000,32],[],[256]]",
         R"(["c10::Half","Scalar","long int"])");
  }
  if (p.clips) {
    convolve(m, "[2,3,2,16,2032],[128,3,2,16,16]", "[0, 0, 0]", "[2, 16, 16]");
  } else if (p.sound) {
    convolve(m, "[2,3,2032],[128,3,16]", "[0]", "[16]");
  } else {
    const std::string width = p.class_word ? "2032" : "2048";
    convolve(m, "[2,3,16," + width + "],[128,3,16,16]", "[0, 0]", "[16, 16]");
  }
  if (p.class_word) {
    m.op("aten::cat",
         p.words_behind ? "[[[2,127,128],[2,1,128]],[]]" : "[[[2,1,128],[2,127,128]],[]]",
         R"(["TensorList","Scalar"])", R"(["","1"])");
  }
  if (p.table) {
    m.around_dims = "[[128,128],[128],[],[],[]]";
    m.around_types = R"(["c10::Half","long int","Scalar","Scalar","Scalar"])";
    m.op("aten::embedding>aten::index_select", "[[128,128],[],[128]]",
         R"(["c10::Half","Scalar","long int"])");
    m.around_dims.clear();
  }
  m.op("aten::add", "[[2,128,128],[1,128,128],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  if (p.two_norms) normalize(m);
  normalize(m);
  for (int i = 0; i < 3; ++i) project(m);
  if (p.turned) {
    for (int i = 0; i < 3; ++i) m.op("aten::mul", "[[2,2,128,64],[128,64]]", half2);
  }
  m.op("aten::scaled_dot_product_attention",
       "[[2,2,128,64],[2,2,128,64],[2,2,128,64],[],[],[],[],[]]",
       R"(["c10::Half","c10::Half","c10::Half","","Scalar","Scalar","Scalar","Scalar"])", p.call,
       "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16");
  project(m);
  if (p.columns) m.op("aten::mul", "[[2,128,128],[128]]", half2);
  m.op("aten::add", "[[2,128,128],[2,128,128],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  if (p.image_made) convolve(m, "[2,128,8,16],[64,128,1,1]", "[0, 0]", "[1, 1]");
  m.op("aten::_foreach_add_", "[[],[]]", R"(["TensorList","Scalar"])", "", "multi_tensor_apply");
  return m.step();
}

AttentionPath attention_of(const Parts& parts) {
  CompileBench s;
  s.compile(picture_encoder(parts));
  return s.report.attention;
}

TEST(PlainPictures, AVisionTransformerIsTakenToBeMaskedOnceItIsCompiled) {
  CompileBench s;
  s.compile(picture_encoder({}));
  EXPECT_EQ(s.report.attention, AttentionPath::math);
  // Nothing says so for certain: the way back is stated, and the band reaches it.
  EXPECT_EQ(s.losses.count("jit_mask_untold"), 1);
  EXPECT_NEAR(s.report.untold.less_us, s.report.attention_math_us - s.report.attention_keep_us,
              1e-9);
  EXPECT_EQ(s.report.untold.more_us, 0);
}

TEST(PlainPictures, WhatOtherEncodersAreBuiltOfKeepsTheirKernels) {
  const Parts others[] = {{.table = true},        {.two_norms = true},
                          {.columns = true},      {.turned = true},
                          {.words_behind = true}, {.image_made = true},
                          {.sound = true},        {.clips = true, .class_word = false}};
  for (const Parts& parts : others) {
    EXPECT_EQ(attention_of(parts), AttentionPath::keep) << &parts - others;
  }
  EXPECT_EQ(attention_of({.clips = true}),
            AttentionPath::math);  // ViViT joins a word for the class
}

// TrOCR: a plain encoder of pictures beside a decoder of words. CLIP: one that is not plain.
TEST(PlainPictures, TokensBesideThemChangeNothing) {
  EXPECT_EQ(attention_of({.tokens = true}), AttentionPath::math);
  EXPECT_EQ(attention_of({.tokens = true, .table = true}), AttentionPath::keep);
  EXPECT_EQ(attention_of({.tokens = true, .two_norms = true}), AttentionPath::keep);
  EXPECT_EQ(attention_of({.tokens = true, .class_word = false}), AttentionPath::keep);  // SigLIP
}

// torch.nn and timm give attention no scale, and never make a mask.
TEST(PlainPictures, OtherLibrariesMakeNoMask) {
  EXPECT_EQ(attention_of({.call = without_scale}), AttentionPath::keep);
}

}  // namespace
}  // namespace tandem
