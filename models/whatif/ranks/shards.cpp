#include "models/whatif/ranks/shards.h"

#include <cmath>
#include <utility>
#include <vector>

#include "models/kernel/residual.h"
#include "models/step/op_nesting.h"
#include "models/step/op_rows.h"
#include "models/whatif/edit/step_edit.h"

namespace tandem {

namespace {

/// Operations on all tensors of a list, which optimizers and gathers of parameters call, and what
/// else an optimizer runs.
std::vector<bool> ops_on_shards(const Step& step) {
  std::vector<bool> out = ops_of_optimizer(step.trace);
  OpRows rows(step.trace);
  for (std::uint32_t op = 0; op < out.size(); ++op) {
    if (rows.of(op).kind == OpKind::optimizer) out[op] = true;
  }
  return out;
}

std::int64_t resized(std::int64_t elements, double factor, std::int64_t most) {
  const double next = std::ceil(static_cast<double>(elements) * factor);
  return next < static_cast<double>(most) ? static_cast<std::int64_t>(next) : most;
}

/// Parts stand behind each other in their first dimension. `all`: each operand is one; else those
/// are that are as long as the part of a unit.
Operands resized_parts(Operands operands, const ShardedParameters& held, bool all, double factor) {
  for (TensorShape& shape : operands.tensors.shapes) {
    constexpr std::int64_t most = std::int64_t{1} << 50;
    const bool part = shape.rank == 1 && shape.dims[0] < most &&
                      held.is_part(shape.dims[0] * element_bytes(shape.type));
    if (shape.rank > 0 && (all || part)) shape.dims[0] = resized(shape.dims[0], factor, most);
  }
  return operands;
}

LaunchGeometry resized_grid(LaunchGeometry geometry, double factor) {
  constexpr std::int64_t most_blocks = (std::int64_t{1} << 31) - 1;  // CUDA's limit of a grid
  geometry.grid[0] = static_cast<std::uint32_t>(resized(geometry.grid[0], factor, most_blocks));
  return geometry;
}

}  // namespace

Step with_shards(Step step, const ShardedParameters& held, int to, double floor_us,
                 double launch_call_us, std::int64_t& kernels) {
  const double factor = static_cast<double>(held.ranks) / to;
  const std::vector<bool> on_shards = ops_on_shards(step);
  const OpNesting nesting = nest_ops(step.trace, step.links);
  StepEdit edit(std::move(step), launch_call_us);
  const Trace& trace = edit.step().trace;
  const std::vector<DeviceWork>& works = edit.step().plan.works;
  for (std::uint32_t w = 0; w < works.size(); ++w) {
    const std::uint32_t act = works[w].source;
    const std::uint32_t op = nesting.of_activity[act];
    if (op == no_row || !on_shards[op] || !trace.activities.geometry[act].valid()) continue;
    edit.set_duration(w, from_us(carried_us(to_us(works[w].duration), floor_us, factor)));
    const GeometryId geometry = trace.activities.geometry[act];
    edit.set_geometry(w, resized_grid(trace.geometries[geometry.index()], factor));
    ++kernels;
  }
  for (std::uint32_t op = 0; op < on_shards.size(); ++op) {
    if (!on_shards[op] && held.ranks == 1) continue;
    edit.set_operands(op, resized_parts(operands_of(trace, op), held, on_shards[op], factor));
  }
  return std::move(edit).finish();
}

}  // namespace tandem
