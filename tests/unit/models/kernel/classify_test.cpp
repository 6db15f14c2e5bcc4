#include "models/kernel/classify/classify.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace tandem {
namespace {

struct Expected {
  const char* name;
  const char* op;
  KernelFamily family;
  const char* kind;
};

class Families : public testing::TestWithParam<Expected> {};

TEST_P(Families, NameTellsFamilyAndKind) {
  const KernelClass c = classify(GetParam().name, GetParam().op);
  EXPECT_EQ(to_string(c.family), to_string(GetParam().family));
  EXPECT_EQ(kind_name(c.traits), GetParam().kind);
}

using F = KernelFamily;
INSTANTIATE_TEST_SUITE_P(
    Names, Families,
    testing::Values(
        Expected{"void at::native::vectorized_elementwise_kernel<4, "
                 "at::native::CUDAFunctor_add<float>, std::array<char*, 3ul> >(int)",
                 "aten::add", F::pointwise, "vectorized"},
        Expected{"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
                 "at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul>, 4, "
                 "LoadWithCast<1>, StoreWithCast<1> >(int)",
                 "aten::copy_", F::copy, "unrolled_cast"},
        Expected{"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
                 "at::native::BUnaryFunctor<float, float, float, "
                 "at::native::binary_internal::MulFunctor<float> > > >(int)",
                 "aten::div", F::pointwise, "strided"},
        Expected{"void at::native::index_elementwise_kernel<128, 4, int>(long)", "aten::index",
                 F::index, "index_elementwise"},
        Expected{"void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float> >(int)",
                 "aten::sum", F::reduction, "reduce"},
        Expected{"void cudnn::bn_bw_1C11_kernel_new<float, float, float2, 512, true, 1>(float)", "",
                 F::batch_norm, "bn_backward"},
        Expected{"void (anonymous namespace)::softmax_warp_forward<float, float, float, 7, false>",
                 "", F::softmax, "softmax_warp"},
        Expected{"volta_sgemm_128x64_nt", "aten::mm", F::gemm, "gemm"},
        Expected{"nvjet_sm90_hsh_96x128_64x7_2x1_v_bz_bias_TNN", "aten::addmm", F::gemm,
                 "gemm_nvjet"},
        Expected{"volta_scudnn_winograd_128x128_ldg1_ldg4_relu_tile148t_nt_v1", "", F::convolution,
                 "winograd"},
        Expected{"void implicit_convolve_sgemm<float, float, 1024, 5, 5, 3>(int)", "",
                 F::convolution, "convolve_sgemm"},
        Expected{"void cudnn::engines_precompiled::nchwToNhwcKernel<float, float, float>(int)", "",
                 F::layout, "nchw_to_nhwc"},
        Expected{"void pytorch_flash::flash_fwd_kernel<pytorch_flash::Flash_fwd_kernel_traits<64, "
                 "128, 128, 4, false> >",
                 "", F::attention, "flash_forward"},
        Expected{"ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)", "", F::collective,
                 "collective"},
        Expected{"triton_red_fused_sum_9", "", F::triton, "triton_reduction"},
        Expected{"loop_add_fusion_3", "", F::pointwise, "xla_loop"},
        Expected{"input_reduce_fusion_12", "", F::reduction, "xla_reduction"},
        Expected{"void Eigen::internal::EigenMetaKernel<int>(int)", "", F::pointwise, "eigen"},
        Expected{"void tensorflow::functor::RowReduceKernel<float*>(float*)", "", F::reduction,
                 "reduce"},
        Expected{"some_kernel_nobody_knows", "", F::generic, "unknown"}));

TEST(ClassifyMatrix, ReadsTileOfEveryLibrary) {
  const KernelTraits cutlass =
      classify(
          "void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_256x128_64x3_nt_align2>"
          "(Params)",
          "aten::mm")
          .traits;
  EXPECT_EQ(cutlass.tile_m, 256);
  EXPECT_EQ(cutlass.tile_n, 128);
  EXPECT_EQ(cutlass.tile_k, 64);
  EXPECT_EQ(cutlass.stages, 3);
  EXPECT_EQ(cutlass.engine, Engine::hmma);
  EXPECT_EQ(cutlass.mma_k, 16);
  EXPECT_EQ(cutlass.load_bytes, 4);
  EXPECT_FALSE(cutlass.a_k_major);
  EXPECT_FALSE(cutlass.b_k_major);
  const KernelTraits nvjet = classify("nvjet_sm90_tst_320x128_64x3_1x2_h_bz_coopB_NNT").traits;
  EXPECT_EQ(nvjet.tile_m, 320);
  EXPECT_EQ(nvjet.cluster_n, 2);
  EXPECT_TRUE(nvjet.cooperative_n);
  EXPECT_EQ(nvjet.engine, Engine::gmma);
  const KernelTraits ampere =
      classify("ampere_bf16_s16816gemm_bf16_128x64_ldg8_relu_f2f_stages_64x3_tn").traits;
  EXPECT_EQ(ampere.tile_m, 128);
  EXPECT_EQ(ampere.tile_k, 64);
  EXPECT_TRUE(ampere.a_k_major);
  const KernelTraits flash =
      classify("void flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 32, 4, 0>").traits;
  EXPECT_EQ(flash.tile_m, 128);
  EXPECT_EQ(flash.tile_n, 32);
}

TEST(ClassifyMatrix, TellsArithmeticAndPass) {
  const char* dgrad =
      "sm90_xmma_dgrad_implicit_gemm_f32f32_tf32f32_f32_nhwckrsc_nhwc_tilesize128x64"
      "x32_warpgroupsize1x1x1_g1_execute_segment_k_off_kernel__5x_cudnn";
  const KernelClass c = classify(dgrad, "aten::convolution_backward");
  EXPECT_EQ(c.math, DataType::tf32);
  EXPECT_EQ(c.traits.data, DataType::fp32);
  EXPECT_EQ(c.traits.pass, Pass::input_gradient);
  EXPECT_TRUE(c.traits.swapped);
  // s1688 on FP32 operands is TF32; with half operands it is not.
  EXPECT_EQ(classify("cutlass_80_tensorop_s1688gemm_64x64_16x6_nn_align4").math, DataType::tf32);
  EXPECT_EQ(classify("cutlass_75_tensorop_f16_s1688gemm_f16_256x128_tn_align1").math,
            DataType::fp16);
  // A 1x1 convolution that runs as a plain product.
  const char* plain = "cutlass_80_tensorop_s1688gemm_64x64_16x6_tn_align4";
  EXPECT_EQ(classify(plain, "aten::convolution_backward").traits.pass, Pass::weight_gradient);
}

TEST(ClassifyMatrix, ReadsBeyondANamespaceWithoutAName) {
  const auto pass_of = [](const std::string& kernel) {
    return classify("void at::native::(anonymous namespace)::" + kernel + "(Params)",
                    "aten::convolution_backward")
        .traits.pass;
  };
  EXPECT_EQ(pass_of("conv_depthwise2d_backward_kernel<3, 1, float, int>"), Pass::input_gradient);
  EXPECT_EQ(pass_of("conv_depthwise2d_grad_weight_kernel<float, int>"), Pass::weight_gradient);
  EXPECT_EQ(pass_of("conv_depthwise2d_forward_kernel<3, float, int>"), Pass::forward);
}

TEST(ClassifyMatrix, ReadsATypeOfCutlassMangledAndNot) {
  // Parentheses among template arguments are no parameters.
  const KernelClass demangled = classify(
      "void cutlass__5x_cudnn::Kernel<cutlass__5x_cudnn::conv::kernel::ImplicitGemmConvolution<"
      "cutlass__5x_cudnn::conv::threadblock::ImplicitGemmMultistage<cutlass__5x_cudnn::gemm::"
      "GemmShape<64, 128, 32>, (cutlass__5x_cudnn::arch::CacheOperation::Kind)0, "
      "Conv2dWgradActivationTileAccessIteratorOptimized<cutlass__5x_cudnn::tfloat32_t>, "
      "MmaTensorOp<GemmShape<16, 8, 8> > > > >(T1::Params)",
      "aten::convolution_backward");
  const KernelClass mangled = classify(
      "_ZN17cutlass__5x_cudnn6KernelINS_4conv6kernel23ImplicitGemmConvolutionINS_"
      "9GemmShapeILi64ELi128ELi32EEENS_48Conv2dWgradActivationTileAccessIteratorOptimizedI"
      "NS_10tfloat32_tEENS_11MmaTensorOpEEEvNT_6ParamsE",
      "aten::convolution_backward");
  for (const KernelClass& c : {demangled, mangled}) {
    EXPECT_EQ(c.math, DataType::tf32);
    EXPECT_EQ(c.traits.engine, Engine::hmma);
    EXPECT_EQ(c.traits.pass, Pass::weight_gradient);
    EXPECT_EQ(c.traits.tile_m, 64);
    EXPECT_EQ(c.traits.tile_n, 128);
    EXPECT_EQ(c.traits.tile_k, 32);
  }
}

TEST(ClassifyElementwise, TheFunctorTellsWhatItMakes) {
  const auto makes = [](const std::string& functor) {
    const std::string name =
        "void at::native::vectorized_elementwise_kernel<4, at::native::" + functor +
        ", std::array<char*, 2ul> >(int)";
    return functor_of(classify(name).traits).result;
  };
  EXPECT_EQ(makes("CompareFunctor<float>"), FunctorResult::truth);
  EXPECT_EQ(makes("isfinite_impl<float>"), FunctorResult::truth);
  EXPECT_EQ(makes("float16_copy_kernel_cuda"), FunctorResult::other_type);
  EXPECT_EQ(makes("CUDAFunctor_add<float>"), FunctorResult::alike);
  EXPECT_EQ(functor_rows()[first_multi_functor()].name, "multi adam");
}

TEST(ClassifyElementwise, FunctorWidthAndOperands) {
  const KernelTraits t = classify(
                             "void at::native::vectorized_elementwise_kernel<8, "
                             "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&)::"
                             "{lambda(c10::Half)#1}, std::array<char*, 2ul> >(int)")
                             .traits;
  EXPECT_EQ(functor_of(t).name, "gelu");
  EXPECT_EQ(t.vector_width, 8);
  EXPECT_EQ(t.operands, 2);
  EXPECT_EQ(t.data, DataType::fp16);
}

// Names of the operations that `name` says are fused, by the keys of the cost constants.
std::vector<std::string> fused_names(std::string_view name) {
  std::vector<std::string> out;
  const std::uint64_t bits = classify(name).traits.fused;
  for (std::size_t i = 0; i < fused_rows().size(); ++i) {
    if (bits >> i & 1) out.emplace_back(fused_rows()[i].name);
  }
  return out;
}

TEST(ClassifyFused, NamesListWhatIsFused) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(fused_names("triton_poi_fused_add_mul_view_3"), Names{});
  EXPECT_EQ(fused_names("triton_poi_fused_gelu_view_0"), Names{"gelu"});
  EXPECT_EQ(fused_names("triton_poi_fused_gelu_gelu_backward_view_12"), Names{"gelu_backward"});
  EXPECT_EQ(fused_names("triton_per_fused__safe_softmax_add_native_dropout_view_4"),
            (Names{"random", "exponent"}));
  EXPECT_EQ(fused_names("triton_per_fused__to_copy__softmax_0"), Names{"exponent"});
  // The mask was drawn in the forward pass; the exponentials are computed again where it is named.
  EXPECT_EQ(fused_names("triton_per_fused__softmax_backward_data_native_dropout_native_dropout_"
                        "backward_1"),
            (Names{"mask", "mask"}));
  EXPECT_EQ(fused_names("triton_per_fused__softmax__softmax_backward_data_2"), Names{"exponent"});
  // Means and variances are merged element by element in loops alone; what divides a norm at
  // inference is taken from its variance for every element.
  EXPECT_EQ(fused_names("triton_red_fused__native_batch_norm_legit_functional_3"),
            Names{"moments"});
  EXPECT_EQ(fused_names("triton_poi_fused__native_batch_norm_legit_functional_relu_4"), Names{});
  EXPECT_EQ(fused_names("triton_red_fused_native_layer_norm_native_layer_norm_backward_0"),
            Names{"norm_gradient"});
  EXPECT_EQ(fused_names("triton_poi_fused__native_batch_norm_legit_no_training_relu_5"),
            Names{"root"});
  EXPECT_EQ(fused_names("triton_red_fused__softmax_prepare_softmax_online_0"), Names{"online"});
  EXPECT_EQ(fused_names("triton_per_fused__softmax_prepare_softmax_online_0"), Names{"exponent"});
  EXPECT_EQ(fused_names("triton_poi_fused_add_cat_cos_mul_neg_sin_1"), (Names{"join", "angle"}));
  // What ends in the name of an operation is none.
  EXPECT_EQ(fused_names("triton_poi_fused_mulsilu_0"), Names{});
}

TEST(ClassifyFused, SomeKernelsFillATensor) {
  EXPECT_TRUE(fills(classify("triton_poi_fused_new_zeros_0").traits.fused));
  EXPECT_FALSE(fills(classify("triton_poi_fused_relu_0").traits.fused));
}

TEST(ClassifyFused, SumsOfGradientsReadWhatWasStored) {
  EXPECT_EQ(classify("triton_red_fused_gelu_gelu_backward_sum_view_2").traits.fused, 0U);
  EXPECT_NE(classify("triton_red_fused_gelu_native_layer_norm_2").traits.fused, 0U);
  EXPECT_EQ(classify("void at::native::gelu_kernel<float>(int)").traits.fused, 0U);
}

}  // namespace
}  // namespace tandem
