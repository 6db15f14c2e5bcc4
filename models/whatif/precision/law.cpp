#include "models/whatif/precision/law.h"

#include "sim/core/constants.h"

namespace tandem {
namespace {

using L = PrecisionLaw;
using Fields = std::vector<Field<L>>;

/// A member of a member.
template <class Part>
void add_part(Fields& out, std::string_view name, std::string_view unit, std::string_view doc,
              Part L::*part, double Part::*member) {
  out.push_back({std::string(name), std::string(unit), std::string(doc),
                 [=](L& law, const Json& json, const Place& place) {
                   read_json(json, place, Range::positive, law.*part.*member);
                 },
                 [=](const L& law) { return Json(law.*part.*member); }});
}

void add_cast(Fields& out, const std::string& name, const std::string& doc, CastRate L::*rate) {
  add_part(out, name + "_floor_us", "us", "shortest copy " + doc, rate, &CastRate::floor_us);
  add_part(out, name + "_dram_share", "ratio", "share of the peak DRAM rate of a copy " + doc, rate,
           &CastRate::dram_share);
}

void add_attention(Fields& out, const std::string& name, const std::string& doc,
                   AttentionRate L::*rate) {
  add_part(out, name + "_floor_us", "us", "shortest fused attention, " + doc, rate,
           &AttentionRate::floor_us);
  add_part(out, name + "_tensor_share", "ratio", "share of the peak tensor rate, " + doc, rate,
           &AttentionRate::tensor_share);
}

void add_channel(Fields& out, const std::string& name, const std::string& doc,
                 ChannelRate L::*rate) {
  add_part(out, name + "_block_cycles", "cycles",
           "of a block for an element of its channel, " + doc, rate, &ChannelRate::block_cycles);
  add_part(out, name + "_sm_cycles", "cycles", "of an SM for an element, " + doc, rate,
           &ChannelRate::sm_cycles);
}

void add_kernel_fields(Fields& out) {
  const auto plain = [&](std::string_view name, std::string_view unit, std::string_view doc,
                         double L::*member) { out.push_back(field<L>(name, unit, doc, member)); };
  plain("floor_us", "us", "part of a memory-bound kernel that its bytes do not change",
        &L::floor_us);
  add_cast(out, "cast_down", "from FP32 to 16 bits", &L::cast_down);
  add_cast(out, "cast_up", "from 16 bits to FP32", &L::cast_up);
  plain("conv_floor_us", "us", "part of a convolution that its type does not change",
        &L::conv_floor_us);
  plain("conv_ratio", "ratio", "rest of a convolution in 16 bits over that in TF32",
        &L::conv_ratio);
  plain("conv_misaligned_ratio", "ratio", "the same where rows lose the alignment of vector loads",
        &L::conv_misaligned_ratio);
  plain("aligned_bytes", "byte", "alignment of rows that fast matrix kernels need",
        &L::aligned_bytes);
  plain("layout_ratio", "ratio", "layout transforms around a convolution, 16 bits over 32",
        &L::layout_ratio);
  plain("depthwise_ratio", "ratio", "depthwise convolutions, 16 bits over 32", &L::depthwise_ratio);
  plain("matmul_floor_us", "us", "start and end of a matrix product", &L::matmul_floor_us);
  plain("matmul_ratio", "ratio", "tensor-core products over the kernel-time model, above the floor",
        &L::matmul_ratio);
  plain("matmul_odd_ratio", "ratio", "the same where rows have an odd number of 16-bit elements",
        &L::matmul_odd_ratio);
  plain("matmul_tf32_ratio", "ratio", "TF32 products, both operands with k innermost",
        &L::matmul_tf32_ratio);
  plain("matmul_tf32_one_turned_ratio", "ratio", "the same, one operand with k outermost",
        &L::matmul_tf32_one_turned_ratio);
  plain("matmul_tf32_both_turned_ratio", "ratio", "the same, both",
        &L::matmul_tf32_both_turned_ratio);
  add_attention(out, "attention_forward", "forward", &L::attention_forward);
  add_attention(out, "attention_backward", "backward with its helpers", &L::attention_backward);
  plain("clear_us", "us", "memset or random state before an attention kernel on tensor cores",
        &L::clear_us);
  plain("attention_ratio", "ratio", "attention without shapes, 16 bits over FP32",
        &L::attention_ratio);
  plain("attention_backward_ratio", "ratio", "the same, backward", &L::attention_backward_ratio);
  plain("transcendental_ratio", "ratio", "least of functions bound by arithmetic, 16 bits over 32",
        &L::transcendental_ratio);
  plain("random_ratio", "ratio", "least of kernels bound by random numbers, 16 bits over 32",
        &L::random_ratio);
  plain("reduction_ratio", "ratio", "least of sums over rows, 16 bits over 32",
        &L::reduction_ratio);
  plain("strided_ratio", "ratio", "least of kernels that compute the place of every element",
        &L::strided_ratio);
  plain("mixed_slowdown", "ratio", "time per byte where operands of both types meet",
        &L::mixed_slowdown);
}

void add_norm_fields(Fields& out) {
  const auto plain = [&](std::string_view name, std::string_view unit, std::string_view doc,
                         double L::*member) { out.push_back(field<L>(name, unit, doc, member)); };
  plain("norm_floor_us", "us", "part of a batch norm that elements do not change",
        &L::norm_floor_us);
  plain("norm_keep_bytes", "byte", "of a channel that a block keeps on chip: it reads them once",
        &L::norm_keep_bytes);
  plain("norm_single_dram_share", "ratio", "share of the peak DRAM rate, channels kept on chip",
        &L::norm_single_dram_share);
  plain("norm_generic_dram_share", "ratio", "share of the peak DRAM rate, channels read twice",
        &L::norm_generic_dram_share);
  add_channel(out, "norm_forward", "library forward, read twice", &L::norm_forward);
  add_channel(out, "norm_backward", "library backward, read twice", &L::norm_backward);
  plain("norm_forward_half_ratio", "ratio", "norm_forward_block_cycles in 16 bits over FP32",
        &L::norm_forward_half_ratio);
  plain("norm_backward_half_ratio", "ratio", "norm_backward_block_cycles in 16 bits over FP32",
        &L::norm_backward_half_ratio);
  add_channel(out, "native_statistics", "statistics of the framework", &L::native_statistics);
  add_channel(out, "native_backward", "backward of the framework", &L::native_backward);
  plain("native_transform_dram_share", "ratio", "share of the peak DRAM rate of the transform",
        &L::native_transform_dram_share);
  plain("native_plane_sm_cycles", "cycles", "of an SM for an image plane of the transform",
        &L::native_plane_sm_cycles);
  plain("native_update_us", "us", "kernel that updates running statistics", &L::native_update_us);
}

void add_step_fields(Fields& out) {
  const auto plain = [&](std::string_view name, std::string_view unit, std::string_view doc,
                         double L::*member) { out.push_back(field<L>(name, unit, doc, member)); };
  plain("unscale_dram_share", "ratio",
        "share of the peak DRAM rate at which gradients are unscaled", &L::unscale_dram_share);
  plain("unscale_launch_elements", "elements", "gradients that one launch unscales",
        &L::unscale_launch_elements);
  plain("cast_host_ratio", "ratio",
        "host time of a cast without its launch call over a launch call, under the profiler",
        &L::cast_host_ratio);
  plain("cast_backward_host_ratio", "ratio", "the same backward, with its autograd node",
        &L::cast_backward_host_ratio);
  plain("scalar_host_ratio", "ratio", "the same of one operation of the gradient scaler",
        &L::scalar_host_ratio);
  plain("helper_host_ratio", "ratio", "the same of a further kernel of one library call",
        &L::helper_host_ratio);
  plain("scalar_us", "us", "kernel on one element", &L::scalar_us);
  plain("expected_error", "ratio", "mean error of the GPU time on pairs nothing was fitted on",
        &L::expected_error);
}

}  // namespace

PrecisionLaw load_precision_law(const std::string& path) {
  Fields fields;
  add_kernel_fields(fields);
  add_norm_fields(fields);
  add_step_fields(fields);
  return load_constants<PrecisionLaw>(path, fields);
}

}  // namespace tandem
