// Functions of a model that run as they did before though the model is compiled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"

namespace tandem {

/// Which operations of the forward pass the compiler leaves as they are, beside recurrent layers.
struct Uncompiled {
  std::vector<bool> ops;  // per operation of the forward pass
  /// The functions around those do not go on compiled either: what they call is compiled by itself,
  /// the residuals that they add and the tables that they look words up in run as they did.
  bool around = false;
};

/// Whether it adds two tensors of one shape, none of them a part of another: halves of what goes
/// both ways through a layer are added where the layer is called.
bool adds_residual(const Step& step, const FlowOp& op);

/// TorchDynamo's choice (PyTorch 2.11) for the operations `forward` of the data flow, in the order
/// of their launch, of which Python looks at values at the rows `cuts` of the trace, in the order
/// of time. A trace names no functions:
///  - a loop that closes a graph in every turn cannot be entered again amid a turn, so that its
///    function runs as before: what repeats between cuts, three turns or more, and adds no
///    residual;
///  - a product that reads how many rows each of its parts has, as those of experts do, is traced,
///    but no backend makes code of it. Then no function that holds it is compiled; that which calls
///    it goes from the last product before to the next residual.
Uncompiled uncompiled(const Step& step, const Dataflow& flow,
                      std::span<const std::uint32_t> forward, std::span<const std::uint32_t> cuts);

}  // namespace tandem
