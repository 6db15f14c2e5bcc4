// Applies a change of types to the kernels of a step.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "models/kernel/kinds.h"
#include "models/whatif/edit/added_host.h"
#include "models/whatif/edit/step_edit.h"
#include "models/whatif/precision/kernels.h"
#include "models/whatif/precision/precision.h"
#include "models/whatif/precision/types.h"

namespace tandem {

/// Batch norm of the framework itself, and training batch norm of the library.
bool is_native_norm(const KernelTraits& kernel);
bool is_library_norm(const KernelTraits& kernel);

class PrecisionRewrite {
 public:
  /// Keeps references to all arguments.
  PrecisionRewrite(const RetimeContext& context, const Dataflow& flow, const TypeChange& change,
                   Precision to, const AddedHost& host, StepEdit& edit, PrecisionReport& report);

  void run();
  double unmodelled_us() const { return unmodelled_us_; }
  double switched_us() const { return switched_us_; }

 private:
  /// Type in which operation `index` reads `tensor`, casts included.
  DataType read_type(std::uint32_t index, std::uint32_t tensor) const;
  void remove(const FlowOp& op);
  void drop_copy(std::uint32_t work);
  void drop_others(std::span<const std::uint32_t> works, std::uint32_t main, bool products_only);
  void retype(std::uint32_t index);
  void retype_operands(std::uint32_t index, DataType from, DataType to);
  void matmul(const FlowOp& op, DataType from, DataType to);
  void convolution(const FlowOp& op, DataType from, DataType to);
  void recurrent(const FlowOp& op, DataType from, DataType to);
  void memory(std::uint32_t index, double floor_us);
  void batch_norm(std::uint32_t index, DataType from, DataType to);
  void to_native_norm(std::uint32_t work, const FlowOp& op, const NormShape& shape, DataType to);
  void insert_statistics(const FlowOp& op, std::uint32_t work, PredictedKernel kernel, double us,
                         DataType type);
  void from_native_norm(const FlowOp& op, const NormShape& shape, DataType to);
  void attention_groups();
  void attention(const std::vector<std::uint32_t>& works, std::uint32_t index);
  /// Whether the attention that `row` is a part of drops out.
  bool drops_out(std::uint32_t row) const;
  void drop_mending(std::uint32_t attention);
  void insert(const PlannedCast& cast);

  void set_time(std::uint32_t work, double us);
  double us(std::uint32_t work) const;
  std::string_view name(std::uint32_t work) const;
  std::string_view op_name(std::uint32_t row) const;
  const OpTensors& tensors(std::uint32_t row) const;
  /// What the shapes of its work are read from.
  OpContext context(std::uint32_t row) const;
  const KernelClass& kernel_class(std::uint32_t work) const;
  /// The same kernel for elements of another type.
  PredictedKernel retyped(std::uint32_t work, DataType from, DataType to) const;
  std::uint32_t main_work(std::span<const std::uint32_t> works) const;
  NewKernel new_kernel(const FlowOp& op, std::uint32_t like, PredictedKernel kernel,
                       double us) const;
  bool needs_matmul(const FlowOp& op, DataType from, DataType to) const;

  const RetimeContext& c_;
  const Dataflow& flow_;
  const TypeChange& change_;
  Precision to_;
  const AddedHost& host_;
  StepEdit& edit_;
  PrecisionReport& report_;
  std::vector<bool> in_attention_;  // per operation of flow_
  double unmodelled_us_ = 0, switched_us_ = 0;
};

}  // namespace tandem
