// What a program's frames keep alive: in a pass without gradients what a module was given, until
// its call returns, and in any pass the members of a list that is joined.
#pragma once

#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "models/step/dataflow.h"

namespace tandem {

/// A tensor that a caller holds at least until operation `until` of the flow.
struct HeldTensor {
  std::uint32_t tensor = 0;
  std::uint32_t until = 0;
};

struct FrameLives {
  std::vector<HeldTensor> held;
  /// What skips seem to read. They read what their block was given, which is held; others of the
  /// block may be as large, so that the operand does not tell.
  std::set<std::pair<std::uint32_t, std::uint32_t>> skips = {};  // operation, tensor
};

/// A generated step may say it (stated_lives). Of a trace, modules are read off the operations, for
/// it seldom names them. A block ends where its
/// result is added to what it was given (a skip); blocks of one width in a row are a stage. A block
/// holds what it was given, and so does a stage; a branch that normalizes first holds what its
/// first product reads. Blocks that change the width have no skip: they are where the products of
/// a block are found once more before it. A list that is joined for one convolution lives until
/// that and its norm have run. Of a step with gradients, whose tensors live on for them, only lists
/// count: nothing else needs their members.
FrameLives held_by_frames(const Step& step, const Dataflow& flow);

}  // namespace tandem
