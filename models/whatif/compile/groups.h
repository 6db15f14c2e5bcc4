// Which operations of a step a compiler puts into one kernel.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/dataflow.h"
#include "models/whatif/compile/host/graph_cuts.h"
#include "models/whatif/compile/roles.h"
#include "models/whatif/compile/written_attention.h"

namespace tandem {

/// Operations that become one fused group; a group of one operation is the usual case.
struct FusionGroup {
  /// Indices of Dataflow::ops, ascending; also what the group computes again for itself.
  std::vector<std::uint32_t> ops;
  std::vector<std::uint32_t> reads;         // tensors from outside of the group
  std::vector<std::int64_t> read_elements;  // of each of these
  std::vector<std::uint32_t> writes;        // tensors that something outside of the group reads
  FlowPhase phase = FlowPhase::forward;
};

/// Who reads each tensor: operations, ascending.
using TensorReaders = std::vector<std::vector<std::uint32_t>>;

struct FusionPlan {
  std::vector<FuseRole> roles;              // per operation
  std::vector<std::uint32_t> same_as;       // per tensor: the one that holds its values
  TensorReaders readers;                    // of those that hold values; what vanishes reads none
  std::vector<FusionGroup> groups;          // of all roles but outside, library and vanishes
  std::vector<WrittenAttention> attention;  // that a fused kernel takes the place of
  std::vector<bool> host_lists;             // per host operation (host_lists.h); XLA has none
};

/// Operations of different graphs share no kernel. `whole_step`: loss and gradient scaling belong
/// to the compiler, too.
FusionPlan plan_fusion(const Step& step, const Dataflow& flow, const GraphCuts& cuts,
                       bool whole_step);

}  // namespace tandem
