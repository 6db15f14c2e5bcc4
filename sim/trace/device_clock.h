// Devices whose clock is behind the host's, so that work seems to begin before it was launched, or
// ahead of it, so that work seems to end after a wait for it returned.
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
  Duration behind{};  // the smallest that lets no work begin before its launch; negative: ahead,
                      // by what lets a launch to an idle device begin at once
};

/// Work that ends after a wait for the whole device has returned.
struct LateWork {
  Duration late{};
  std::uint32_t activity = no_row;
};
/// The one that ends the longest after; row no_row: there is none.
LateWork latest_work(const Trace& trace, const Links& links);

/// What link_trace() finds, after the times of devices whose clock is off were moved, which
/// `offsets` then names. A time that fewer than three activities show is wrong in itself and says
/// nothing of the clock; nor does late work if it could not be earlier for its launches. Losses:
/// `device_clock_behind`, `device_clock_ahead`.
Links link_on_one_clock(Trace& trace, std::vector<ClockOffset>& offsets);

}  // namespace tandem
