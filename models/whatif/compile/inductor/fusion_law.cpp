#include "models/whatif/compile/inductor/fusion_law.h"

#include "sim/core/fields/constants.h"

namespace tandem {
namespace {

using L = FusionLaw;
using Fields = std::vector<Field<L>>;

void add_kernel_fields(Fields& out) {
  add_fields(out, &L::generated, generated_code_fields());
  out.push_back(field<L>("persistent_columns", "elements",
                         "longest row that a block keeps in registers", &L::persistent_columns));
  add_fields(out, &L::products, aligned_products_fields());
  add_fields(out, &L::item_products, item_products_fields());
  add_fields(out, &L::padding, padding_law_fields());
  add_fields(out, &L::masked, masked_attention_fields());
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
  add_fields(out, &L::graph_input,
             floor_and_share_fields("graph_input", "shortest copy of inputs into a CUDA graph",
                                    "share of the peak DRAM rate of such a copy"));
  out.push_back(field<L>("graph_input_chunk_us", "us",
                         "of such a copy, what a block takes for its 65536 elements",
                         &L::graph_input_chunk_us));
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

}  // namespace

FusionLaw load_fusion_law(const std::string& path) {
  Fields fields;
  add_kernel_fields(fields);
  add_layout_fields(fields);
  add_fields(fields, &L::host, compiled_host_fields());
  fields.push_back(field<L>("expected_error", "ratio", "mean error of the GPU time on scored pairs",
                            &L::expected_error));
  return load_constants<FusionLaw>(path, fields);
}

}  // namespace tandem
