#include "models/whatif/compile/fusion_law.h"

#include "sim/core/constants.h"

namespace tandem {
namespace {

using L = FusionLaw;
using Fields = std::vector<Field<L>>;

void add_kernel_fields(Fields& out) {
  add_fields(out, &L::generated, generated_code_fields());
  out.push_back(field<L>("persistent_columns", "elements",
                         "longest row that a block keeps in registers", &L::persistent_columns));
  add_fields(out, &L::products, aligned_products_fields());
  add_fields(out, &L::padding, padding_law_fields());
  out.push_back(field<L>("masked_ratio", "ratio",
                         "time of fused attention that reads a mask over that of its causal half",
                         &L::masked_ratio));
  out.push_back(field<L>("masked_fp32_ratio", "ratio", "the same of memory-efficient FP32 kernels",
                         &L::masked_fp32_ratio));
  out.push_back(field<L>("score_dram_share", "ratio",
                         "share of the peak DRAM rate of products of queries, keys and values, a "
                         "head each, in 16 bits",
                         &L::score_dram_share));
  out.push_back(field<L>("transpose_share", "ratio",
                         "share of the peak DRAM rate at which XLA turns FP32 weights",
                         &L::transpose_share));
  out.push_back(field<L>("transpose_cast_share", "ratio",
                         "the same where the weights change between FP32 and 16 bits",
                         &L::transpose_cast_share));
  add_fields(out, &L::gradient_copy,
             floor_and_share_fields(
                 "gradient_copy",
                 "shortest copy of a gradient into the order of its parameter, by the framework",
                 "share of the peak DRAM rate of such a copy"));
}

/// In inference the compiler compares the sum of these times the work with the work.
void add_layout_fields(Fields& out) {
  const auto add = [&](std::string_view name, std::string_view doc, double L::*member) {
    out.push_back(field<L>(name, "ratio", doc, member));
  };
  add("layout_usual_ratio",
      "time of a convolution in channels-last order over the other, as the compiler assumes it",
      &L::layout_usual_ratio);
  add("layout_grouped_ratio", "... with groups of more than one channel", &L::layout_grouped_ratio);
  add("layout_small_ratio", "... of at most 64 channels on both sides", &L::layout_small_ratio);
  add("layout_narrowing_ratio", "... with at most half as many results as channels, no 1x1",
      &L::layout_narrowing_ratio);
}

void add_host_fields(Fields& out) {
  const auto us = [&](std::string_view name, std::string_view doc, double L::*member) {
    out.push_back(field<L>(name, "us", doc, member));
  };
  us("reference_call_us",
     "median launch call under the profiler of the eager runs that the host times belong to",
     &L::reference_call_us);
  out.push_back(field<L>("carried_speed", "ratio",
                         "power of the trace's launch call over that one by which host times grow",
                         &L::carried_speed));
  us("generated_host_us",
     "host time before the launch call of a generated kernel, without the profiler",
     &L::generated_host_us);
  us("matmul_host_us", "... of a matrix product called by compiled code", &L::matmul_host_us);
  us("convolution_host_us", "... of a convolution", &L::convolution_host_us);
  us("convolution_backward_host_us", "... of its backward", &L::convolution_backward_host_us);
  us("attention_host_us", "... of an attention operation", &L::attention_host_us);
  us("further_host_us", "... of each further kernel of one operation", &L::further_host_us);
  us("region_host_us", "... to enter a compiled graph and to leave it: guards, prologue, epilogue",
     &L::region_host_us);
  us("parameter_host_us", "... for each parameter that takes a gradient, a graph",
     &L::parameter_host_us);
  out.push_back(
      field<L>("inference_host_share", "ratio",
               "these times in a step that takes no gradients over those in one that does",
               &L::inference_host_share));
  out.push_back(
      field<L>("script_host_share", "ratio",
               "host time before a forward operation in TorchScript over that in eager execution",
               &L::script_host_share));
  us("xla_host_us", "... of one kernel of an XLA executable", &L::xla_host_us);
  out.push_back(field<L>("expected_error", "ratio", "mean error of the GPU time on scored pairs",
                         &L::expected_error));
}

}  // namespace

FusionLaw load_fusion_law(const std::string& path) {
  Fields fields;
  add_kernel_fields(fields);
  add_layout_fields(fields);
  add_host_fields(fields);
  return load_constants<FusionLaw>(path, fields);
}

}  // namespace tandem
