// Convolutions, forward and backward, transposed ones too: the passes that each operation makes.
#include <algorithm>

#include "workloads/lower/layers/measured_layer.h"
#include "workloads/lower/layers/passes.h"

namespace tandem::lowering {
namespace {

bool is_transposed(const Context& c) { return tandem::is_transposed(context_of(c)); }

void lower_forward(const Context& c, PassLaw law, Kernels& out) {
  const TensorShape* input = c.tensor(0);
  const TensorShape* weight = c.tensor(1);
  if (input == nullptr || weight == nullptr || c.outputs.empty()) return;
  const bool transposed = is_transposed(c);
  const auto layer = layer_of(*input, *weight, c.outputs[0], transposed);
  if (!layer || c.outputs[0].elements() == 0) return;
  add_measured(c, *layer, transposed ? Pass::input_gradient : Pass::forward, law, out);
}

}  // namespace

void lower_convolution(const Context& c, Kernels& out) { lower_forward(c, add_pass, out); }

void lower_depthwise(const Context& c, Kernels& out) {
  lower_forward(c, add_depthwise_forward, out);
}

void lower_convolution_backward(const Context& c, Kernels& out) {
  const TensorShape* gradient = c.tensor(0);
  const TensorShape* input = c.tensor(1);
  const TensorShape* weight = c.tensor(2);
  if (gradient == nullptr || input == nullptr || weight == nullptr) return;
  const bool transposed = is_transposed(c);
  const auto layer = layer_of(*input, *weight, *gradient, transposed);
  if (!layer || gradient->elements() == 0) return;
  const auto makes = [&](const TensorShape& wanted) {
    return std::any_of(c.outputs.begin(), c.outputs.end(),
                       [&](const TensorShape& t) { return same_dims(t, wanted); });
  };
  const PassLaw law = is_depthwise(*layer) ? add_depthwise : add_pass;
  if (makes(*input)) {
    const bool forward = transposed && !is_depthwise(*layer);
    add_measured(c, *layer, forward ? Pass::forward : Pass::input_gradient, law, out);
  }
  const bool biased = std::any_of(c.outputs.begin(), c.outputs.end(), [&](const TensorShape& t) {
    return t.rank == 1 && t.dims[0] == gradient->dims[1];
  });
  if (biased) add_channel_sum(c, *gradient, bias_sum, out);
  if (makes(*weight)) add_measured(c, *layer, Pass::weight_gradient, law, out);
}

}  // namespace tandem::lowering
