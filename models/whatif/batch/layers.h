// Convolution layers that the library runs another way at another batch, as measured layers tell.
#pragma once

#include "models/kernel/choice/measured_layers.h"
#include "models/step/step.h"
#include "models/whatif/edit/switches.h"

namespace tandem {

/// `resized`: the trace of `step` at another batch, row by row. Layers that are run another way
/// there, and those that were measured at both batches, take what the measured ones do; those that
/// no measured one is like, or that are run another way than the nearest, keep the times that they
/// have, and all of them do without `retime`.
AlgorithmSwitches switch_layers(const Step& step, const MeasuredLayers& layers, bool retime,
                                Trace& resized);

}  // namespace tandem
