#include "models/whatif/precision/law.h"

#include "sim/core/fields/constants.h"

namespace tandem {
namespace {

using L = PrecisionLaw;
using Fields = std::vector<Field<L>>;

void add_cast(Fields& out, const std::string& name, const std::string& doc,
              FloorAndShare L::*rate) {
  add_fields(out, rate,
             floor_and_share_fields(name, "shortest copy " + doc,
                                    "share of the peak DRAM rate of a copy " + doc));
}

void add_turned_fields(Fields& out) {
  out.push_back(field<L>("turned_floor_us", "us",
                         "shortest kernel that finds the place of each element by itself",
                         &L::turned_floor_us));
  out.push_back(field<L>("turned_lane_cycles", "cycles",
                         "of an FP32 lane for an element of it that is copied or gets a bias",
                         &L::turned_lane_cycles));
  out.push_back(field<L>("turned_sum_lane_cycles", "cycles",
                         "... that is added to one of another type and order",
                         &L::turned_sum_lane_cycles));
  out.push_back(field<L>("applied_lane_cycles", "cycles",
                         "... to which a 16-bit product applies a function before it is stored",
                         &L::applied_lane_cycles));
}

void add_kernel_fields(Fields& out) {
  out.push_back(field<L>("floor_us", "us",
                         "part of a memory-bound kernel that its bytes do not change",
                         &L::floor_us));
  add_cast(out, "cast_down", "from FP32 to 16 bits", &L::cast_down);
  add_cast(out, "cast_up", "from 16 bits to FP32", &L::cast_up);
  out.push_back(field<L>("conv_floor_us", "us",
                         "part of a convolution that its type does not change", &L::conv_floor_us));
  add_fields(out, &L::products, library_products_fields());
  add_fields(out, &L::attention_helper,
             floor_and_share_fields("attention_helper", "shortest helper of fused attention",
                                    "share of the peak DRAM rate of such"));
  add_fields(out, &L::attention_delta,
             floor_and_share_fields("attention_delta",
                                    "shortest row sums before FP32 attention goes backward",
                                    "share of the peak DRAM rate of all kernels of these sums"));
  out.push_back(field<L>("shared_keys_major", "generation",
                         "first that has fused 16-bit attention of heads that share keys",
                         &L::shared_keys_major));
  out.push_back(field<L>("shared_keys_width", "columns", "of the widest head that such takes",
                         &L::shared_keys_width));
  out.push_back(field<L>("clear_us", "us",
                         "memset or random state before an attention kernel on tensor cores",
                         &L::clear_us));
  add_turned_fields(out);
  add_fields(out, &L::ratios, type_ratios_fields());
  add_fields(out, &L::norm, norm_times_fields());
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
  plain("turned_host_ratio", "ratio",
        "the same of a kernel that a layer of attention has more in pieces than in one call",
        &L::turned_host_ratio);
  plain("scalar_us", "us", "kernel on one element", &L::scalar_us);
  plain("expected_error", "ratio", "mean error of the GPU time on pairs nothing was fitted on",
        &L::expected_error);
}

}  // namespace

PrecisionLaw load_precision_law(const std::string& path) {
  Fields fields;
  add_kernel_fields(fields);
  add_step_fields(fields);
  return load_constants<PrecisionLaw>(path, fields);
}

}  // namespace tandem
