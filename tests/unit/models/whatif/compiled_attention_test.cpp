// Which way attention goes in compiled code.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "models/kernel/time/attention.h"
#include "models/whatif/compile/attention.h"
#include "tests/unit/models/whatif/compile_for_tests.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

using test::CompileBench;
using test::FlowMaker;
using test::half2;

/// Attention as the program calls it, the last of a step's layers.
void attend(FlowMaker& m, std::string_view concrete, std::string_view mask = "[]") {
  const std::string dims =
      "[[2,4,128,64],[2,4,128,64],[2,4,128,64]," + std::string(mask) + ",[],[],[],[]]";
  const std::string_view type = mask == "[]" ? "" : "c10::Half";
  m.op("aten::scaled_dot_product_attention", dims,
       R"(["c10::Half","c10::Half","c10::Half",")" + std::string(type) +
           R"(","Scalar","Scalar","Scalar","Scalar"])",
       concrete, "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16");
  m.op("aten::_foreach_add_", "[[],[]]", R"(["TensorList","Scalar"])", "", "multi_tensor_apply");
}

void look_up_tokens(FlowMaker& m) {
  m.op("aten::embedding>aten::index_select", "[[1000,64],[],[256]]",
       R"(["float","Scalar","long int"])");
}

/// A layer of text: rows of a table, then attention.
Step text_encoder(std::string_view concrete, bool tokens = true, std::string_view mask = "[]") {
  FlowMaker m;
  if (tokens) look_up_tokens(m);
  attend(m, concrete, mask);
  return m.step();
}
constexpr std::string_view scaled = R"(["","","","","0.","False","0.125","False"])";

// Transformers leaves out a mask that masks nothing, but not under a compiler.
TEST(CompiledAttention, AttentionOverWholeTextsFallsBackToProducts) {
  CompileBench s;
  s.compile(text_encoder(scaled));
  EXPECT_EQ(s.report.attention, AttentionPath::math);
  EXPECT_GT(s.report.attention_math_us, s.report.attention_keep_us);
}

/// Microseconds of the softmax of an encoder that is masked once it is compiled: 64 items of 12
/// heads.
double softmax_us(std::int64_t places) {
  FlowMaker m;
  look_up_tokens(m);
  const std::string heads = fmt::format("[64,12,{},64]", places);
  m.op("aten::scaled_dot_product_attention", fmt::format("[{0},{0},{0},[],[],[],[],[]]", heads),
       R"(["c10::Half","c10::Half","c10::Half","","Scalar","Scalar","Scalar","Scalar"])", scaled,
       "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16");
  CompileBench s;
  const Step out = s.compile(m.step());
  for (const DeviceWork& work : out.plan.works) {
    const std::string_view name = text_of(out.trace, out.trace.activities.name[work.source]);
    if (name.find("softmax") != std::string_view::npos) return to_us(work.duration);
  }
  return 0;
}

// 768 heads of 197 x 197 scores are 29.8 million. Rows that are gone through twice, 256 places
// each: 87 cycles of one of 132 x 128 lanes at 1.98 GHz for a place and 36 for an element, 2.60 and
// 1.08 ps: 100.8 + 32.1 us above the floor (measured: 132.7). 128 x 128 scores are held whole.
TEST(CompiledAttention, RowsOfMaskedScoresAreGoneThroughTwiceWhereTheyLieApart) {
  EXPECT_NEAR(softmax_us(197), 133, 4);
  EXPECT_NEAR(softmax_us(128), 25, 6);  // measured: 24.8, eight bytes of 12.6 million scores
}

/// The encoder of texts, or without texts; where a recorded network says what masks it once it is
/// compiled.
Step encoder(bool text, CompiledMask mask) {
  Step step = text_encoder(scaled, text);
  HostOps& ops = step.trace.ops;
  for (std::uint32_t r = 0; r < ops.size(); ++r) {
    if (op_row(text_of(step.trace, ops.name[r])).kind != OpKind::attention) continue;
    Operands operands = operands_of(step.trace, r);
    operands.compiled_mask = mask;
    ops.operands[r] = step.trace.operands.intern(std::move(operands));
  }
  return step;
}

// What a network says of its program stands above what programs usually do; where nothing tells,
// images keep their kernels and the reader learns what a mask would add.
TEST(CompiledAttention, ARecordedNetworkSaysWhetherItsProgramMasks) {
  const auto path_of = [](bool text, CompiledMask mask) {
    CompileBench s;
    s.compile(encoder(text, mask));
    EXPECT_EQ(s.losses.count("jit_mask_untold"), !text && mask == CompiledMask::not_known);
    EXPECT_EQ(s.report.untold.more_us > 0, !text && mask == CompiledMask::not_known);
    return s.report.attention;
  };
  EXPECT_EQ(path_of(true, CompiledMask::not_known), AttentionPath::math);
  EXPECT_EQ(path_of(true, CompiledMask::none), AttentionPath::keep);
  EXPECT_EQ(path_of(false, CompiledMask::not_known), AttentionPath::keep);
  EXPECT_EQ(path_of(false, CompiledMask::column), AttentionPath::math);
  EXPECT_EQ(path_of(false, CompiledMask::whole), AttentionPath::masked);
}

// Products of attention in FP32 use tensor cores where the program lets products do so: scores of 8
// heads, 2 x 8 x 128 x 128 x 64 = 16.8 MFLOP, run on FP32 pipes otherwise.
TEST(CompiledAttention, ProductsOfScoresFollowTheProgramToTf32) {
  const auto products = [](std::string_view kernel) {
    FlowMaker m;
    look_up_tokens(m);
    m.op("aten::mm", "[[256,64],[64,64]]", R"(["float","float"])", "", kernel);
    m.op("aten::scaled_dot_product_attention",
         "[[2,4,128,64],[2,4,128,64],[2,4,128,64],[],[],[],[],[]]",
         R"(["float","float","float","","Scalar","Scalar","Scalar","Scalar"])", scaled,
         "fmha_cutlassF_f32_aligned_64x64_rf_sm80");
    m.op("aten::_foreach_add_", "[[],[]]", R"(["TensorList","Scalar"])", "", "multi_tensor_apply");
    CompileBench s;
    std::size_t lanes = 0, tensor = 0;
    for (const std::string& name : test::kernel_names(s.compile(m.step()))) {
      lanes += name.find("f32f32_f32f32_f32") != name.npos ? 1 : 0;
      tensor += name.find("s1688gemm") != name.npos ? 1 : 0;
    }
    return std::pair(lanes, tensor);
  };
  const std::string start = "sm90_xmma_gemm_f32f32_", end = "_tn_n_tilesize64x64x32_warpgroupsize";
  EXPECT_EQ(products(start + "tf32f32_f32" + end), (std::pair<std::size_t, std::size_t>{0, 2}));
  EXPECT_EQ(products("ampere_sgemm_64x64_tn"), (std::pair<std::size_t, std::size_t>{2, 0}));
}

/// Attention written out: scores of 2 x 4 heads of 128 x 128, which `between` changes, softmax,
/// results; `weights`: their averages over heads, which nothing reads.
Step written_out(std::string_view between, std::string_view type, bool weights = false,
                 std::string_view kernel = "cutlass_80_tensorop_f16_s16816gemm_f16_64x64") {
  const std::string one = "[\"" + std::string(type) + "\"";
  const std::string two = one + ",\"" + std::string(type) + "\"]";
  const std::string_view scores = weights ? "[8,128,128]" : "[2,4,128,128]";
  FlowMaker m;
  m.op("aten::mul", "[[8,128,64],[]]", one + R"(,"Scalar"])");
  m.op("aten::matmul>aten::bmm", "[[8,128,64],[8,64,128]]", two, "", kernel);
  if (!between.empty()) {
    m.op(between, "[" + std::string(scores) + ",[]]", one + R"(,"Scalar"])", R"(["","8."])");
  }
  m.op("aten::softmax>aten::_softmax", "[" + std::string(scores) + ",[],[]]",
       one + R"(,"Scalar","Scalar"])", R"(["","-1","False"])", "softmax_warp_forward");
  m.op("aten::matmul>aten::bmm", "[[8,128,128],[8,128,64]]", two, "", kernel);
  if (weights) {
    m.op("aten::mean", "[[2,4,128,128],[],[],[]]", one + R"(,"ScalarList","Scalar",""])",
         R"(["","[1]","False",""])", "reduce_kernel");
  }
  m.op("aten::relu", "[[8,128,64]]", one + "]");
  return m.step();
}

std::size_t count_of(const std::vector<std::string>& names, std::string_view part) {
  return static_cast<std::size_t>(
      std::count_if(names.begin(), names.end(),
                    [&](const std::string& name) { return name.find(part) != std::string::npos; }));
}

// TorchInductor knows scores that are divided by a number, and scores of each head as they are; not
// those that are multiplied, nor FP32 unless products may run in TF32.
TEST(CompiledAttention, WrittenOutAttentionIsFusedInTheFormsThatTheCompilerKnows) {
  const auto fused = [](const Step& step) {
    CompileBench s;
    const std::vector<std::string> names = test::kernel_names(s.compile(step));
    EXPECT_EQ(count_of(names, "sdpa") + count_of(names, "fmha") == 0, count_of(names, "gemm") == 2);
    EXPECT_EQ(count_of(names, "softmax") == 0, count_of(names, "gemm") == 0);
    return count_of(names, "gemm") == 0;
  };
  const std::string_view full = "ampere_sgemm_64x64_tn";
  EXPECT_TRUE(fused(written_out("aten::div", "c10::Half")));
  EXPECT_TRUE(fused(written_out("", "c10::BFloat16", true)));
  EXPECT_FALSE(fused(written_out("aten::mul", "c10::Half")));
  EXPECT_FALSE(fused(written_out("", "c10::Half")));
  EXPECT_FALSE(fused(written_out("aten::div", "float", false, full)));
}

// Compiled code leaves out what nothing reads: nn.MultiheadAttention averages its weights unless
// told otherwise.
TEST(CompiledAttention, AveragesOfWeightsThatNothingReadsAreNotComputed) {
  CompileBench s;
  const std::vector<std::string> names =
      test::kernel_names(s.compile(written_out("", "float", true, "ampere_sgemm_64x64_tn")));
  EXPECT_EQ(count_of(names, "mean"), 0U);
  EXPECT_EQ(count_of(names, "softmax"), 1U);
}

// Time and memory follow one answer: XLA's own is that of the trace.
TEST(CompiledAttention, XlaKeepsTheKernelsOfTheTraceUnlessTold) {
  EXPECT_EQ(asked_attention({.compiler = Compiler::xla}), AttentionPath::keep);
  EXPECT_EQ(asked_attention({.compiler = Compiler::xla, .attention = AttentionPath::math}),
            AttentionPath::math);
  EXPECT_EQ(asked_attention({.compiler = Compiler::inductor}), AttentionPath::automatic);
}

// 2 x 4 x 128 x 128 scores are 131,072. At work they are there in FP32, and queries, keys and
// values (3 x 65,536 in 16 bits) as well: 4 x (131,072 + 196,608) bytes.
TEST(CompiledAttention, ProductsHoldScoresAndWidenedOperands) {
  const Step step = text_encoder(scaled);
  const Dataflow flow = dataflow(step);
  const std::vector<Life> lives = product_lives(step, flow, AttentionPath::automatic);
  ASSERT_EQ(lives.size(), 1U);
  EXPECT_EQ(lives[0].first, lives[0].last);
  EXPECT_EQ(lives[0].bytes.growing_bytes, 4 * (131072 + 196608));
  EXPECT_TRUE(product_lives(step, flow, AttentionPath::keep).empty());
}

// For the backward pass: the scores in FP32 without dropout, 4 bytes each; with it a byte of its
// mask, and of FP32 operands what it leaves of the rows of softmax, another 4.
TEST(CompiledAttention, ProductsKeepScoresAndWhatDropoutLeft) {
  const auto kept = [](const std::string& type, const std::string& dropped) {
    const std::string three = type + "," + type + "," + type;
    const std::string dims = "[[2,4,128,64],[2,4,128,64],[2,4,128,64],[],[],[],[],[]]";
    FlowMaker m;
    m.sequence = 1;
    m.op("aten::_scaled_dot_product_efficient_attention", dims,
         "[" + three + R"(,"","Scalar","Scalar","Scalar","Scalar"])",
         R"(["","","","","True",")" + dropped + R"(","False","0.125"])",
         "fmha_cutlassF_f32_aligned_64x64_rf_sm80");
    m.thread = 1;
    m.op(
        "autograd::engine::evaluate_function: ScaledDotProductEfficientAttentionBackward0>"
        "aten::_scaled_dot_product_efficient_attention_backward",
        "[[2,4,128,64],[2,4,128,64],[2,4,128,64],[2,4,128,64]]", "[" + three + "," + type + "]", "",
        "fmha_cutlassB_f32_aligned_64x64_rf_sm80");
    const Step step = m.step();
    double bytes = 0;
    for (const Life& life : product_lives(step, dataflow(step), AttentionPath::math)) {
      if (life.first < life.last) bytes += life.bytes.growing_bytes;
    }
    return bytes / 131072;
  };
  EXPECT_EQ(kept(R"("float")", "0."), 4);
  EXPECT_EQ(kept(R"("float")", "0.1"), 9);
  EXPECT_EQ(kept(R"("c10::Half")", "0."), 4);
  EXPECT_EQ(kept(R"("c10::Half")", "0.1"), 5);
}

constexpr std::string_view causal_call = R"(["","","","","0.","True","0.125","False"])";

/// A decoder that numbers the places of its tokens in each step, as those of Transformers do.
Step numbering_decoder(const char* numbers) {
  FlowMaker m;
  look_up_tokens(m);
  m.op(numbers, "[[2,128],[]]", R"(["long int","Scalar"])", "", "elementwise_kernel_with_index");
  attend(m, causal_call);
  return m.step();
}

TEST(CompiledAttention, CausalAttentionReadsAMask) {
  CompileBench s;
  const Step out = s.compile(numbering_decoder("aten::arange"));
  EXPECT_EQ(s.report.attention, AttentionPath::masked);
  // The kernel of 8 us: 128 keys are one tile, of which causal order leaves nothing out.
  AttentionShape shape{.heads = 8, .items = 2, .queries = 128, .keys = 128, .width = 64};
  const double whole = attention_us(s.gpu(), s.time, shape, DataType::fp16, false);
  shape.causal = true;
  const double causal = attention_us(s.gpu(), s.time, shape, DataType::fp16, false);
  EXPECT_LT(whole, causal);  // by the start of causal blocks
  const double us = 8 * s.law.masked.forward.narrow * whole / causal;
  bool found = false;
  for (const DeviceWork& work : out.plan.works) {
    found = found || std::abs(to_us(work.duration) - us) < 1e-3;
  }
  EXPECT_TRUE(found);
}

// Decoders that keep tables of cosines ask for causal order alone, compiled too, though they give a
// scale (LitGPT). Who counts the places that are no padding numbers them as well (OPT).
TEST(CompiledAttention, WhoNumbersNoPlacesAsksForCausalOrder) {
  const auto path = [](const Step& step) {
    CompileBench s;
    s.compile(step);
    return s.report.attention;
  };
  EXPECT_EQ(path(text_encoder(causal_call)), AttentionPath::keep);
  EXPECT_EQ(path(numbering_decoder("aten::cumsum")), AttentionPath::masked);
}

// Who looks at the padding that it was given hands it on once it cannot look: one number for each
// key lies in memory, and fused kernels read it. Padding of another text says nothing.
TEST(CompiledAttention, PaddingThatTheProgramLooksAtIsReadByFusedKernels) {
  const auto path = [](const std::string& padding) {
    FlowMaker m;
    look_up_tokens(m);
    m.op("aten::all", "[" + padding + "]", R"(["bool"])", R"([""])");
    attend(m, scaled);
    CompileBench s;
    s.compile(m.step());
    return s.report.attention;
  };
  EXPECT_EQ(path("[2,128]"), AttentionPath::masked);
  EXPECT_EQ(path("[2,64]"), AttentionPath::math);
}

TEST(CompiledAttention, OtherAttentionStays) {
  CompileBench s;
  s.compile(text_encoder(R"(["","","","","0.","False","","False"])"));  // torch.nn gives no scale
  EXPECT_EQ(s.report.attention, AttentionPath::keep);
  s.compile(text_encoder(scaled, false));  // images have no mask
  EXPECT_EQ(s.report.attention, AttentionPath::keep);
  s.compile(text_encoder(scaled, true, "[2,1,128,128]"));  // the program's own mask
  EXPECT_EQ(s.report.attention, AttentionPath::keep);
}

// One row of indices that two items share is that of positions: what attends is no text. Two rows
// are tokens.
TEST(CompiledAttention, PositionsOfImagesAreNoTokens) {
  const auto path = [](const std::string& indices) {
    FlowMaker m;
    m.op("aten::embedding", "[[1000,64]," + indices + ",[],[],[]]",
         R"(["float","long int","Scalar","Scalar","Scalar"])");
    attend(m, scaled);
    CompileBench s;
    s.compile(m.step());
    return s.report.attention;
  };
  EXPECT_EQ(path("[1,128]"), AttentionPath::keep);
  EXPECT_EQ(path("[2,128]"), AttentionPath::math);
}

/// Tokens attend to tokens, then what comes of that to an image whose pixels a convolution made,
/// and to which `named` adds rows of a table. The ways of both.
std::vector<AttentionPath> captioning_paths(bool named) {
  FlowMaker m;
  const auto look_up = [&](const std::string& tokens) {
    m.op("aten::embedding>aten::index_select", "[[1000,256],[],[" + tokens + "]]",
         R"(["c10::Half","Scalar","long int"])");
  };
  const auto product = [&](const std::string& rows) {
    m.op("aten::mm", "[[" + rows + ",256],[256,256]]", half2, "", "hgemm");
  };
  const auto attend = [&](const std::string& keys) {
    m.op("aten::scaled_dot_product_attention",
         "[[2,4,64,64]," + keys + "," + keys + ",[],[],[],[],[]]",
         R"(["c10::Half","c10::Half","c10::Half","","Scalar","Scalar","Scalar","Scalar"])", scaled,
         "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16");
  };
  look_up("128");
  for (int i = 0; i < 3; ++i) product("128");
  attend("[2,4,64,64]");
  m.op("aten::cudnn_convolution", "[[2,8,16,24],[256,8,1,1],[],[],[],[]]",
       R"(["c10::Half","c10::Half","ScalarList","ScalarList","ScalarList","Scalar"])",
       R"(["","","[0, 0]","[1, 1]","[1, 1]","1"])",
       "sm90_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc");
  if (named) {
    look_up("768");
    m.op("aten::add", "[[768,256],[768,256],[]]", R"(["c10::Half","c10::Half","Scalar"])");
  }
  for (int i = 0; i < 2; ++i) product("768");
  attend("[2,4,384,64]");
  const Step step = m.step();
  const Dataflow flow = dataflow(step);
  const AttentionStyle style = attention_style(step, flow);
  std::vector<AttentionPath> paths;
  for (const FlowOp& op : flow.ops) {
    if (op.kind != OpKind::attention) continue;
    paths.push_back(attention_path(step.trace, flow, style, op));
  }
  return paths;
}

// Pixels are never masked, though the model has a text; tokens among them may be.
TEST(CompiledAttention, AttentionToWhatConvolutionsMadeStays) {
  constexpr auto math = AttentionPath::math, keep = AttentionPath::keep;
  EXPECT_EQ(captioning_paths(false), (std::vector{math, keep}));
  EXPECT_EQ(captioning_paths(true), (std::vector{math, math}));
}

}  // namespace
}  // namespace tandem
