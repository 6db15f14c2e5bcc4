// Recurrent layers as the library runs them: a product of the input for all steps at once, then one
// of the state and a cell for each step.
#include <algorithm>

#include "workloads/lower/matrix.h"

namespace tandem::lowering {

// Kernels of the rule: [0] sum of split parts, [1] the cell, [2] bias gradients.
void lower_recurrent(const Context& c, Kernels& out) {
  // Tensors: the input (steps, batch, width), then weights as a list of four matrices a layer.
  const TensorShape* input = c.tensor(0);
  if (input == nullptr || input->rank != 3) return;
  const bool backward = c.op.phase == Phase::backward;
  std::vector<TensorShape> weights;
  for (const TensorShape& t : c.operands.tensors.shapes) {
    if (t.rank == 2 && t.dims[0] >= t.dims[1]) weights.push_back(t);
  }
  const std::int64_t steps = std::min(input->dims[0], input->dims[1]);
  const std::int64_t batch = std::max(input->dims[0], input->dims[1]);
  for (std::size_t w = 0; w + 1 < weights.size(); w += 2) {
    const std::int64_t gates = weights[w].dims[0];
    const std::int64_t hidden = weights[w + 1].dims[1];
    GemmShape all{steps * batch, gates, weights[w].dims[1], 1, DataType::fp32};
    all.b_k_major = true;
    GemmShape one{batch, gates, hidden, 1, DataType::fp32};
    one.b_k_major = true;
    if (!backward) add_product(c, all, out);
    for (std::int64_t s = 0; s < steps; ++s) {
      if (backward) std::swap(one.n, one.k);
      add_product(c, one, out);
      if (backward) std::swap(one.n, one.k);
      out.push_back(make(c, c.kernel(1), input->type, {ceil_div(batch * hidden, 256)}));
    }
    if (!backward) continue;
    add_product(c, {gates, weights[w].dims[1], steps * batch, 1, DataType::fp32}, out);
    add_product(c, {gates, hidden, steps * batch, 1, DataType::fp32}, out);
    add_product(c, {steps * batch, weights[w].dims[1], gates, 1, DataType::fp32}, out);
  }
}

}  // namespace tandem::lowering
