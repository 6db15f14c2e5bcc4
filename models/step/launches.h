// KernelLaunch descriptions of the device activities of a trace.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/step.h"
#include "sim/core/error.h"
#include "sim/core/tensors/operands.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// The launches of a trace. Nodes of a graph have no shapes: the operation that launches a graph
/// states its own arguments, not theirs. Equal launches (same kernel, operation, shapes and
/// geometry) share one description; views point into the trace, which must outlive this object.
class TraceLaunches {
 public:
  explicit TraceLaunches(const Step& step);
  /// Of a whole trace, whose kernels are read off their names. `op_of_call`: per runtime call the
  /// row of its innermost operation, or no_row.
  TraceLaunches(const Trace& trace, const Links& links, std::span<const std::uint32_t> op_of_call);

  /// The launch of an activity, with its measured duration. Copies and memsets are of family
  /// `transfer`.
  KernelLaunch launch(std::uint32_t activity) const;
  /// Number of the activity's description; equal launches have equal numbers.
  std::uint32_t shape_of(std::uint32_t activity) const { return shape_of_[activity]; }
  std::size_t shapes() const { return launches_.size(); }
  /// Kernels whose name no rule knows.
  const LossList& losses() const { return losses_; }

 private:
  struct Key;
  struct OpOfActivity {
    std::vector<std::uint32_t> rows;
  };
  static OpOfActivity op_of_activity(const Links& links, std::span<const std::uint32_t> op_of_call);
  TraceLaunches(const Trace& trace, const Links& links, const OpOfActivity& ops);
  TraceLaunches(const Trace& trace, const Links& links, const OpOfActivity& ops,
                const StepKernels& kernels);
  std::uint32_t add(const Key& key, const KernelClass& kernel);
  void set_shares(std::span<const std::uint32_t> op_of_activity);

  const Trace& trace_;
  std::vector<KernelLaunch> launches_;  // without durations
  std::vector<int> gradients_;          // per description: convolution_gradients()
  std::vector<std::uint32_t> shape_of_;
  std::vector<float> share_of_;  // per activity: of the FLOPs of its operation, which several
                                 // kernels may compute together
  LossList losses_;
};

}  // namespace tandem
