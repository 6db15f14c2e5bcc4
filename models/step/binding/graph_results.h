// Which operands of generated code are results: its calls list operands without saying so.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "models/kernel/classify/fused_name.h"
#include "models/step/binding/graph_tensors.h"

namespace tandem {

/// What a generated kernel makes of its operands.
struct ListedResults {
  std::size_t first_new = 0;  // operands from here on are new
  bool first_is_new = false;
  bool overwrites_first = false;
};

/// Finds the results of generated kernels. A kernel lists what it overwrites first, then what it
/// reads, then new results: those are the operands at the end that nothing has made, and always
/// one, unless the last one waits to be read. What nothing could have made is a result.
class GraphResults {
 public:
  using Shapes = std::vector<TensorShape>;

  GraphResults(const Step& step, GraphTensors& tensors) : step_(step), tensors_(tensors) {}

  /// Of operation `op`, whose kernel's name says `name`; operations come in order.
  ListedResults of(const FlowOp& op, const FusedName& name, const Shapes& operands);

 private:
  /// Generated code that has run.
  struct KnownKernel {
    Shapes operands;
    FlowPhase phase = FlowPhase::forward;
    ListedResults results;
  };

  bool tells_results(const FlowOp& op) const;
  std::size_t new_at_end(const FlowOp& op, const FusedName& name, const Shapes& operands);
  std::size_t first_mask(const FlowOp& op, const FusedName& name, const Shapes& operands) const;
  bool may_result(const FlowOp& op, const FusedName& name, std::span<const TensorShape> before,
                  const TensorShape& shape);
  std::size_t first_unmade(const FlowOp& op, const FusedName& name, const Shapes& operands);
  bool ends_with_operand(const FlowOp& op, const Shapes& operands);
  ListedResults find(const FlowOp& op, const FusedName& name, const Shapes& operands,
                     std::size_t first_unmade);

  const Step& step_;
  GraphTensors& tensors_;
  std::map<std::size_t, std::vector<KnownKernel>> kernels_;  // by name
};

}  // namespace tandem
