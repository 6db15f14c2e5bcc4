// Indices that a trace did not record: of lists of tensors PyTorch's profiler states no shapes.
#pragma once

#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Gives operations that index the first dimensions of a tensor the shapes of their indices, as a
/// view inside shows them: the framework looks at the tensor as large as the result is, with
/// strides of 0 where indices name the place (restride_src of
/// aten/src/ATen/native/TensorAdvancedIndexing.cpp). Where no such view was recorded, nothing
/// changes.
void infer_unrecorded_indices(Trace& trace, const Links& links);

}  // namespace tandem
