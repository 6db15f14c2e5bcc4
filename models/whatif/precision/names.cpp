#include "models/whatif/precision/names.h"

#include <cctype>

namespace tandem {
namespace {

using namespace std::string_view_literals;

std::size_t column(DataType type) {
  return type == DataType::fp16 ? 1 : type == DataType::bf16 ? 2 : 0;
}

std::string_view library_type(DataType type) {
  constexpr std::string_view names[] = {"float", "__half", "__nv_bfloat16"};
  return names[column(type)];
}

bool word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == ':';
}

/// Replaces up to `limit` occurrences of `from` as a whole word.
void replace_words(std::string& text, std::string_view from, std::string_view to,
                   std::size_t limit) {
  if (from.empty() || from == to) return;
  for (std::size_t at = text.find(from); at != text.npos && limit > 0; at = text.find(from, at)) {
    const std::size_t end = at + from.size();
    const bool whole = (at == 0 || !word(text[at - 1])) && (end >= text.size() || !word(text[end]));
    if (whole) {
      text.replace(at, from.size(), to);
      at += to.size();
      --limit;
    } else {
      at = end;
    }
  }
}

bool replace_first(std::string& text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  if (at == text.npos) return false;
  text.replace(at, from.size(), to);
  return true;
}

/// How library kernels spell the types of operands and accumulators, by column; the first that
/// occurs is exchanged.
constexpr std::string_view spellings[][3] = {
    {"tf32f32_tf32f32_f32"sv, "f16f16_f16f32_f32"sv, "bf16bf16_bf16f32_f32"sv},
    {"f32f32_tf32f32_f32"sv, "f16f16_f16f32_f32"sv, "bf16bf16_bf16f32_f32"sv},
    {"tensorop_s1688"sv, "tensorop_f16_s16816"sv, "tensorop_bf16_s16816"sv},
    {"nvjet_sm90_sss"sv, "nvjet_sm90_hsh"sv, "nvjet_sm90_tst"sv},
    {"s1688gemm"sv, "fp16_s16816gemm_fp16"sv, "bf16_s16816gemm_bf16"sv},
};

constexpr std::size_t everywhere = 100;

std::string tile(const KernelTime& time) {
  const int m = time.tile_m > 0 ? time.tile_m : 128, n = time.tile_n > 0 ? time.tile_n : 128;
  return std::to_string(m) + "x" + std::to_string(n);
}

}  // namespace

std::string_view framework_type(DataType type) {
  constexpr std::string_view names[] = {"float", "c10::Half", "c10::BFloat16"};
  if (type != DataType::fp32 && column(type) == 0) return {};
  return names[column(type)];
}

std::string retyped_name(std::string_view name, DataType from, DataType to) {
  std::string out(name);
  for (const auto& row : spellings) {
    if (replace_first(out, row[column(from)], row[column(to)])) return out;
  }
  if (out.find("elementwise_kernel") != out.npos) {
    replace_words(out, framework_type(from), framework_type(to), everywhere);
    const bool narrow = column(to) != 0;
    if (column(from) == 0 && narrow) {
      replace_first(out, "vectorized_elementwise_kernel<4", "vectorized_elementwise_kernel<8");
    } else if (column(from) != 0 && !narrow) {
      replace_first(out, "vectorized_elementwise_kernel<8", "vectorized_elementwise_kernel<4");
    }
    return out;
  }
  // Further types of other kernels are those of accumulators and parameters.
  const bool layout = out.find("nchw") != out.npos || out.find("nhwc") != out.npos;
  if (out.find("cudnn") != out.npos) {
    replace_words(out, library_type(from), library_type(to), layout ? 2 : 1);
  } else {
    replace_words(out, framework_type(from), framework_type(to), 1);
  }
  return out;
}

std::string matmul_name(const GpuArch& gpu, DataType type, const KernelTime& time) {
  if (type == DataType::fp32) {
    return "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n_tilesize" + tile(time) +
           "x8_stage3_warpsize2x2x1_ffma_aligna4_alignc4_execute_kernel__5x_cublas";
  }
  if (type == DataType::tf32) {
    return (gpu.compute_major >= 9
                ? "sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize" + tile(time) +
                      "x32_warpgroupsize1x1x1_execute_kernel__5x_cublas"
                : "ampere_sgemm_tf32_s1688gemm_" + tile(time) + "_tn");
  }
  const bool bf16 = type == DataType::bf16;
  if (gpu.compute_major >= 9) {
    return std::string(bf16 ? "nvjet_sm90_tst_" : "nvjet_sm90_hsh_") + tile(time) +
           "_64x4_1x2_h_bz_TNT";
  }
  if (gpu.compute_major == 8) {
    const std::string t = bf16 ? "bf16" : "fp16";
    return "ampere_" + t + "_s16816gemm_" + t + "_" + tile(time) + "_ldg8_f2f_stages_32x5_tn";
  }
  return "volta_fp16_s884gemm_fp16_" + tile(time) + "_ldg8_f2f_tn";
}

std::string attention_name(const GpuArch& gpu, DataType type, bool backward) {
  const std::string pass = backward ? "B" : "F";
  if (type == DataType::fp32) return "fmha_cutlass" + pass + "_f32_aligned_64x64_rf_sm80";
  const std::string t = type == DataType::bf16 ? "bf16" : "f16";
  if (gpu.compute_major >= 9) {
    return backward ? "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_" + t +
                          "_knob_26_64x64x64_1x4x1_cga1x1x1_kernel0_0"
                    : "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_" + t +
                          "_knob_7_64x128x64_4x1x1_cga1x1x1_kernel0_0";
  }
  if (gpu.compute_major == 8) {
    return backward ? "pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel"
                    : "pytorch_flash::flash_fwd_kernel";
  }
  return "fmha_cutlass" + pass + "_" + t + "_aligned_64x64_rf_sm70";
}

std::string cast_name(DataType from, DataType to) {
  constexpr std::string_view down[] = {"", "float16_copy_kernel_cuda", "bfloat16_copy_kernel_cuda"};
  if (column(to) != 0) {
    return "void at::native::vectorized_elementwise_kernel<8, at::native::" +
           std::string(down[column(to)]) +
           "(at::TensorIteratorBase&)::{lambda(float)#1}, std::array<char*, 2ul> >(int)";
  }
  const std::string type(framework_type(from));
  return "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda("
         "at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda(float)#1}, "
         "std::array<char*, 2ul>, 4, at::native::memory::LoadWithCast<1>, " +
         type + ">(int)";
}

}  // namespace tandem
