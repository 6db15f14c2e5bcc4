// The order of images in memory, which a network is generated in.
#pragma once

#include "models/whatif/transform.h"

namespace tandem {

/// Value of option "layout": model and images in NHWC order.
inline constexpr std::string_view channels_last_layout = "channels-last";

/// Asked of a network, which takes it before its step exists (take_request in
/// sim/predict/network_run.h). Of a trace it cannot be asked: kernels of another order are others.
Transform layout_transform();

}  // namespace tandem
