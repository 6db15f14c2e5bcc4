#include "models/kernel/library_names.h"

#include <gtest/gtest.h>

#include "models/kernel/classify/classify.h"
#include "models/kernel/work/gemm_shape.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const LibraryNames& names() {
  static const LibraryNames instance =
      load_library_names(source_path("configs/kernels/libraries.json"));
  return instance;
}

PredictedKernel retyped(std::string_view name, DataType from, DataType to) {
  return names().retyped(classify(name), name, from, to);
}

TEST(LibraryNames, TypesAreExchangedWhereNamesStateThem) {
  EXPECT_EQ(retyped("void at::native::vectorized_elementwise_kernel<4, "
                    "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
                    DataType::fp32, DataType::fp16)
                .name,
            "void at::native::vectorized_elementwise_kernel<8, "
            "at::native::CUDAFunctor_add<c10::Half>, std::array<char*, 3ul> >(int)");
  EXPECT_EQ(retyped("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512>", DataType::fp32,
                    DataType::fp16)
                .name,
            "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, int, 512>");
  EXPECT_EQ(retyped("nvjet_sm90_hsh_128x128_64x6", DataType::fp16, DataType::bf16).name,
            "nvjet_sm90_tst_128x128_64x6");
}

// The class does not follow from the name, but where the name states the type it says the same.
TEST(LibraryNames, ARetypedKernelIsWhatItsNameSays) {
  const char* const traced[] = {
      "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
      "std::array<char*, 3ul> >(int)",
      "void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512>",
      "sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x128x32_"
      "warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn"};
  for (const char* const name : traced) {
    for (const DataType to : {DataType::fp16, DataType::bf16}) {
      const PredictedKernel k = retyped(name, DataType::fp32, to);
      EXPECT_NE(k.name, name);
      EXPECT_EQ(k.kernel, classify(k.name)) << k.name;
      const PredictedKernel back = names().retyped(k.kernel, k.name, to, DataType::fp32);
      EXPECT_EQ(back.kernel, classify(name)) << back.name;
    }
  }
}

TEST(LibraryNames, ProductsAreThoseOfTheNewestGenerationThatIsNotNewer) {
  const auto name = [](int compute_major) {
    return names().kernel(LibraryUse::product, DataType::fp16, compute_major, {128, 64}).name;
  };
  EXPECT_EQ(name(8), "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x5_tn");
  EXPECT_EQ(name(10), name(9));
  EXPECT_EQ(name(6), name(7));
  EXPECT_NE(name(7), name(8));
}

// A name that a predicted step shows is one that a traced step may show, and a reader of the
// timeline takes the kernel for what it is.
TEST(LibraryNames, EveryRowIsWhatARuleReadsOffItsName) {
  ASSERT_FALSE(names().names.empty());
  for (const LibraryName& row : names().names) {
    const DataType type = row.type == DataType::unknown ? DataType::fp16 : row.type;
    const PredictedKernel k = names().kernel(row.use, type, row.compute_major, {128, 64});
    EXPECT_EQ(k.name.find('{'), k.name.find("{lambda")) << k.name;
    EXPECT_NE(k.kernel.traits.kind, Kind::unknown) << k.name;
    EXPECT_EQ(k.kernel, classify(k.name)) << k.name;
  }
}

TEST(LibraryNames, MatrixKernelsAreWhatTheirNamesSay) {
  ASSERT_FALSE(names().kernels.empty());
  for (const LibraryKernel& row : names().kernels) {
    const PredictedKernel k = predicted_kernel(row, {128, 64}, Pass::forward);
    EXPECT_EQ(k.kernel, classify(k.name)) << k.name;
    const PredictedKernel split = predicted_kernel(row, {128, 64}, Pass::forward, 4);
    EXPECT_EQ(split.kernel, classify(split.name)) << split.name;
    if (k.kernel.family == KernelFamily::gemm) continue;  // their names do not state the pass
    for (const Pass pass : {Pass::input_gradient, Pass::weight_gradient}) {
      const PredictedKernel gradient = predicted_kernel(row, {128, 64}, pass);
      if (gradient.name == k.name) continue;
      EXPECT_EQ(gradient.kernel, classify(gradient.name)) << gradient.name;
    }
  }
}

// Traces of V100 and A100 show other blocks with each tile of the FP32 products: a thread of
// sgemm_128x64 has 64 results, one of sgemm_32x128 has 16.
TEST(LibraryNames, TilesAreLaunchedWithTheirOwnBlocks) {
  const auto geometry = [](int tile_m, int tile_n) {
    const LibraryKernel* sgemm = names().find(8, Engine::simt, KernelFamily::gemm, DataType::fp32);
    KernelTime time;
    time.tile_m = tile_m;
    time.tile_n = tile_n;
    return predicted_launch(*sgemm, time, Pass::forward).geometry;
  };
  EXPECT_EQ(geometry(128, 64).block[0], 128U);
  EXPECT_EQ(geometry(128, 64).registers_per_thread, 122U);
  EXPECT_EQ(geometry(128, 64).shared_bytes, 12544U);
  EXPECT_EQ(geometry(32, 128).block[0], 256U);
  EXPECT_EQ(geometry(32, 128).registers_per_thread, 57U);
  EXPECT_EQ(geometry(64, 64).block[0], 64U);
  EXPECT_EQ(geometry(128, 128).block[0], 256U) << "the row's own, where the tile has none";
}

// A law that chose 3 x 32 tiles of 128 x 128. Of kernels that loop over tiles y is a raster, up to
// whose lines the library rounds: with 32 there, 3 rows would count as 32, and 96 tiles as 1024.
TEST(LibraryNames, BlocksThatLoopOverTilesStandAlongX) {
  const LibraryKernel* xmma = names().find(9, Engine::gmma, KernelFamily::gemm, DataType::tf32);
  ASSERT_NE(xmma, nullptr);
  KernelTime time;
  time.tile_m = time.tile_n = 128;
  time.grid_x = 3;
  time.grid_y = 32;
  time.grid_z = 1;
  const PredictedLaunch launch = predicted_launch(*xmma, time, Pass::forward);
  ASSERT_TRUE(lays_out_raster(launch.kernel.kernel.traits));
  EXPECT_EQ(launch.geometry.grid, (std::array<std::uint32_t, 3>{96, 1, 1}));
  MatrixProblem problem;
  problem.batch = 1;
  problem.m = 3 * 128;
  problem.n = 32 * 128;
  problem.k = 768;
  EXPECT_EQ(tile_grid(launch.kernel.kernel.traits, problem, launch.geometry).tiles, 96);
}

TEST(LibraryNames, OnlyAttentionForTensorCoresHasAnOlderKernel) {
  const auto older = [](std::string_view name) {
    return attention_without_tf32(classify(name), name);
  };
  const PredictedKernel k = older("fmha_cutlassF_f32_aligned_64x64_rf_sm80");
  EXPECT_EQ(k.name, "fmha_cutlassF_f32_aligned_64x64_rf_sm70");
  EXPECT_EQ(k.kernel.traits.engine, classify(k.name).traits.engine);
  EXPECT_EQ(k.kernel.math, classify(k.name).math);
  EXPECT_EQ(older("fmha_cutlassF_f32_aligned_64x64_rf_sm70").name, "");
}

}  // namespace
}  // namespace tandem
