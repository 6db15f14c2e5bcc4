// Who runs depthwise convolutions in 16 bits and in the framework's order of images: PyTorch's own
// rule (use_cudnn_depthwise, check_cudnn_depthwise_workload_with_filter; since cuDNN 8.2).
#pragma once

#include "models/kernel/choice/measured_layers.h"

namespace tandem {

/// True: in FP16 the library does. In FP32 and BF16 the framework's kernels run every such layer,
/// in channels-last order the library every one.
bool library_runs_depthwise(const LayerShape& shape);

/// Whether four FP32 channels of a pixel, loaded at once, leave none over: where channels are the
/// order of images, the library has no fast gradient of the weights in FP32 for others.
bool loads_hold_channels(double channels);

}  // namespace tandem
