// A step while its types change: what every rewrite asks of its operations and kernels, and does to
// them.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "models/kernel/kinds.h"
#include "models/whatif/edit/added_host.h"
#include "models/whatif/edit/step_edit.h"
#include "models/whatif/precision/kernels.h"
#include "models/whatif/precision/precision.h"
#include "models/whatif/precision/types/types.h"

namespace tandem {

struct TypedStep {
  const RetimeContext& c;
  const Dataflow& flow;
  const TypeChange& change;
  Precision precision;
  const AddedHost& host;
  StepEdit& edit;
  PrecisionReport& report;
  double unmodelled_us = 0;  // of kernels that keep the measured time, or its ratio to another type
  double switched_us = 0;    // of kernels that another algorithm takes the place of

  // `work`: of the plan; `row`: of Trace::ops; `index`: of Dataflow::ops.
  double us(std::uint32_t work) const;
  std::string_view name(std::uint32_t work) const;
  std::string_view op_name(std::uint32_t row) const;
  const OpTensors& tensors(std::uint32_t row) const;
  /// What the shapes of its work are read from.
  OpContext context(std::uint32_t row) const;
  /// Of the operation that launched it, with its geometry.
  OpContext work_context(std::uint32_t work) const;
  /// Of its launch; zeros where the trace tells none.
  const LaunchGeometry& geometry(std::uint32_t work) const;
  const KernelClass& kernel_class(std::uint32_t work) const;
  /// The longest one.
  std::uint32_t main_work(std::span<const std::uint32_t> works) const;
  /// Type in which operation `index` reads `tensor`, casts included.
  DataType read_type(std::uint32_t index, std::uint32_t tensor) const;
  /// The same kernel for elements of another type.
  PredictedKernel retyped(std::uint32_t work, DataType from, DataType to) const;
  /// A further kernel of what is called with `operands`, of which places in memory are forgotten.
  NewKernel new_kernel(std::string_view op, const Operands& operands, PredictedKernel kernel,
                       double us) const;
  /// A kernel of `op` with the geometry of work `like`.
  NewKernel new_kernel(const FlowOp& op, std::uint32_t like, PredictedKernel kernel,
                       double us) const;

  void set_time(std::uint32_t work, double us);
  void drop_copy(std::uint32_t work);
  void drop_others(std::span<const std::uint32_t> works, std::uint32_t main, bool products_only);
  void retype_operands(std::uint32_t index, DataType from, DataType to);
  /// Bytes decide the time of the operation's kernels.
  void memory(std::uint32_t index, double floor_us);
};

}  // namespace tandem
