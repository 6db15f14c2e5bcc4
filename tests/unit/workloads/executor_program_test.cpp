// Steps of TensorFlow's eager runtime without a trace.
#include <gtest/gtest.h>

#include "sim/predict/network_run.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

Result run(const std::string& network, std::int64_t batch, Mode mode = Mode::as_traced) {
  ReplayOptions options;
  options.configs = source_path("configs");
  options.mode.mode = mode;
  const NetworkRequest request{
      source_path("workloads/nets/" + network + ".json"), "v100_sxm2_32gb", batch, {}};
  return run_network(request, options).prediction.result;
}

// LeNet-5 in Keras: 10 variables read, 2 convolutions, 3 products, 5 biases, 4 tanh, 2 pools,
// reshape, softmax: 28 nodes, and the copy of the images. 28 - 10 - 1 of them run on the GPU.
TEST(ExecutorProgram, RunsEveryOperationAsANode) {
  const Result r = run("tf_lenet5-infer", 64);
  ASSERT_TRUE(r.runtime.has_value());
  EXPECT_EQ(r.runtime->nodes, 29);
  EXPECT_EQ(r.runtime->cpu_kernels, 11);
  EXPECT_GT(r.runtime->gpu_kernel_share, 0);
  EXPECT_GT(r.runtime->copy_share, 0);
  EXPECT_EQ(r.trace.framework, Framework::tensorflow);
}

TEST(ExecutorProgram, CopiesOfInputsGrowWithTheBatch) {
  const double small = run("tf_lenet5-infer", 64).runtime->copy_share;
  const double large = run("tf_lenet5-infer", 8192).runtime->copy_share;
  EXPECT_GT(large, 5 * small);
}

TEST(ExecutorProgram, SynchronousStepsHaveNoQueue) {
  const Result r = run("tf_lenet5-infer", 64, Mode::eager_sync);
  ASSERT_TRUE(r.runtime.has_value());
  EXPECT_DOUBLE_EQ(r.runtime->queue_busy_us, 0);
  EXPECT_DOUBLE_EQ(r.runtime->queue_empty_share, 1);
}

TEST(ExecutorProgram, GpuWorkIsThatOfTheNetworkInEveryMode) {
  const double traced = run("tf_resnet50-infer", 32).step.gpu_kernel_us;
  std::size_t checked = 0;
  for (const Mode mode : {Mode::eager_sync, Mode::eager_async, Mode::cuda_graph}) {
    EXPECT_NEAR(run("tf_resnet50-infer", 32, mode).step.gpu_kernel_us, traced, 1e-3 * traced);
    ++checked;
  }
  EXPECT_EQ(checked, 3u);
}

// From one update of a variable to the next: 102 us of Keras, and 6.7 us of the enqueue.
TEST(ExecutorProgram, KerasPausesBeforeItUpdatesAVariable) {
  ReplayOptions options;
  options.configs = source_path("configs");
  options.profiler = Profiler::keep;
  const NetworkRequest request{
      source_path("workloads/nets/tf_lenet5-train.json"), "v100_sxm2_32gb", 64, {}};
  const Trace trace = run_network(request, options).prediction.step.trace;
  std::vector<TimePoint> begins;
  for (std::size_t i = 0; i < trace.ops.size(); ++i) {
    if (trace.strings.get(trace.ops.name[i]).starts_with("ResourceApply")) {
      begins.push_back(trace.ops.begin[i]);
    }
  }
  ASSERT_EQ(begins.size(), 10u);  // the variables
  for (std::size_t i = 1; i < begins.size(); ++i) {
    EXPECT_NEAR(to_us(begins[i] - begins[i - 1]), 102 + 6.7, 0.1);
  }
}

}  // namespace
}  // namespace tandem
