// The type of layer that a piece of device work is reported under.
#pragma once

#include <string_view>

#include "models/ops/op_table.h"

namespace tandem {

/// "convolution"; Layer::around is "pointwise", what is left where nothing around names a layer.
std::string_view to_string(Layer layer);
inline constexpr std::string_view unknown_layer = "other";

struct NamedLayer {
  Layer layer = Layer::around;
  bool known = false;  // the operation table has a row for the name
};

/// Of an operation, an autograd node (that of its forward operation) or generated code (that of the
/// operations its name spells).
NamedLayer layer_of_op(std::string_view name);

/// Of a kernel whose operation is not known, by its name.
NamedLayer layer_of_kernel(std::string_view name);
/// Kernels of NCCL belong to collectives wherever they are launched.
bool is_collective_kernel(std::string_view name);

}  // namespace tandem
