#include "models/whatif/compile/fusion_law.h"

#include "sim/core/constants.h"

namespace tandem {
namespace {

using L = FusionLaw;
using Fields = std::vector<Field<L>>;

Field<L> rate_field(std::string_view name, std::string_view unit, std::string_view doc,
                    GeneratedRate L::*rate, double GeneratedRate::*member) {
  return {std::string(name), std::string(unit), std::string(doc),
          [=](L& law, const Json& json, const Place& place) {
            read_json(json, place, Range::positive, law.*rate.*member);
          },
          [=](const L& law) { return Json(law.*rate.*member); }};
}

void add_rate(Fields& out, const std::string& kind, const std::string& doc,
              GeneratedRate L::*rate) {
  out.push_back(
      rate_field(kind + "_floor_us", "us", "shortest " + doc, rate, &GeneratedRate::floor_us));
  out.push_back(rate_field(kind + "_dram_share", "ratio",
                           "share of the peak DRAM rate at which operand bytes pass a " + doc, rate,
                           &GeneratedRate::dram_share));
}

void add_kernel_fields(Fields& out) {
  add_rate(out, "pointwise", "generated pointwise kernel", &L::pointwise);
  add_rate(out, "reduction", "generated reduction over leading dimensions", &L::reduction);
  add_rate(out, "row", "generated kernel with one row a block (norm, softmax)", &L::row);
  const auto plain = [&](std::string_view name, std::string_view unit, std::string_view doc,
                         double L::*member) { out.push_back(field<L>(name, unit, doc, member)); };
  plain("finish_us", "us", "kernel that adds the partial sums of a split reduction", &L::finish_us);
  plain("split_elements", "elements", "that one part of a split reduction adds",
        &L::split_elements);
  plain("persistent_columns", "elements", "longest row that a block keeps in registers",
        &L::persistent_columns);
  plain("random_lane_cycles", "cycles", "of one FP32 lane for a random number",
        &L::random_lane_cycles);
  plain("moments_lane_cycles", "cycles",
        "of one FP32 lane to add an element to a running mean and variance",
        &L::moments_lane_cycles);
  plain("pooling_share", "ratio", "time of a generated pooling kernel over the library's",
        &L::pooling_share);
  plain("library_floor_us", "us", "time of a small aligned matrix product", &L::library_floor_us);
  plain("tensor_share", "ratio", "share of the peak tensor rate of an aligned matrix product",
        &L::tensor_share);
  plain("library_dram_share", "ratio", "share of the peak DRAM rate of an aligned matrix product",
        &L::library_dram_share);
  plain("aligned_bytes", "byte", "operand alignment that the fast matrix kernels need",
        &L::aligned_bytes);
  plain("simt_share", "ratio", "share of the peak FP32 rate of batched products in FP32",
        &L::simt_share);
  plain("depthwise_lane_cycles", "cycles",
        "of one FP32 lane for a tap of an output element of a channels-last depthwise convolution, "
        "forward and weight gradient",
        &L::depthwise_lane_cycles);
  plain("depthwise_gradient_lane_cycles", "cycles", "... of an element of the input gradient",
        &L::depthwise_gradient_lane_cycles);
}

void add_host_fields(Fields& out) {
  const auto us = [&](std::string_view name, std::string_view doc, double L::*member) {
    out.push_back(field<L>(name, "us", doc, member));
  };
  us("generated_host_us",
     "host time before the launch call of a generated kernel, under the profiler",
     &L::generated_host_us);
  us("matmul_host_us", "... of a matrix product called by compiled code", &L::matmul_host_us);
  us("convolution_host_us", "... of a convolution", &L::convolution_host_us);
  us("convolution_backward_host_us", "... of its backward", &L::convolution_backward_host_us);
  us("attention_host_us", "... of an attention operation", &L::attention_host_us);
  us("further_host_us", "... of each further kernel of one operation", &L::further_host_us);
  us("region_host_us", "... to enter a compiled graph: guards and prologue", &L::region_host_us);
  out.push_back(
      field<L>("script_host_share", "ratio",
               "host time before a forward operation in TorchScript over that in eager execution",
               &L::script_host_share));
  us("xla_host_us", "... of one kernel of an XLA executable", &L::xla_host_us);
  out.push_back(field<L>("expected_error", "ratio", "mean error of the GPU time on scored pairs",
                         &L::expected_error));
  out.push_back(field<L>("memory_error", "ratio",
                         "standard deviation of the peak memory of compiled over eager runs",
                         &L::memory_error));
}

}  // namespace

FusionLaw load_fusion_law(const std::string& path) {
  Fields fields;
  add_kernel_fields(fields);
  add_host_fields(fields);
  return load_constants<FusionLaw>(path, fields);
}

}  // namespace tandem
