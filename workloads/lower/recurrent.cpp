// Recurrent layers as the library runs them: a product of the input for all steps at once, then one
// of the state and a cell for each step, or, of narrow layers, one kernel for all steps.
#include <algorithm>

#include "workloads/lower/matrix.h"

namespace tandem::lowering {

namespace {

struct Sequence {
  std::int64_t steps = 0, batch = 0;
};

/// The state is (layers, batch, width): its batch tells which dimension of the input is the other.
Sequence sequence_of(const Context& c, const TensorShape& input) {
  const OpTensors& tensors = c.operands.tensors;
  for (std::size_t i = 1; i < tensors.shapes.size(); ++i) {
    const TensorShape& t = tensors.shapes[i];
    if (tensors.arguments[i] < 2 || t.rank != 3) continue;
    if (t.dims[1] == input.dims[1]) return {input.dims[0], input.dims[1]};
    if (t.dims[1] == input.dims[0]) return {input.dims[1], input.dims[0]};
  }
  return {input.dims[0], input.dims[1]};
}

/// Matrices of the list of weights: of the input and of the state, by turns.
std::vector<TensorShape> matrices_of(const Context& c) {
  std::vector<TensorShape> out;
  for (std::size_t i = 0; i < c.operands.tensors.shapes.size(); ++i) {
    const TensorShape& t = c.operands.tensors.shapes[i];
    if (c.operands.tensors.arguments[i] == 1 && t.rank == 2) out.push_back(t);
  }
  return out;
}

/// Kernels of the rule.
enum RecurrentPart : std::size_t { add_parts, cell, all_steps };

/// The pace of one kernel for all steps; null for layers that are too wide for it.
const RecurrentPace* persistent_pace(const Context& c, std::int64_t gates, std::int64_t hidden,
                                     DataType type) {
  for (const RecurrentPace& p : c.input.rules.paces.recurrent) {
    const std::int64_t of_cell = p.gated_thrice ? 3 : 4;
    if (of_cell * hidden == gates && p.backward == (c.op.phase == Phase::backward) &&
        p.bytes == element_bytes(type) && hidden <= p.width) {
      return &p;
    }
  }
  return nullptr;
}

LoweredKernel persistent_kernel(const Context& c, const RecurrentPace& pace, const Sequence& s,
                                DataType type) {
  LoweredKernel out = make(c, c.kernel(all_steps), type, {s.batch});
  const double of_sm = static_cast<double>(s.batch) / c.gpu().sm_count;
  const double cycles = std::max(pace.step_cycles, of_sm * pace.sequence_cycles);
  out.duration_us = c.gpu().graph_kernel_period_us +
                    static_cast<double>(s.steps) * cycles / c.gpu().boost_clock_mhz;
  return out;
}

}  // namespace

void lower_recurrent(const Context& c, Kernels& out) {
  const TensorShape* input = c.tensor(0);
  if (input == nullptr || input->rank != 3) return;
  const bool backward = c.op.phase == Phase::backward;
  const std::vector<TensorShape> weights = matrices_of(c);
  const Sequence s = sequence_of(c, *input);
  const DataType type = input->type == DataType::fp32 && c.gpu().tensor_tf32_fma_per_clk > 0
                            ? DataType::tf32
                            : input->type;
  for (std::size_t w = 0; w + 1 < weights.size(); w += 2) {
    const std::int64_t gates = weights[w].dims[0], width = weights[w].dims[1];
    const std::int64_t hidden = weights[w + 1].dims[1];
    const std::int64_t all = s.steps * s.batch;
    GemmShape one{s.batch, gates, hidden, 1, type};
    one.b_k_major = !backward;
    if (backward) std::swap(one.n, one.k);
    if (!backward) add_product(c, {all, gates, width, 1, type}, out);
    const RecurrentPace* pace = persistent_pace(c, gates, hidden, input->type);
    if (pace != nullptr) out.push_back(persistent_kernel(c, *pace, s, input->type));
    for (std::int64_t step = 0; pace == nullptr && step < s.steps; ++step) {
      add_product(c, one, out, false);
      out.push_back(make(c, c.kernel(cell), input->type, {ceil_div(s.batch * hidden, 256)}));
    }
    if (!backward) continue;
    add_product(c, {gates, width, all, 1, type}, out);
    add_product(c, {gates, hidden, all, 1, type}, out);
    add_product(c, {all, width, gates, 1, type}, out);
  }
}

}  // namespace tandem::lowering
