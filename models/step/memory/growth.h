// Which tensors of a step grow with its batch.
#pragma once

#include <cstdint>
#include <vector>

#include "models/step/batch/roles.h"
#include "models/step/dataflow.h"
#include "models/step/memory/step_facts.h"

namespace tandem {

/// Per tensor of the data flow.
struct TensorGrowth {
  std::vector<bool> grows;
  /// It does not grow, but what is taken to read it does, so that another one of its size is meant:
  /// a gradient of the input beside that of a weight.
  std::vector<bool> mistaken;
};

/// What grows has a multiple of the batch as elements. Of what has as many as a parameter (the
/// tokens of a batch are as many as a layer is wide) the product that makes it tells, or else the
/// operations that read it, by the dimensions of their operands that grow (models/step/batch).
/// `ops`: of the step, at that batch.
TensorGrowth growing_tensors(const Dataflow& flow, const BatchOps& ops,
                             const StepParameters& parameters, std::int64_t batch);

}  // namespace tandem
