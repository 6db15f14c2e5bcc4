// Which parameters a step has, and which of them it trains.
#pragma once

#include <cstdint>

#include "models/step/op_nesting.h"
#include "models/step/step.h"
#include "models/whatif/batch/roles.h"
#include "sim/core/operands.h"

namespace tandem {

/// Each once, however many layers share it.
struct Parameters {
  std::int64_t elements = 0;
  double bytes = 0;
  double trained_bytes = 0;  // of those that a gradient reaches
  double table_bytes = 0;    // of embedding tables whose gradients are sparse
  std::int64_t table_elements = 0;
  bool compiled = false;  // as compiled graphs list them

  void add(const TensorShape& t);
};

/// What gradients reach, where the step tells, and of the other parameters those that layers or
/// compiled graphs take: they are frozen. `batch`: items of the step.
Parameters parameters_of(const Step& step, const BatchOps& ops, const OpNesting& nesting,
                         std::int64_t batch);

}  // namespace tandem
