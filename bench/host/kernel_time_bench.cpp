// Time of one call of the kernel-time model. Target: below one microsecond on average.
#include <benchmark/benchmark.h>

#include <array>

#include "models/arch/gpu_config.h"
#include "models/kernel/time/time_model.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

struct Setup {
  GpuCatalogue catalogue = load_catalogue(source_path("configs/gpus"));
  TimeConstants constants = TimeConstants::load(source_path("configs/kernels/time.json"));
};

const Setup& setup() {
  static const Setup instance;
  return instance;
}

const GpuArch& gpu(const char* name) { return find_gpu(setup().catalogue, name); }

constexpr std::array<const char*, 3> gpus = {"v100_pcie_32gb", "a100_pcie_40gb", "h100_sxm5"};

// Shapes from a launch of one warp to a large layer.
constexpr std::array<std::int64_t, 4> sizes = {37, 256, 1000, 4096};

void linear(benchmark::State& state, DataType type) {
  const GpuArch& g = gpu(gpus[static_cast<std::size_t>(state.range(0))]);
  std::size_t i = 0;
  for (auto _ : state) {
    const GemmShape s{.m = sizes[i % 4],
                      .n = sizes[i / 4 % 4],
                      .k = sizes[i / 16 % 4],
                      .type = type,
                      .b_k_major = true};
    benchmark::DoNotOptimize(gemm_time(g, s, setup().constants));
    ++i;
  }
}
void gemm_fp32(benchmark::State& state) { linear(state, DataType::fp32); }
void gemm_fp16(benchmark::State& state) { linear(state, DataType::fp16); }
BENCHMARK(gemm_fp32)->DenseRange(0, 2);
BENCHMARK(gemm_fp16)->DenseRange(0, 2);

void batched(benchmark::State& state) {
  const GpuArch& g = gpu(gpus[static_cast<std::size_t>(state.range(0))]);
  std::size_t i = 0;
  for (auto _ : state) {
    const GemmShape s{.m = sizes[i % 4], .n = sizes[i / 4 % 4], .k = 64, .batch = 192};
    benchmark::DoNotOptimize(gemm_time(g, s, setup().constants));
    ++i;
  }
}
BENCHMARK(batched)->DenseRange(0, 2);

void convolution(benchmark::State& state) {
  const GpuArch& g = gpu(gpus[static_cast<std::size_t>(state.range(0))]);
  std::int64_t i = 0;
  for (auto _ : state) {
    const ConvLayer s{.batch = 32,
                      .in_channels = 64 << (i % 3),
                      .out_channels = 128,
                      .height = 28,
                      .width = 28,
                      .kernel_h = 3,
                      .kernel_w = 3,
                      .pad_h = 1,
                      .pad_w = 1};
    benchmark::DoNotOptimize(conv_time(g, s, setup().constants));
    ++i;
  }
}
BENCHMARK(convolution)->DenseRange(0, 2);

template <class Time, class Shape>
void memory(benchmark::State& state, Time time, const Shape& shape) {
  const GpuArch& g = gpu("a100_pcie_40gb");
  for (auto _ : state) benchmark::DoNotOptimize(time(g, shape, setup().constants, TimeContext{}));
}
BENCHMARK_CAPTURE(memory, pointwise, pointwise_time, PointwiseShape{.elements = 1 << 22});
BENCHMARK_CAPTURE(memory, layer_norm, layer_norm_time, RowShape{4096, 1024});
BENCHMARK_CAPTURE(memory, softmax, softmax_time, RowShape{4096, 2048});

}  // namespace
}  // namespace tandem
