// The Timeline: when every item and every piece of work of a Plan began and ended.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/core/time.h"

namespace tandem {

struct Timeline {
  std::vector<TimePoint> item_begin;     // when the call itself begins (after its gap)
  std::vector<TimePoint> item_end;       // when it returns, waits included
  std::vector<TimePoint> item_submit;    // when its work became visible to the device
  std::vector<std::uint32_t> item_slot;  // work whose end made room in a full queue, or none
  std::vector<TimePoint> work_begin;
  std::vector<TimePoint> work_end;
  TimePoint end{};           // the last end of all
  std::uint64_t events = 0;  // events processed
};

}  // namespace tandem
