// How libraries run layers: classes of traced kernels, PyTorch's depthwise rule, estimates from
// measured layers.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "models/arch/gpu_config.h"
#include "models/kernel/choice/depthwise_rule.h"
#include "models/kernel/choice/layer_rule.h"
#include "models/kernel/choice/measured_layers.h"
#include "models/kernel/classify/classify.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/models/whatif/flow_for_tests.h"

namespace tandem {
namespace {

LayerShape depthwise(double images, double channels, double width, double side, double stride) {
  return {false, Pass::forward, images, channels, channels, channels, width * width, side, stride};
}

TEST(DepthwiseRule, IsThatOfTheFramework) {
  EXPECT_TRUE(library_runs_depthwise(depthwise(64, 144, 56, 3, 1)));   // stride 1: always
  EXPECT_FALSE(library_runs_depthwise(depthwise(64, 144, 56, 3, 2)));  // too few channels
  EXPECT_TRUE(library_runs_depthwise(depthwise(64, 256, 28, 3, 2)));
  EXPECT_FALSE(library_runs_depthwise(depthwise(64, 256, 14, 3, 2)));  // too small for 256
  EXPECT_TRUE(library_runs_depthwise(depthwise(64, 512, 14, 5, 2)));
  EXPECT_TRUE(library_runs_depthwise(depthwise(1, 32, 112, 3, 2)));    // a single image
  EXPECT_FALSE(library_runs_depthwise(depthwise(64, 144, 56, 7, 1)));  // no such filter
  EXPECT_FALSE(library_runs_depthwise(depthwise(64, 16, 56, 3, 1)));
  EXPECT_FALSE(library_runs_depthwise(depthwise(64, 1152, 6, 3, 1)));  // narrower than 7
  LayerShape last = depthwise(64, 144, 56, 7, 2);
  last.channels_last = true;
  EXPECT_TRUE(library_runs_depthwise(last));
  LayerShape spread = depthwise(64, 144, 56, 3, 1), stripe = spread;
  spread.dilation = 2;
  stripe.aspect = 3;
  EXPECT_FALSE(library_runs_depthwise(spread));
  EXPECT_FALSE(library_runs_depthwise(stripe));
}

// Images of 56 x 56, a window of 1 x 11 whose taps lie two pixels apart; over time, which a library
// is handed as images of one row, a window of 11 is no stripe.
TEST(LayerShape, HoldsDilationAndAspectOfTheWindow) {
  const auto shape_of = [](std::string_view image, std::string_view weight,
                           std::string_view dilation) {
    test::FlowMaker m;
    const std::string dims = "[" + std::string(image) + "," + std::string(weight) + ",[],[],[],[]]";
    const std::string options =
        R"(["","","[0, 10]","[1, 1]",")" + std::string(dilation) + R"(","1"])";
    const std::uint32_t row =
        m.op("aten::cudnn_convolution", dims, R"(["float","float","","","",""])", options);
    const Step step = m.step();
    const Operands& in = operands_of(step.trace, row);
    const LaunchGeometry none;
    const OpContext context{"aten::cudnn_convolution", in.tensors, in.arguments, none};
    return layer_shape(conv_shape(context).value(), Pass::forward);
  };
  const LayerShape image = shape_of("[8,12,56,56]", "[12,12,1,11]", "[1, 2]");
  EXPECT_EQ(image.dilation, 2);
  EXPECT_EQ(image.aspect, 11);
  EXPECT_FALSE(is_compact(image));
  const LayerShape line = shape_of("[8,12,1,56]", "[12,12,1,11]", "[1, 1]");
  EXPECT_TRUE(line.line);
  EXPECT_EQ(line.aspect, 1);
  EXPECT_TRUE(is_compact(line));
}

std::vector<KernelClass> classes_of(const std::vector<std::string_view>& names) {
  std::vector<KernelClass> out;
  for (const std::string_view name : names) {
    out.push_back(classify(name, "aten::convolution_backward"));
  }
  return out;
}

std::vector<LayerKernel> layer(const std::vector<KernelClass>& kernels) {
  std::vector<LayerKernel> out;
  for (const KernelClass& k : kernels) out.push_back({&k, 1});
  return out;
}

constexpr std::string_view to_last = "void cudnn::engines_precompiled::nchwToNhwcKernel<float>()";
constexpr std::string_view to_first = "void cudnn::engines_precompiled::nhwcToNchwKernel<float>()";
constexpr std::string_view input_gradient =
    "sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32";
constexpr std::string_view weight_gradient =
    "sm90_xmma_wgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32";
constexpr std::string_view lanes =
    "sm80_xmma_dgrad_implicit_gemm_f32f32_f32f32_f32_nchwkcrs_nchw_tilesize128x32x8_stage3_ffma";
constexpr std::string_view native =
    "void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3, float, int>()";
constexpr std::string_view shared = "conv2d_c1_k1_nchw_shmem_tiling";
constexpr std::string_view slow =
    "void cudnn::engines_precompiled::genericTranspose_kernel<float>()";

TEST(LayerClass, IsReadOffTheKernelsOfAPass) {
  const auto class_of = [](const std::vector<std::string_view>& names) {
    const auto kernels = classes_of(names);
    return layer_class_of(layer(kernels));
  };
  EXPECT_EQ(class_of({to_last, input_gradient, to_first}),
            (LayerClass{LayerPath::implicit, false, true}));
  EXPECT_EQ(class_of({input_gradient}), (LayerClass{LayerPath::implicit, false, false}));
  EXPECT_EQ(class_of({slow, lanes, slow, lanes, slow, lanes}),
            (LayerClass{LayerPath::lanes, true, true}));
  EXPECT_EQ(class_of({native}), (LayerClass{LayerPath::framework}));
  EXPECT_EQ(class_of({shared}), (LayerClass{LayerPath::direct}));
  EXPECT_EQ(class_of({"nvjet_sm90_hsh_192x72_64x6_4x1_v_ssched_bz_NNT"}),
            (LayerClass{LayerPath::product}));
}

TEST(LayerClass, TheKernelsOfABackwardPassAreSharedOut) {
  const auto first = [](const std::vector<std::string_view>& names) {
    const auto kernels = classes_of(names);
    const auto passes = passes_of(layer(kernels), true);
    return passes.front().pass == Pass::input_gradient ? passes.front().end : 0U;
  };
  EXPECT_EQ(first({to_last, input_gradient, to_first, to_last, to_last, weight_gradient}), 3U);
  EXPECT_EQ(first({to_last, to_last, weight_gradient}), 0U);  // of the first layer
  EXPECT_EQ(first({input_gradient}), 1U);
}

// Names of plain products may not tell: of the weights is the one whose parts are summed behind it.
TEST(LayerClass, ASumOfPartsTellsTheGradientOfTheWeights) {
  constexpr std::string_view plain = "sm90_xmma_gemm_f16f16_f16f32_f32_nn_n_tilesize256x128x32";
  constexpr std::string_view sum =
      "void cudnn::cnn::reduce_wgrad_nchw_helper<float, float>(void*, void const*)";
  const auto split = [](const std::vector<std::string_view>& names) {
    const auto kernels = classes_of(names);
    std::vector<std::pair<Pass, std::size_t>> out;
    for (const PassKernels& p : passes_of(layer(kernels), true)) out.emplace_back(p.pass, p.end);
    return out;
  };
  using Split = std::vector<std::pair<Pass, std::size_t>>;
  EXPECT_EQ(split({plain, plain, sum}),
            (Split{{Pass::input_gradient, 1}, {Pass::weight_gradient, 3}}));
  EXPECT_EQ(split({plain, sum}), (Split{{Pass::weight_gradient, 2}}));  // of the first layer
  EXPECT_EQ(split({plain, plain}), (Split{{Pass::input_gradient, 2}}));
  // Winograd's transforms say it before.
  constexpr std::string_view transform =
      "void cudnn::winograd_nonfused::winogradWgradData4x4<float, float>()";
  constexpr std::string_view back =
      "void cudnn::winograd_nonfused::winogradWgradOutput4x4<float, float>()";
  EXPECT_EQ(split({input_gradient, transform, plain, back}),
            (Split{{Pass::input_gradient, 1}, {Pass::weight_gradient, 4}}));
}

TEST(LayerClass, TheFrameworkMakesTheGradientOfTheWeightsFirst) {
  const auto kernels = classes_of(
      {"void at::native::(anonymous namespace)::conv_depthwise2d_grad_weight_kernel<float>()",
       "void at::native::(anonymous namespace)::conv_depthwise2d_backward_kernel<3, 1, float>()"});
  const auto passes = passes_of(layer(kernels), true);
  ASSERT_EQ(passes.size(), 2U);
  EXPECT_EQ(passes[0].pass, Pass::weight_gradient);
  EXPECT_EQ(passes[0].end, 1U);
  EXPECT_EQ(passes[1].pass, Pass::input_gradient);
  EXPECT_EQ(passes[1].end, 2U);
  const auto turned = passes_of(layer({kernels[1], kernels[0]}), true);  // as in generated steps
  ASSERT_EQ(turned.size(), 2U);
  EXPECT_EQ(turned[0].pass, Pass::input_gradient);
  EXPECT_EQ(turned[0].end, 1U);
  EXPECT_EQ(turned[1].pass, Pass::weight_gradient);
}

// A transposed layer runs what the gradient of a layer's input is, and that layer for its own.
TEST(LayerClass, TransposedLayersRunTheOtherPasses) {
  const auto forward = classes_of({to_last, input_gradient, to_first});
  ASSERT_EQ(passes_of(layer(forward), false, true).size(), 1U);
  EXPECT_EQ(passes_of(layer(forward), false, true)[0].pass, Pass::input_gradient);
  const auto kernels = classes_of({to_last, input_gradient, to_first, to_last, weight_gradient});
  const auto passes = passes_of(layer(kernels), true, true);
  ASSERT_EQ(passes.size(), 2U);
  EXPECT_EQ(passes[0].pass, Pass::forward);
  EXPECT_EQ(passes[0].end, 3U);
  EXPECT_EQ(passes[1].pass, Pass::weight_gradient);
}

TEST(LayerRule, TellsHowAHopperRunsALayer) {
  const GpuArch gpu = load_gpu(source_path("configs/gpus/h200_sxm.json"));
  const auto run = [&](LayerShape s, DataType type) { return layer_class_by_rule(gpu, s, type); };
  LayerShape s{false, Pass::forward, 32, 64, 256, 1, 56 * 56, 1, 1};
  EXPECT_EQ(run(s, DataType::fp16), (LayerClass{LayerPath::product}));
  s.pixels = 7 * 7;  // 98 bytes a row: no multiple of 16
  EXPECT_EQ(run(s, DataType::fp16), (LayerClass{LayerPath::implicit, false, true}));
  s.channels_last = true;
  EXPECT_EQ(run(s, DataType::fp16), (LayerClass{LayerPath::product}));
  s = {false, Pass::forward, 32, 3, 32, 1, 224 * 224, 3, 2};  // few channels, a small window
  EXPECT_EQ(run(s, DataType::fp32), (LayerClass{LayerPath::lanes}));
  s.side = 7;
  EXPECT_EQ(run(s, DataType::fp32), (LayerClass{LayerPath::implicit, false, true}));
  EXPECT_EQ(run(depthwise(64, 144, 56, 3, 1), DataType::fp16), (LayerClass{LayerPath::direct}));
  EXPECT_EQ(run(depthwise(64, 144, 56, 3, 1), DataType::fp32), (LayerClass{LayerPath::framework}));
}

MeasuredLayer measured(double images, LayerTime full, LayerTime half) {
  return {{false, Pass::forward, images, 64, 64, 1, 56 * 56, 3, 1}, full, half};
}

MeasuredLayers two_layers() {
  constexpr LayerClass turned{LayerPath::implicit, false, true};
  MeasuredLayers m;
  m.neighbours = 1;
  m.blur = 0.25;
  m.other_class_distance = 8;
  m.far = 20;
  m.size_power = 1;
  m.floor_us = 1;
  m.unlike_residual = 0.5;
  m.layers = LayerTable({measured(32, {turned, 101, 40}, {turned, 51, 25.5}),
                         measured(128, {turned, 401, 160}, {{LayerPath::product}, 101, 0})});
  return m;
}

const MeasuredLayer& nth(const MeasuredLayers& m, std::size_t i) { return m.layers.all()[i]; }

template <class Change>
void change_each(MeasuredLayers& m, Change change) {
  std::vector<MeasuredLayer> layers = m.layers.all();
  for (MeasuredLayer& l : layers) change(l.shape);
  m.layers = LayerTable(std::move(layers));
}

void change_second(MeasuredLayers& m, const LayerShape& shape) {
  std::vector<MeasuredLayer> layers = m.layers.all();
  layers[1].shape = shape;
  m.layers = LayerTable(std::move(layers));
}

TEST(MeasuredLayers, ALayerTakesWhatItsNeighbourTakesForItsSize) {
  const MeasuredLayers m = two_layers();
  constexpr LayerClass turned{LayerPath::implicit, false, true};
  LayerShape shape = nth(m, 0).shape;
  const auto same = type_change(m, shape, true, turned);
  ASSERT_TRUE(same);
  EXPECT_NEAR(same->from.us, 101, 1e-9);
  EXPECT_NEAR(same->to.us, 51, 1e-9);
  EXPECT_NEAR(same->to.turning_us, 25.5, 1e-9);
  // 40 images: the body grows with bytes and multiply-adds, so by 40 / 32.
  shape.images = 40;
  const auto more = type_change(m, shape, true, turned);
  ASSERT_TRUE(more);
  EXPECT_NEAR(more->from.us, 1 + 100 * 1.25, 1e-9);
  EXPECT_NEAR(more->to.us, 1 + 50 * 1.25, 1e-9);
}

TEST(MeasuredLayers, AResidualIsCarriedWholeBetweenLikeClassesAndInPartBetweenOthers) {
  const MeasuredLayers m = two_layers();
  constexpr LayerClass turned{LayerPath::implicit, false, true};
  const auto like = type_change(m, nth(m, 0).shape, true, turned);
  const auto unlike = type_change(m, nth(m, 1).shape, true, turned);
  ASSERT_TRUE(like && unlike);
  // The traced body is four times what was measured: 1 + 4 * 50, and 1 + 4^0.5 * 100.
  EXPECT_NEAR(carried_layer_us(m, *like, 401), 201, 1e-9);
  EXPECT_NEAR(carried_layer_us(m, *unlike, 1601), 201, 1e-9);
  EXPECT_EQ(unlike->to.layer_class.path, LayerPath::product);
}

// In FP16, which was measured, the library runs the layer in both orders; in BF16 the framework
// does before the library takes over. How long it takes says nothing about the library's 11 us.
TEST(MeasuredLayers, WhatTheFrameworkTakesIsNotCarriedToTheLibrary) {
  MeasuredLayers m = two_layers();
  const LayerShape shape = depthwise(64, 144, 56, 3, 1);
  LayerShape last = shape;
  last.channels_last = true;
  const LayerTime full{{LayerPath::framework}, 81, 0};
  m.layers = LayerTable(
      {{shape, full, {{LayerPath::direct}, 21, 0}}, {last, full, {{LayerPath::direct}, 11, 0}}});
  const auto library = order_change(m, shape, true, {LayerPath::direct});
  const auto framework = order_change(m, shape, true, {LayerPath::framework});
  ASSERT_TRUE(library && framework);
  EXPECT_NEAR(carried_layer_us(m, *library, 41), 21, 1e-9);  // twice 20 us: 1 + 2 x 10
  EXPECT_NEAR(carried_layer_us(m, *framework, 61), 11, 1e-9);
}

TEST(MeasuredLayers, AnotherBatchRunsALayerAsItWasMeasuredThere) {
  const MeasuredLayers m = two_layers();
  constexpr LayerClass turned{LayerPath::implicit, false, true};
  const LayerShape shape = nth(m, 0).shape;
  const auto half = batch_change(m, shape, 128, true, turned);
  ASSERT_TRUE(half);
  EXPECT_EQ(half->from.layer_class, turned);
  EXPECT_EQ(half->to.layer_class, (LayerClass{LayerPath::product}));
  EXPECT_NEAR(half->to.us, 101, 1e-9);
  EXPECT_EQ(batch_change(m, shape, 128, false, turned)->to.layer_class, turned);
  EXPECT_EQ(batch_change(m, shape, 40, true, turned)->to.layer_class, turned);  // nearer to 32
  // Traced another way than measured: nothing is known.
  EXPECT_FALSE(batch_change(m, shape, 128, true, {LayerPath::framework}));
}

TEST(MeasuredLayers, NothingIsSaidOfLayersFarFromAllOrOfOtherKinds) {
  const MeasuredLayers m = two_layers();
  LayerShape shape = nth(m, 0).shape;
  shape.in_channels = shape.out_channels = 64 * 16;  // four octaves each: 32
  EXPECT_FALSE(type_change(m, shape, true, {}));
  shape = nth(m, 0).shape;
  shape.channels_last = true;
  EXPECT_FALSE(type_change(m, shape, true, {}));
}

// Convolutions over time are compared with their like, groups of one channel that widen with such.
TEST(MeasuredLayers, LinesAndGroupsThatWidenAreKindsOfTheirOwn) {
  MeasuredLayers m = two_layers();
  const LayerShape square = nth(m, 0).shape;
  LayerShape line = square;
  line.line = true;
  EXPECT_TRUE(type_change(m, square, true, {}));
  EXPECT_FALSE(type_change(m, line, true, {}));
  change_each(m, [](LayerShape& s) { s.line = true; });
  EXPECT_FALSE(type_change(m, square, true, {}));
  EXPECT_TRUE(type_change(m, line, true, {}));
  change_each(m, [](LayerShape& s) { s.groups = 64, s.out_channels = 128; });
  LayerShape widened = line;
  widened.groups = 64;
  EXPECT_FALSE(type_change(m, widened, true, {}));  // as many channels out as in: depthwise
  widened.out_channels = 128;
  EXPECT_TRUE(type_change(m, widened, true, {}));
}

// Groups of 16 channels, windows of 3 and of 5: 4 squares apart, as two octaves of images are.
TEST(MeasuredLayers, GroupsDifferByTheirWindows) {
  MeasuredLayers m = two_layers();
  change_each(m, [](LayerShape& s) { s.groups = 4, s.images = 32; });
  LayerShape shape = nth(m, 1).shape;
  shape.side = 5;
  change_second(m, shape);
  EXPECT_NEAR(type_change(m, shape, true, nth(m, 1).full.layer_class)->from.us, 401, 1e-9);
  shape.side = 3;
  EXPECT_NEAR(type_change(m, shape, true, nth(m, 1).full.layer_class)->from.us, 101, 1e-9);
}

// A dilated window, or one of a single row, is compared with its like: a compact one is 16 away,
// beside the octaves.
TEST(MeasuredLayers, WindowsOfOtherShapesAreFarApart) {
  MeasuredLayers m = two_layers();
  const LayerClass as_measured = nth(m, 1).full.layer_class;
  const LayerShape compact = nth(m, 0).shape;
  for (const bool dilated : {true, false}) {
    LayerShape shape = compact;
    (dilated ? shape.dilation : shape.aspect) = 2;
    change_second(m, shape);
    EXPECT_NEAR(type_change(m, shape, true, as_measured)->from.us, 401, 1e-9) << dilated;
    EXPECT_NEAR(type_change(m, compact, true, as_measured)->from.us, 101, 1e-9) << dilated;
    (dilated ? shape.dilation : shape.aspect) = 32;  // 25 octaves from 1, 16 from 2: the nearer one
    const auto far = type_change(m, shape, true, as_measured);
    ASSERT_TRUE(far) << dilated;
    EXPECT_NEAR(far->from.us, 401, 1e-9) << dilated;
  }
}

// Weights of 254 channels on 8 images of 64 x 64, channels last: 409 us in FP32 by a general
// kernel, 22 in FP16. Of 256 channels, two more, no layer of that kind tells.
TEST(MeasuredLayers, ChannelsThatLoadsDoNotHoldWholeAreApart) {
  const MeasuredLayers m = load_measured_layers(source_path("configs/kernels/layers.json"));
  LayerShape odd = depthwise(8, 254, 64, 3, 1);
  odd.channels_last = true;
  odd.pass = Pass::weight_gradient;
  const LayerClass direct{LayerPath::direct};
  const auto halved = type_change(m, odd, true, direct);
  ASSERT_TRUE(halved);
  EXPECT_NEAR(halved->from.us, 409, 60);
  EXPECT_NEAR(halved->to.us, 22, 4);
  LayerShape even = odd;
  even.in_channels = even.out_channels = even.groups = 256;
  const auto other = type_change(m, even, true, direct);
  if (other) EXPECT_LT(other->from.us, 200);
}

TEST(MeasuredLayers, TheFileHoldsDilatedWindowsAndThoseOfOneRow) {
  const MeasuredLayers m = load_measured_layers(source_path("configs/kernels/layers.json"));
  std::size_t dilated = 0, rows = 0, columns = 0;
  for (const MeasuredLayer& l : m.layers.all()) {
    dilated += l.shape.dilation > 1 ? 1 : 0;
    rows += l.shape.aspect == 11 ? 1 : 0;
    columns += l.shape.aspect * 11 == 1 ? 1 : 0;
  }
  EXPECT_GT(dilated, 300U);
  EXPECT_GT(rows, 30U);
  EXPECT_GT(columns, 30U);
}

TEST(MeasuredLayers, TheFileHoldsLinesByTheirLength) {
  const MeasuredLayers m = load_measured_layers(source_path("configs/kernels/layers.json"));
  std::size_t lines = 0;
  for (const MeasuredLayer& l : m.layers.all()) {
    if (!l.shape.line || l.shape.pixels != 249 || l.shape.groups != 16) continue;
    ++lines;  // 19, 31 or 128 taps
    EXPECT_NEAR(std::round(l.shape.side * l.shape.side), l.shape.side * l.shape.side, 1e-9);
  }
  EXPECT_GT(lines, 0U);
}

TEST(MeasuredLayers, TheFileHoldsBothOrdersAndAllPasses) {
  const MeasuredLayers m = load_measured_layers(source_path("configs/kernels/layers.json"));
  std::size_t seen[2][3] = {};
  for (const MeasuredLayer& l : m.layers.all()) {
    ++seen[l.shape.channels_last ? 1 : 0][static_cast<std::size_t>(l.shape.pass)];
    EXPECT_LE(l.full.turning_us, l.full.us);
    EXPECT_LE(l.half.turning_us, l.half.us);
  }
  for (const auto& order : seen) {
    for (const std::size_t count : order) EXPECT_GT(count, 400U);
  }
}

}  // namespace
}  // namespace tandem
