#include "models/kernel/work/flops.h"

#include <algorithm>

#include "models/kernel/kinds.h"
#include "models/kernel/work/layer_products.h"
#include "models/ops/op_table.h"
#include "sim/core/tensors/data_type.h"

namespace tandem {

namespace {

constexpr double per_multiply_add = 2;

double product_of(std::initializer_list<std::int64_t> factors) {
  double out = 1;
  for (const std::int64_t factor : factors) out *= static_cast<double>(factor);
  return out;
}

double attention_flops(const KernelClass& kernel, const AttentionShape& a) {
  const bool backward = row_of(kernel.traits).direction == Direction::backward;
  const double products = attention_products(backward);
  double scores = product_of({a.queries, a.keys});
  // The diagonal and what is below; keys beyond the last query are never seen.
  if (a.causal) {
    const auto square = static_cast<double>(std::min(a.queries, a.keys));
    const auto below = static_cast<double>(std::max<std::int64_t>(a.queries - a.keys, 0));
    scores = square * (square + 1) / 2 + below * static_cast<double>(a.keys);
  }
  return per_multiply_add * products * product_of({a.heads, a.width}) * scores;
}

/// Of the whole stack: in each layer inputs and states times the weights of all gates; backward
/// both gradients of that.
double recurrent_flops(const RecurrentShape& r, bool backward) {
  const double inputs = static_cast<double>(r.width) +
                        static_cast<double>(r.layers - 1) * static_cast<double>(r.hidden);
  const double states = product_of({r.layers, r.hidden});
  return (backward ? 2 : 1) * per_multiply_add * product_of({r.steps, r.batch, r.gates}) *
         (inputs + states);
}

}  // namespace

bool computes_product(const KernelClass& kernel) {
  const KindRow& row = row_of(kernel.traits);
  const bool multiplies = row.work == WorkRule::matrix || row.time == TimeLaw::matrix;
  return multiplies && row.role == Role::main;
}

int convolution_gradients(const OpContext& context) {
  if (op_row(context.op).kind != OpKind::convolution_backward || context.arguments.empty())
    return 0;
  // The last argument says which gradients are asked for: of the image, the weights, the bias.
  const auto asked = integers_of(context.arguments.back());
  if (asked.size() < 2) return 0;
  return static_cast<int>(asked[0] != 0) + static_cast<int>(asked[1] != 0);
}

double formula_flops(const KernelClass& kernel, const OpContext& context) {
  if (!computes_product(kernel)) return 0;
  if (kernel.family == KernelFamily::attention) {
    const auto shape = attention_shape(context);
    return shape ? attention_flops(kernel, *shape) : 0;
  }
  if (const auto c = conv_shape(context)) {
    return per_multiply_add * product_of({c->images, c->out_pixels, c->out_channels, c->taps,
                                          c->in_channels / c->groups});
  }
  const OpRow& row = op_row(context.op);
  if (row.kind == OpKind::recurrent) {
    const auto r = recurrent_shape(context);
    return r ? recurrent_flops(*r, row.backward) : 0;
  }
  const MatrixProblem p = matrix_problem(kernel, context);
  return per_multiply_add * product_of({p.batch, p.m, p.n, p.k});
}

double product_peak_tflops(const KernelLaunch& launch, const GpuArch& gpu) {
  const double clock = gpu.boost_clock_mhz;
  const DataType math = launch.math == DataType::unknown ? launch.traits.data : launch.math;
  const bool pipes = launch.traits.engine == Engine::simt ||
                     (launch.traits.engine == Engine::none && math == DataType::fp32);
  const double tensor = pipes ? 0 : tensor_peak_tflops(gpu, math_type(math), clock);
  return tensor > 0 ? tensor : fp32_peak_tflops(gpu, clock);
}

std::optional<Shortfall> product_limit(const KernelLaunch& launch) {
  if (launch.family == KernelFamily::layout) return Shortfall::layout;
  const KernelClass kernel{launch.family, launch.math, launch.traits};
  if (!computes_product(kernel)) return {};
  if (launch.traits.engine == Engine::simt) {
    return is_half(launch.traits.data) ? Shortfall::alignment : Shortfall::type;
  }
  constexpr int full_load_bytes = 16;
  const bool tensor = launch.traits.engine != Engine::none;
  if (!tensor || launch.traits.load_bytes >= full_load_bytes) return {};
  return Shortfall::alignment;
}

}  // namespace tandem
