#include "models/kernel/time/laws/masked_attention.h"

#include "sim/core/fields/field.h"

namespace tandem {
namespace {

using M = MaskedAttention;

void add_pass(std::vector<Field<M>>& out, const std::string& pass, MaskedPass M::*of) {
  using P = MaskedPass;
  const std::string name = "masked_" + pass;
  add_fields(
      out, of,
      {field(name + "_ratio", "ratio",
             "fused attention with a mask in memory over without, heads of up to 64, " + pass,
             &P::narrow),
       field(name + "_dropping_ratio", "ratio", "... with dropout", &P::narrow_dropping),
       field(name + "_wide_ratio", "ratio", "... of wider heads", &P::wide),
       field(name + "_wide_dropping_ratio", "ratio", "... of wider heads with dropout",
             &P::wide_dropping)});
}

}  // namespace

std::vector<Field<MaskedAttention>> masked_attention_fields() {
  std::vector<Field<M>> out;
  add_pass(out, "forward", &M::forward);
  add_pass(out, "backward", &M::backward);
  out.push_back(field("masked_fp32_forward_ratio", "ratio",
                      "the same of memory-efficient FP32 kernels, forward", &M::fp32_forward));
  out.push_back(field("masked_fp32_backward_ratio", "ratio", "... backward", &M::fp32_backward));
  return out;
}

double MaskedAttention::ratio(const AttentionShape& shape, DataType type, bool back) const {
  constexpr std::int64_t narrow_width = 64;
  if (!is_half(type)) return back ? fp32_backward : fp32_forward;
  const MaskedPass& pass = back ? backward : forward;
  if (shape.width > narrow_width) return shape.drops_out ? pass.wide_dropping : pass.wide;
  return shape.drops_out ? pass.narrow_dropping : pass.narrow;
}

}  // namespace tandem
