// The products of layers, and how to read their arguments. Internal to models/kernel/work.
#pragma once

#include <cstdint>

#include "models/kernel/launch_rules.h"
#include "models/kernel/work/gemm_shape.h"
#include "models/ops/op_table.h"

namespace tandem {

/// The integer at position i of an argument that may be one number for all dimensions.
std::int64_t option(const OpContext& context, std::size_t argument, std::size_t i,
                    std::int64_t fallback);
bool flag(const OpContext& context, std::size_t argument);

MatrixProblem conv_problem(const KernelClass& kernel, ConvShape shape);
MatrixProblem attention_problem(const KernelClass& kernel, const AttentionShape& shape);
/// A stack of recurrent layers over `steps` time steps. Directions count as layers.
struct RecurrentShape {
  std::int64_t width = 0, hidden = 0, gates = 0, batch = 0, steps = 0, layers = 0;
};
std::optional<RecurrentShape> recurrent_shape(const OpContext& context);

/// The GEMMs of a recurrent layer; batch 0 if the operation is none.
MatrixProblem recurrent_problem(const KernelClass& kernel, const OpContext& context);

}  // namespace tandem
