// Which of the devices that a trace names did the work.
#pragma once

#include <cstdint>
#include <optional>

#include "sim/trace/trace.h"

namespace tandem {

/// The device whose streams were busy longest; nothing where none did any work.
std::optional<std::int64_t> busiest_device(const Trace& trace);

/// Puts the busiest device first; one that the trace does not describe leaves the order as it is.
/// Work of other devices is counted as a loss: the pipeline knows one GPU a trace, so that their
/// streams are taken for streams of it.
void order_devices(Trace& trace);

}  // namespace tandem
