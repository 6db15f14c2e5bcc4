// What exporters take apart, put together again: layers that PyTorch runs as one operation and ONNX
// spells as several.
#pragma once

#include "workloads/onnx/graph.h"

namespace tandem::onnx {

/// Replaces MatMul + Add of a bias by Linear, products around a softmax by Attention, and the
/// formulas of GELU, SiLU, layer norm and 1/sqrt by one node each. What nobody reads any more is
/// dropped. Attention whose heads share keys stays products, as PyTorch runs it in FP32.
void fuse(Graph& graph);

}  // namespace tandem::onnx
