#include "models/whatif/optimizer/law.h"

#include "sim/core/fields/constants.h"

namespace tandem {
namespace {

using L = OptimizerLaw;
using Fields = std::vector<Field<L>>;

std::vector<Field<ListTimes>> list_fields() {
  using T = ListTimes;
  return {field<T>("list_floor_us", "us", "shortest kernel on lists of tensors", &T::floor_us),
          field<T>("list_dram_share", "ratio",
                   "share of the peak DRAM rate of kernels on lists of tensors", &T::dram_share),
          field<T>("list_wait_us", "us", "pass of a block that has its SM to itself", &T::wait_us),
          field<T>("list_access_us", "us", "... more for each list that it reads or writes",
                   &T::access_us)};
}

}  // namespace

OptimizerLaw load_optimizer_law(const std::string& path) {
  Fields fields;
  const auto plain = [&](std::string_view name, std::string_view unit, std::string_view doc,
                         double L::*member) {
    fields.push_back(field<L>(name, unit, doc, member));
  };
  add_fields(fields, &L::lists, list_fields());
  plain("fused_dram_share", "ratio", "the same share of fused updates", &L::fused_dram_share);
  plain("fused_registers", "count", "registers a thread of a fused update", &L::fused_registers);
  plain("scalar_us", "us", "kernel on one element", &L::scalar_us);
  plain("fused_host_ratio", "ratio",
        "host time of a fused update up to its first launch over that of another list operation",
        &L::fused_host_ratio);
  plain("counter_host_ratio", "ratio",
        "host time of counting the steps of one tensor over a launch call, under the profiler",
        &L::counter_host_ratio);
  plain("correction_host_ratio", "ratio", "the same of its two bias corrections",
        &L::correction_host_ratio);
  plain("result_host_ratio", "ratio", "the same of allocating a result of its size",
        &L::result_host_ratio);
  plain("scalar_host_ratio", "ratio", "the same of one operation of the gradient scaler",
        &L::scalar_host_ratio);
  plain("list_host_ratio", "ratio",
        "the same of a list operation, where a step has none to tell it", &L::list_host_ratio);
  plain("expected_error", "ratio", "mean error of the update's GPU time", &L::expected_error);
  return load_constants<OptimizerLaw>(path, fields);
}

}  // namespace tandem
