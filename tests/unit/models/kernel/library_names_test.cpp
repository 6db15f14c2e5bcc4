#include "models/kernel/library_names.h"

#include <gtest/gtest.h>

#include "models/kernel/classify/classify.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

const LibraryNames& names() {
  static const LibraryNames instance =
      load_library_names(source_path("configs/kernels/libraries.json"));
  return instance;
}

TEST(LibraryNames, TypesAreExchangedWhereNamesStateThem) {
  EXPECT_EQ(names().retyped("void at::native::vectorized_elementwise_kernel<4, "
                            "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
                            DataType::fp32, DataType::fp16),
            "void at::native::vectorized_elementwise_kernel<8, "
            "at::native::CUDAFunctor_add<c10::Half>, std::array<char*, 3ul> >(int)");
  EXPECT_EQ(names().retyped("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float, float, int, 512>",
                            DataType::fp32, DataType::fp16),
            "void cudnn::bn_fw_tr_1C11_kernel_NCHW<__half, float, int, 512>");
  EXPECT_EQ(names().retyped("nvjet_sm90_hsh_128x128_64x6", DataType::fp16, DataType::bf16),
            "nvjet_sm90_tst_128x128_64x6");
}

TEST(LibraryNames, ProductsAreThoseOfTheNewestGenerationThatIsNotNewer) {
  const auto name = [](int compute_major) {
    return names().name(LibraryUse::product, DataType::fp16, compute_major, {128, 64});
  };
  EXPECT_EQ(name(8), "ampere_fp16_s16816gemm_fp16_128x64_ldg8_f2f_stages_32x5_tn");
  EXPECT_EQ(name(10), name(9));
  EXPECT_EQ(name(6), name(7));
  EXPECT_NE(name(7), name(8));
}

// A name that a predicted step shows is one that a traced step may show.
TEST(LibraryNames, EveryNameIsOneThatARuleKnows) {
  ASSERT_FALSE(names().names.empty());
  for (const LibraryName& row : names().names) {
    const DataType type = row.type == DataType::unknown ? DataType::fp16 : row.type;
    const std::string name = names().name(row.use, type, row.compute_major, {128, 64});
    EXPECT_EQ(name.find('{'), name.find("{lambda")) << name;
    const KernelClass k = classify(name);
    EXPECT_NE(row_of(k.traits).kind, Kind::unknown) << name;
    if (row.use != LibraryUse::product) continue;
    EXPECT_EQ(k.traits.tile_m, 128) << name;
    EXPECT_EQ(k.traits.tile_n, 64) << name;
    // The names of TF32 products before wgmma say "sgemm", too, and read as FP32.
    if (type == DataType::tf32) continue;
    EXPECT_EQ(k.traits.engine == Engine::simt, type == DataType::fp32) << name;
  }
}

TEST(LibraryNames, MatrixKernelsAreWhatTheirRowsSay) {
  ASSERT_FALSE(names().kernels.empty());
  for (const LibraryKernel& kernel : names().kernels) {
    const std::string name = kernel_name(kernel, {128, 64}, Pass::weight_gradient);
    const KernelClass k = classify(name, "aten::convolution_backward");
    EXPECT_EQ(k.traits.engine, kernel.engine) << name;
    EXPECT_EQ(k.traits.tile_m, 128) << name;
    EXPECT_EQ(k.traits.tile_n, 64) << name;
    EXPECT_TRUE(k.family == KernelFamily::gemm || k.family == KernelFamily::convolution) << name;
  }
}

TEST(LibraryNames, OnlyAttentionForTensorCoresHasAnOlderKernel) {
  EXPECT_EQ(attention_without_tf32("fmha_cutlassF_f32_aligned_64x64_rf_sm80"),
            "fmha_cutlassF_f32_aligned_64x64_rf_sm70");
  EXPECT_EQ(attention_without_tf32("fmha_cutlassF_f32_aligned_64x64_rf_sm70"), "");
}

}  // namespace
}  // namespace tandem
