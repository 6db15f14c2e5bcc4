// Layers, and blocks around them, that the framework runs in one call of inference without
// autocast.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "models/step/dataflow.h"

namespace tandem {

/// The call (row of Trace::ops) in which the framework ran the layer of attention that the
/// operation is part of (OpFlag fast_path), or no_row.
std::uint32_t layer_in_one_call(const Trace& trace, const Dataflow& flow, const FlowOp& op);
bool lies_in_fast_path(const Trace& trace, const Dataflow& flow, const FlowOp& op);

/// ... the block around such a layer (OpFlag whole_block).
std::uint32_t block_in_one_call(const Trace& trace, const Dataflow& flow, const FlowOp& op);

/// Blocks that still are one call: one that copies anything is under autocast since (--precision),
/// which has pieces only. Refers to trace and flow.
class WholeBlocks {
 public:
  WholeBlocks(const Trace& trace, const Dataflow& flow);
  bool holds(const FlowOp& op) const;
  /// Attention of a layer that the framework runs in one call, outside of such blocks: what a
  /// compiler is given in pieces.
  bool leaves_in_pieces(const FlowOp& op) const;

 private:
  const Trace& trace_;
  const Dataflow& flow_;
  std::unordered_set<std::uint32_t> in_pieces_;  // rows of Trace::ops
};

}  // namespace tandem
