#include "models/kernel/time/laws/generated_code.h"

#include <algorithm>

#include "sim/core/field.h"

namespace tandem {
namespace {

std::vector<Field<FloorAndShare>> rate_fields(const std::string& name, const std::string& doc) {
  return floor_and_share_fields(name, "shortest " + doc,
                                "share of the peak DRAM rate at which operand bytes pass a " + doc);
}

}  // namespace

const FloorAndShare& GeneratedCode::rate(GeneratedKind kind) const {
  switch (kind) {
    case GeneratedKind::pointwise: break;
    case GeneratedKind::reduction: return reduction;
    case GeneratedKind::row: return row;
  }
  return pointwise;
}

std::vector<Field<GeneratedCode>> generated_code_fields() {
  using G = GeneratedCode;
  std::vector<Field<G>> fields;
  add_fields(fields, &G::pointwise, rate_fields("pointwise", "generated pointwise kernel"));
  add_fields(fields, &G::reduction,
             rate_fields("reduction", "generated reduction over leading dimensions"));
  add_fields(fields, &G::row,
             rate_fields("row", "generated kernel with one row a block (norm, softmax)"));
  const auto add = [&](std::string_view name, std::string_view unit, std::string_view doc,
                       double G::*member) { fields.push_back(field(name, unit, doc, member)); };
  add("finish_us", "us", "kernel that adds the partial sums of a split reduction", &G::finish_us);
  add("random_lane_cycles", "cycles", "of one FP32 lane for a random number",
      &G::random_lane_cycles);
  add("moments_lane_cycles", "cycles",
      "of one FP32 lane to add an element to a running mean and variance", &G::moments_lane_cycles);
  add("pooling_share", "ratio", "time of a generated pooling kernel over the library's",
      &G::pooling_share);
  return fields;
}

double generated_us(const GpuArch& gpu, const GeneratedCode& code, GeneratedKind kind,
                    double bytes) {
  return streamed_us(gpu, code.rate(kind), bytes);
}

double generated_moments_us(const GpuArch& gpu, const GeneratedCode& code, double bytes,
                            double elements) {
  return std::max(streamed_us(gpu, code.reduction, bytes),
                  code.reduction.floor_us + lane_us(gpu, code.moments_lane_cycles * elements));
}

double random_numbers_us(const GpuArch& gpu, const GeneratedCode& code, double numbers) {
  return lane_us(gpu, numbers * code.random_lane_cycles);
}

double generated_pooling_us(const GeneratedCode& code, double library_us) {
  return code.pooling_share * library_us;
}

}  // namespace tandem
