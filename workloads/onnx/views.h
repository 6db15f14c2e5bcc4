// Tensors that share memory: what the framework does without a kernel, and the copies that it makes
// where it cannot.
#pragma once

#include "workloads/onnx/step.h"

namespace tandem::onnx {

Expression count_of(const Dims& dims);
Dims contiguous_strides(const Dims& dims);
/// Strides that contiguous memory has, whatever those of sizes of 1 are.
bool is_contiguous(const Dims& dims, const Dims& strides);
Dims strides_of(const NetworkTensor& tensor);

/// New memory for results that keep the order of an operand's dimensions, as the framework's
/// iterator of tensors does.
TensorId made_like(Step& step, TensorId operand, DataType type);

TensorId permuted(Step& step, TensorId tensor, const std::vector<std::size_t>& order);
/// The last two dimensions exchanged.
TensorId turned(Step& step, TensorId tensor);
/// Sizes of 1 and missing leading ones repeated, without memory.
TensorId expanded(Step& step, TensorId tensor, const Dims& dims);
/// Each `every`-th of a dimension, `size` of them.
TensorId narrowed(Step& step, TensorId tensor, std::size_t axis, Expression size,
                  std::int64_t every);
/// Itself, or a copy.
TensorId contiguous(Step& step, TensorId tensor);
/// Other sizes of the same elements; a copy where strides do not allow a view.
TensorId reshaped(Step& step, TensorId tensor, const Dims& dims);
/// Summed over what was repeated to reach its sizes.
TensorId unexpanded(Step& step, TensorId tensor, const Dims& dims);

}  // namespace tandem::onnx
