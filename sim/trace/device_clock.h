// Devices whose clock runs behind the host's: their work seems to begin before it was launched.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/time.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// A device whose times were moved onto the host's clock.
struct ClockOffset {
  std::int64_t device = 0;
  Duration behind{};  // the smallest that lets no work begin before its launch
};

/// What link_trace() finds, after the times of devices that are behind the host were moved, which
/// `offsets` then names. A time that fewer than three activities show is wrong in itself and says
/// nothing of the clock. Loss: `device_clock_behind`.
Links link_on_one_clock(Trace& trace, std::vector<ClockOffset>& offsets);

}  // namespace tandem
