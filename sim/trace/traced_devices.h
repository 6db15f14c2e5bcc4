// Which of the devices that a trace names did the work.
#pragma once

#include "sim/trace/trace.h"

namespace tandem {

/// Puts the device whose streams were busy longest first; one that the trace does not describe
/// leaves the order as it is. Work of other devices is counted as a loss: the pipeline knows one
/// GPU a trace, so that their streams are taken for streams of it.
void order_devices(Trace& trace);

}  // namespace tandem
