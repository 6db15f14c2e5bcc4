#include "models/step/step_kernels.h"

#include <unordered_map>

#include "models/kernel/classify/classify.h"
#include "models/step/op_nesting.h"

namespace tandem {

std::uint32_t StepKernels::intern(StringId name, const KernelClass& kernel) {
  const std::size_t at = name.valid() ? name.index() + 1 : 0;
  if (at >= first_.size()) first_.resize(at + 1, no_row);
  for (std::uint32_t row = first_[at]; row != no_row; row = rows_[row].next) {
    if (rows_[row].kernel == kernel) return row;
  }
  rows_.push_back({kernel, first_[at]});
  first_[at] = static_cast<std::uint32_t>(rows_.size() - 1);
  return first_[at];
}

void StepKernels::keep(const std::vector<bool>& keep) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < of_activity_.size(); ++i) {
    if (keep[i]) of_activity_[kept++] = of_activity_[i];
  }
  of_activity_.resize(kept);
}

StepKernels classify_kernels(const Trace& trace, std::span<const std::uint32_t> op_of_activity) {
  StepKernels out;
  std::unordered_map<std::uint64_t, KernelClass> known;  // by name and operation: a search each
  for (std::uint32_t a = 0; a < trace.activities.size(); ++a) {
    const StringId name = trace.activities.name[a];
    const std::uint32_t row = op_of_activity[a];
    const StringId op = row == no_row ? StringId{} : trace.ops.name[row];
    const auto [it, fresh] = known.try_emplace((std::uint64_t{name.value} << 32U) | op.value);
    if (fresh) it->second = classify(text_of(trace, name), text_of(trace, op));
    out.push_back(name, it->second);
  }
  return out;
}

StepKernels classify_kernels(const Trace& trace, const Links& links) {
  return classify_kernels(trace, nest_ops(trace, links).of_activity);
}

}  // namespace tandem
