// Why a changed step is faster, from two results made by hand.
#include "sim/advise/reason.h"

#include <gtest/gtest.h>

namespace tandem {
namespace {

/// A step of `time_us` with `host_us` of the critical path on the host, which may be from 0.8 to
/// 1.25 times as slow.
Result step(double time_us, double host_us, std::int64_t batch = 32) {
  Result r;
  r.scenario.gpu = "gpu";
  r.scenario.batch = batch;
  r.step.time_us = time_us;
  r.step.enqueue_us = host_us;
  r.step.launches = 100;
  r.step.kernels = 100;
  r.step.gpu_kernel_us = time_us - host_us;
  r.critical_path = {{PathKind::host, "in or before first", 60, host_us, host_us / time_us},
                     {PathKind::work, "k", 100, time_us - host_us, 1 - host_us / time_us}};
  r.band_parts.host = {time_us - 0.2 * host_us, time_us + 0.25 * host_us};
  r.band_parts.gpu_share = 1 - host_us / time_us;
  r.limited_by = r.band_parts.gpu_share > 0.6 ? StepLimit::gpu : StepLimit::host;
  return r;
}

TEST(Reason, NamesTheHostWorkThatVanishes) {
  Result graph = step(200, 0);
  graph.step.gpu_kernel_us = 200;
  graph.step.launches = 1;
  graph.step.enqueue_us = 5;
  const std::string why = reason(step(1000, 800), graph);
  EXPECT_EQ(why,
            "100 launches with 800.0 us of host work become 1 with 5.0 us, longest on the critical "
            "path 60 x in or before first 800.0 us; then limited by the GPU");
}

TEST(Reason, NamesTheLayersThatGetShorter) {
  Result base = step(1000, 0);
  Result changed = step(500, 0);
  base.layers = {{"convolution", 60, 700, 0.7}, {"norm", 40, 300, 0.3}};
  changed.layers = {{"convolution", 60, 260, 0.52}, {"norm", 40, 240, 0.48}};
  // Of the 500 us the convolutions are 88 %, the norms 12 %, which is not worth naming.
  EXPECT_EQ(
      reason(base, changed),
      "100 kernels and copies 1.000 ms -> 500.0 us, most in convolution 700.0 us -> 260.0 us");
  changed.step.kernels = 60;
  changed.layers = {{"convolution", 60, 500, 1.0}};
  EXPECT_EQ(
      reason(base, changed),
      "100 kernels and copies of 1.000 ms become 60 of 500.0 us, most in norm 300.0 us vanish, "
      "convolution 700.0 us -> 500.0 us");
}

TEST(Reason, SaysWhatHidesAChange) {
  Result graph = step(1000, 0);
  graph.step.launches = 1;
  Result base = step(1000, 0);
  base.step.enqueue_us = 400;  // beside the GPU
  EXPECT_EQ(
      reason(base, graph),
      "100 launches with 400.0 us of host work become 1 with 0.0 us; but 100 % of the critical "
      "path is on the GPU, 0 % on the host");
  EXPECT_EQ(reason(base, base),
            "neither GPU time nor host work changes by 2 % of the step; 100 % of the critical path "
            "is on the GPU, 0 % on the host");
}

TEST(Reason, SaysWhatMakesUpForAnother) {
  // The GPU gains 100 us of the path, the host loses them.
  Result base = step(1000, 500);
  Result changed = step(1000, 600);
  EXPECT_EQ(
      reason(base, changed),
      "100 kernels and copies 500.0 us -> 400.0 us; host work of 100 launches 500.0 us -> 600.0 "
      "us; the step changes by less than 2 %, 50 % of the critical path is on the GPU, 50 % on "
      "the host");
}

TEST(Reason, OfAnotherBatchIsPerSample) {
  // 800 us of host work for 64 samples instead of 32; a step of the same length.
  Result twice = step(1000, 800, 64);
  const std::string why = reason(step(1000, 800, 32), twice);
  EXPECT_TRUE(why.starts_with("800.0 us of host work a step serve 64 samples, not 32")) << why;
}

TEST(Reason, TellsTheWaitForInputFromOtherHostWork) {
  Result base = step(1000, 800);
  base.input_wait_us = 500;
  Result none = step(500, 300);
  none.step.gpu_kernel_us = base.step.gpu_kernel_us;
  EXPECT_EQ(reason(base, none), "the 500.0 us that a step waits for its input become 0.0 us");
}

TEST(JobCost, IsHoursEnergyAndPriceOfAllGpus) {
  // 7.2e6 samples at 2 x 100 a step of 0.1 s: 36,000 steps, an hour. 2 GPUs at 3 an hour: 6.
  // 36,000 x 2 x 50 J = 3.6 MJ = 1 kWh.
  const JobCost c = job_cost({7.2e6, 3}, 1e5, 100, 2, 50.0);
  EXPECT_NEAR(c.hours, 1, 1e-12);
  EXPECT_NEAR(c.kwh.value(), 1, 1e-12);
  EXPECT_NEAR(c.price.value(), 6, 1e-12);
  const JobCost unknown = job_cost({7.2e6, 0}, 1e5, 100, 2, {});
  EXPECT_FALSE(unknown.kwh);
  EXPECT_FALSE(unknown.price);
}

}  // namespace
}  // namespace tandem
