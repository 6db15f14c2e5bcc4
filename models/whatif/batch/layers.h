// Convolution layers that the library runs another way at another batch, as measured layers tell.
#pragma once

#include "models/kernel/choice/measured_layers.h"
#include "models/step/step.h"
#include "models/whatif/edit/switches.h"

namespace tandem {

/// `resized`: the trace of `step` at another batch, row by row. No more than a statement: nothing
/// is retimed. Layers that no measured one is like, or that are run another way than the nearest,
/// are left out.
AlgorithmSwitches switched_layers(const Step& step, const Trace& resized,
                                  const MeasuredLayers& layers);

}  // namespace tandem
