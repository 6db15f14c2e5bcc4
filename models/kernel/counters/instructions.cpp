// Instructions a kernel executes, and its tensor-core work: sums over its features.
#include <algorithm>
#include <cmath>

#include "models/kernel/counters/cost_terms.h"
#include "models/kernel/kinds.h"
#include "models/kernel/work/work.h"

namespace tandem {
namespace {

bool is_elementwise(const KernelTraits& t) {
  return t.vector_width > 0 && t.engine == Engine::none && t.functor > 0;
}

// An elementwise warp: fixed work, work per element of a thread for every operand (and, where
// indices are computed, every dimension), and the functor's arithmetic. A last, partly filled block
// checks bounds element by element.
double elementwise_instructions(const CostInput& in) {
  const KernelTraits& t = in.launch.traits;
  const CostRow& r = *in.row;
  const CostRow* functor = in.constants.functor(t, t.data);
  // A cast template does its work itself; other arithmetic that was not measured is taken as light.
  const bool casts = row_of(t).loop == Loop::casting;
  const double arithmetic = functor != nullptr ? functor->per_element
                            : casts            ? 0.0
                                               : in.constants.general().unknown_functor;
  KernelClass kernel;
  kernel.traits = t;
  const double per_thread = elements_per_thread(kernel);
  const double operands = std::max<int>({t.operands, in.launch.work.operands, 1});
  const double index = in.launch.work.index_dims * (r.per_dim + r.per_dim_operand * operands);
  const double warp = r.per_warp + per_thread * (r.per_operand * operands + index + arithmetic);
  const double block = warps_per_block(in.launch.geometry);
  const double blocks = std::floor(in.features.elements / (per_thread * block));
  const double rest = in.features.warps - blocks * block;
  return warp * std::min(blocks * block, in.features.warps) +
         std::max(rest, 0.0) * (warp + r.per_tile);
}

double dense_tensor_rate(const GpuArch& gpu, DataType math) {
  return tensor_fma_per_clk(gpu, math_type(math, MathType::fp16)) / gpu.smsp_per_sm;
}

}  // namespace

bool is_matrix(const CostInput& in) { return in.features.grid.tiles > 0; }

bool geometry_tells(const CostInput& in) {
  const KernelTraits& t = in.launch.traits;
  return is_elementwise(t) || row_of(t).loop == Loop::chunks;
}

double instructions(const CostInput& in) {
  if (in.row == nullptr || in.row->origin == assumed_origin) return -1;
  const KernelFeatures& f = in.features;
  const CostRow& r = *in.row;
  if (is_elementwise(in.launch.traits)) return elementwise_instructions(in);
  const KernelTraits& t = in.launch.traits;
  const CostRow* functor = t.functor > 0 ? in.constants.functor(t, t.data) : nullptr;
  const double cost = functor != nullptr ? functor->per_element
                      : t.functor > 0    ? in.constants.general().unknown_functor
                                         : 0;
  const double arithmetic = cost * f.elements + in.constants.fused(t).instructions * f.walked;
  return arithmetic + r.per_warp * f.warps + r.per_element * f.walked + r.per_row * f.rows +
         r.per_indexed * f.indexed + r.per_busy * f.busy + r.per_tap * f.taps +
         r.per_multiply * f.multiplies + r.per_fragment * f.fragments + r.per_load * f.loads +
         r.per_converted * f.converted + r.per_passed * f.passed + r.per_transposed * f.transposed +
         r.per_dropped * f.dropped + r.per_masked * f.masked + r.per_compared * f.compared +
         r.per_step * f.steps + r.per_tile * f.tiles;
}

double tensor_instruction_cycles(const CostInput& in) {
  const KernelTraits& t = in.launch.traits;
  const double rate = dense_tensor_rate(in.gpu, in.launch.math);
  if ((t.engine != Engine::hmma && t.engine != Engine::gmma) || rate <= 0) return 0;
  const double columns = in.features.mma_n > 0 ? in.features.mma_n : usual_mma_columns;
  const double cycles = macs_per_instruction(t, columns) / rate;
  if (t.engine != Engine::hmma || in.gpu.tensor_family != TensorFamily::gmma) return cycles;
  const GeneralCosts& general = in.constants.general();
  const bool is_short = t.mma_k == 8 && in.launch.math != DataType::tf32;
  return cycles * (is_short ? general.hmma_short_on_gmma : general.hmma_on_gmma);
}

void add_tensor_work(const CostInput& in, KernelCost& cost) {
  // The pipe also serves some integer instructions, two cycles each. That was counted on GPUs with
  // warp-group instructions only; elsewhere a kernel without products leaves it idle.
  const bool counted = in.row != nullptr && in.gpu.tensor_family == TensorFamily::gmma;
  const double fused = in.constants.fused(in.launch.traits).tensor * in.features.walked;
  const double other = counted ? in.row->tensor_per_warp * in.features.warps + fused : 0;
  const double cycles = tensor_instruction_cycles(in);
  const double products = cycles > 0 ? in.features.multiplies : 0;
  cost.tc_issue_cycles = other + products;
  cost.tc_active_cycles = 2 * other + products * cycles;
}

}  // namespace tandem
