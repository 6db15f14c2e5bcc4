// The order of images in memory as a choice: a network as it runs with model and images in NHWC.
#pragma once

#include "workloads/network.h"

namespace tandem {

/// The network after `model.to(memory_format=torch.channels_last)` and the same of its images:
/// weights and images of convolutions change their order, every operation that reads such a tensor
/// makes such tensors (PyTorch, "Channels Last Memory Format"), views follow their base. Where a
/// view mixes channels and pixels, e.g. before a linear layer, a copy comes first.
/// Errors: InputError for a network without convolutions of images.
Network with_channels_last(Network network);

}  // namespace tandem
