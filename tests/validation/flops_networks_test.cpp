// FLOPs of whole networks against what their authors and torchvision publish, and against sums by
// hand.
#include <gtest/gtest.h>

#include "sim/predict/predict.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

GpuMetrics step_of(const std::string& capture) {
  ReplayOptions options;
  options.configs = source_path("configs");
  options.trace_path = source_path("validation/captures/" + capture + ".json.zst");
  const Result result = replay(options).prediction.result;
  return result.gpu_step.value();
}

struct Network {
  const char* capture;
  double flops;  // of a step
};

constexpr double macs = 2;  // FLOPs of a multiply-add
// torchvision's table of models (GFLOPS there: multiply-adds of one image of 224 x 224).
constexpr double resnet50 = 4.09e9, mobilenet_v2 = 0.30e9, efficientnet_b0 = 0.39e9,
                 resnext50 = 4.23e9, swin_t = 4.49e9, convnext_tiny = 4.46e9, vgg16 = 15.47e9;
// The first convolution has no gradient of its input: ResNet 64 x 3 x 49 on 112 x 112 pixels, VGG
// 64 x 3 x 9 on 224 x 224.
constexpr double first_of_resnet = 64.0 * 3 * 49 * 112 * 112,
                 first_of_vgg = 64.0 * 3 * 9 * 224 * 224;
// GPT-2 small: 6 N a token for the weights that multiply (12 layers of 12 x 768 x 768, and the head
// of 50257 x 768), 4 sequences of 512; attention: 2 products forward, 5 backward, half of the
// scores.
constexpr double gpt2 = 6 * (12 * 12 * 768.0 * 768 + 50257.0 * 768) * 4 * 512 +
                        12 * macs * 7 * 4 * 12 * (512.0 * 513 / 2) * 64;
// LSTM of 2 layers of 1024 on 64 sequences of 64: four gates of inputs and states, three passes;
// the products beside it, which the trace states as such: 251.66e9.
constexpr double lstm = 3 * macs * 64 * 64 * 4 * 1024 * (2 * (1024.0 + 1024)) + 251.66e9;

const Network networks[] = {
    {"h200_2026-11-21_networks_holdout/traces/resnet50-infer-fp32-eager-b8", macs * 8 * resnet50},
    {"h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32",
     macs * 32 * (3 * resnet50 - first_of_resnet)},
    {"h200_2026-11-22_channels_last_holdout/traces/resnet50-train-fp32-eager-b64-cl",
     macs * 64 * (3 * resnet50 - first_of_resnet)},
    {"h200_2026-11-22_generated_holdout/traces/vgg16-train-fp32-eager-b32",
     macs * 32 * (3 * vgg16 - first_of_vgg)},
    {"h200_2026-11-21_networks_holdout/traces/mobilenet_v2-infer-fp32-eager-b64",
     macs * 64 * mobilenet_v2},
    {"h200_2026-11-22_generated_holdout/traces/efficientnet_b0-infer-fp32-eager-b128",
     macs * 128 * efficientnet_b0},
    {"h200_2026-11-22_models_holdout/traces/resnext50_32x4d-infer-fp32-eager-b32",
     macs * 32 * resnext50},
    {"h200_2026-11-22_models_holdout/traces/swin_t-infer-fp32-eager-b32", macs * 32 * swin_t},
    {"h200_2026-11-22_models_holdout/traces/convnext_tiny-infer-amp-eager-b32",
     macs * 32 * convnext_tiny},
    {"h200_2026-11-21_networks_holdout/traces/gpt2-train-amp-eager-b4", gpt2},
    {"h200_2026-11-21_networks_holdout/traces/lstm-train-fp32-eager-b64", lstm},
};

TEST(FlopsOfNetworks, AreThosePublished) {
  int ran = 0;
  for (const Network& network : networks) {
    const GpuMetrics m = step_of(network.capture);
    EXPECT_NEAR(m.flops / network.flops, 1, 0.02) << network.capture;
    EXPECT_GT(m.flops_coverage, 0.999) << network.capture;
    EXPECT_GT(m.mfu, 0) << network.capture;
    EXPECT_LE(m.mfu, m.roofline_share) << network.capture;
    ++ran;
  }
  EXPECT_EQ(ran, 11);
}

TEST(FlopsOfNetworks, SayWhereShapesAreNotKnown) {
  const GpuMetrics m =
      step_of("h200_2026-11-21_networks_holdout/traces/resnet50-infer-fp32-cudagraph-b8");
  EXPECT_EQ(m.flops, 0);  // a traced graph has no operations
  EXPECT_LT(m.flops_coverage, 0.7);
}

}  // namespace
}  // namespace tandem
