// What a training step adds to the graph of a file: a loss and an optimizer, as PyTorch runs them.
#pragma once

#include "workloads/onnx/step.h"

namespace tandem::onnx {

/// Cross entropy over the last dimension of the scores, over channels where they are an image, or
/// of one column against a yes or no.
void add_loss(Step& step, const Value& scores);

/// The list operations (`foreach`) over all parameters that have a gradient. Of gradients that are
/// rows only these are added to the parameter, whatever the optimizer.
void add_optimizer(Step& step, std::string_view optimizer, const std::vector<Value>& parameters);

/// For errors: the optimizers that add_optimizer knows.
std::string optimizer_names();
bool is_optimizer(std::string_view name);

}  // namespace tandem::onnx
