// Functions of a model that run as they did before though the model is compiled.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/step.h"

namespace tandem {

/// Whether it adds two tensors of one shape, none of them a part of another: halves of what goes
/// both ways through a layer are added where the layer is called.
bool adds_residual(const Step& step, const FlowOp& op);

/// Which of the operations `forward` of the data flow, in the order of their launch, TorchDynamo
/// (PyTorch 2.11) leaves as they are, beside recurrent layers. Python looks at values at the rows
/// `cuts` of the trace, in the order of time. A trace names no functions:
///  - a loop that closes a graph in every turn cannot be entered again amid a turn, so that its
///    function runs as before: what repeats between cuts, three turns or more, and adds no
///    residual;
///  - a product that reads how many rows each of its parts has, as those of experts do, is traced,
///    but no backend makes code of it. Then no function that holds it is compiled: that which calls
///    it goes from the last product before to the next residual; the functions around add residuals
///    and look words up in tables, and what else they call is compiled by itself.
std::vector<bool> uncompiled(const Step& step, const Dataflow& flow,
                             std::span<const std::uint32_t> forward,
                             std::span<const std::uint32_t> cuts);

}  // namespace tandem
