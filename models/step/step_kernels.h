// What the kernels of a step are, beside the names that they are displayed by.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/kernel/kernel.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Parallel to the activities of a trace. Equal kernels of one name share their class.
class StepKernels {
 public:
  std::size_t size() const { return of_activity_.size(); }
  const KernelClass& of(std::uint32_t activity) const {
    return rows_[of_activity_[activity]].kernel;
  }
  /// Number of the class; equal for kernels of equal name and class.
  std::uint32_t id_of(std::uint32_t activity) const { return of_activity_[activity]; }

  void set(std::uint32_t activity, StringId name, const KernelClass& kernel) {
    of_activity_[activity] = intern(name, kernel);
  }
  void push_back(StringId name, const KernelClass& kernel) {
    of_activity_.push_back(intern(name, kernel));
  }
  /// Removes the activities that `keep` does not name.
  void keep(const std::vector<bool>& keep);

 private:
  struct Row {
    KernelClass kernel;
    std::uint32_t next = no_row;  // another class of the same name
  };
  std::uint32_t intern(StringId name, const KernelClass& kernel);

  std::vector<Row> rows_;
  std::vector<std::uint32_t> first_;        // per name: row
  std::vector<std::uint32_t> of_activity_;  // row
};

/// Reads the kernels of a measured trace off their names; `op_of_activity` (rows, or no_row)
/// decides what a name leaves open.
StepKernels classify_kernels(const Trace& trace, std::span<const std::uint32_t> op_of_activity);
StepKernels classify_kernels(const Trace& trace, const Links& links);

}  // namespace tandem
