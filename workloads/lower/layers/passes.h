// The kernels of one pass of a layer, by rule and law. Internal to workloads/lower.
#pragma once

#include "workloads/lower/layers/layer.h"

namespace tandem::lowering {

/// Positions of a convolution's rule behind those of its passes: the sum of gradients of a bias.
constexpr std::size_t bias_sum = 10;

bool is_depthwise(const Layer& l);

/// One pass of a layer that is run in such a way, with the transforms that its kernel needs.
void add_pass(const Context& c, const Layer& l, Pass pass, const LayerClass& run, Kernels& out);
/// The framework's own kernel, which is the first of the operation's rule.
void add_depthwise_forward(const Context& c, const Layer& l, Pass pass, const LayerClass& run,
                           Kernels& out);
/// Gradients; small images leave threads of the weight gradient without an element.
void add_depthwise(const Context& c, const Layer& l, Pass pass, const LayerClass& run,
                   Kernels& out);

/// The main kernel of a pass without the helpers that the law's time holds, after [5] of the rule
/// where FP32 pipes need offsets; [3] adds up split parts of weight gradients.
void add_main(const Context& c, const Layer& l, DataType type, Pass pass, Kernels& out);

}  // namespace tandem::lowering
