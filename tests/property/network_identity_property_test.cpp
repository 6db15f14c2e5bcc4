// What must hold of generated steps because a network knows which tensor is which.
#include <gtest/gtest.h>

#include "sim/core/kernel_family.h"
#include "sim/predict/network_run.h"
#include "tests/configs_for_tests.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

Replay replay_of(const char* network, std::int64_t batch, const char* precision,
                 const char* compile = "") {
  ReplayOptions o;
  o.configs = source_path("configs");
  o.what_ifs.set("precision", precision);
  if (*compile != '\0') o.what_ifs.set("compile", compile);
  NetworkRequest request{
      source_path("workloads/nets/") + network + "-train.json", "h200_sxm", batch, {}};
  if (std::string_view(network) != "vit_b_16") request.length = 128;
  return run_network(request, o, test::configs());
}

double layout_us(const Replay& replay) {
  double us = 0;
  const Step& step = replay.prediction.step;
  for (const DeviceWork& work : step.plan.works) {
    if (step.kernels.of(work.source).family == KernelFamily::layout) us += to_us(work.duration);
  }
  return us;
}

// Transforms that another precision puts around the layer of patches are part of that layer, also
// for the compiler behind it, which took each of them for a convolution: below a batch of 46 they
// had come out twenty times too long. 32 images x 3 x 224 x 224 and 768 x 14 x 14 take 10 us each
// way at the rate of the memory, and as much again where each is a kernel; measured without a
// compiler 88 us forward.
TEST(NetworkIdentity, TransformsBelongToTheirLayer) {
  for (const std::int64_t batch : {16, 32, 45}) {
    SCOPED_TRACE(batch);
    const double eager = layout_us(replay_of("vit_b_16", batch, "amp"));
    const double compiled = layout_us(replay_of("vit_b_16", batch, "amp", "inductor"));
    EXPECT_GT(eager, 0);
    EXPECT_LT(compiled, eager);
  }
}

}  // namespace
}  // namespace tandem
