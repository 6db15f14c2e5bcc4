#include "models/whatif/batch/law.h"

#include <string_view>

#include "sim/core/fields/constants.h"

namespace tandem {
namespace {

using L = BatchLaw;
using Fields = std::vector<Field<BatchLaw>>;

constexpr std::string_view memory_names[memory_classes] = {
    "vectorized", "pointwise", "layout", "pooling",  "layer_norm",
    "reduction",  "embedding", "sort",   "transfer", "other"};

void add_shape_fields(Fields& out) {
  const auto us = [&](std::string_view name, std::string_view doc, double L::*member) {
    out.push_back(field<L>(name, "us", doc, member, Range::non_negative));
  };
  us("trace_floor_us", "shortest kernels (5th percentile) of the traces the floors come from",
     &L::trace_floor_us);
  out.push_back(field<L>("floor_share_memory", "ratio",
                         "most of a memory-bound kernel's time that counts as floor",
                         &L::floor_share_memory));
  out.push_back(field<L>("floor_share_matrix", "ratio",
                         "most of another kernel's time that counts as floor",
                         &L::floor_share_matrix));
  us("damping_us", "body at which half of the residual is believed", &L::damping_us);
}

void add_memory_fields(Fields& out) {
  for (std::size_t i = 0; i < memory_classes; ++i) {
    Field<L> f{"floor_" + std::string(memory_names[i]) + "_us", "us",
               "launch floor of " + std::string(memory_names[i]) + " kernels",
               [i](L& law, const Json& json, const Place& place) {
                 read_json(json, place, Range::non_negative, law.floor_us[i]);
               },
               [i](const L& law) { return Json(law.floor_us[i]); }};
    out.push_back(f);
  }
  add_fields(out, &L::memory, cached_memory_fields());
}

std::vector<Field<BatchErrors>> error_fields() {
  using E = BatchErrors;
  const auto error = [](std::string_view name, std::string_view unit, std::string_view doc,
                        double E::*member) { return field<E>(name, unit, doc, member); };
  return {
      error("error_per_octave", "ratio/octave", "expected error for each doubling of the batch",
            &E::per_octave),
      error("error_unknown_per_octave", "ratio/octave",
            "the same of kernels without a model and of those near their floor",
            &E::unknown_per_octave),
      error("error_unknown_octaves", "octave", "doublings up to which that grows",
            &E::unknown_octaves),
      error("error_recurrent_per_octave", "ratio/octave", "the same of recurrent layers",
            &E::recurrent_per_octave),
      error("error_single_item", "ratio", "expected error from or to a batch of one",
            &E::single_item),
      error("error_two_traces", "ratio", "expected error between two traces that agree",
            &E::two_traces),
      error("error_of_disagreement", "ratio", "share of what law and line differ by that is error",
            &E::of_disagreement),
      error("error_nodes", "ratio", "expected error of steps on the CPU between two traced batches",
            &E::nodes),
      error("error_nodes_outside", "ratio", "the same beyond them", &E::nodes_outside),
  };
}

Fields law_fields() {
  Fields out;
  add_shape_fields(out);
  add_memory_fields(out);
  add_fields(out, &L::products, product_growth_fields());
  add_fields(out, &L::norm, norm_growth_fields());
  add_fields(out, &L::attention, attention_growth_fields());
  add_fields(out, &L::sums, sum_pace_fields());
  add_fields(out, &L::row_sums, row_sums_fields());
  add_fields(out, &L::embedding, embedding_gradient_fields());
  add_fields(out, &L::device_memory, device_memory_fields());
  add_fields(out, &L::errors, error_fields());
  return out;
}

}  // namespace

BatchLaw load_batch_law(const std::string& path) {
  return load_constants<BatchLaw>(path, law_fields());
}

}  // namespace tandem
