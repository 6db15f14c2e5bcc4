// Which earlier work a launch waits for through events. A trace lists cudaEventRecord and
// cudaStreamWaitEvent without their streams and events; the order of the calls tells most of it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// Rules: an event is recorded behind the latest launch before it; of several records in a row,
/// each is behind the latest launch of another stream. A launch waits for the events of the last
/// waits in a row before it, if they came after the launch before on its stream. Work that had not
/// ended when the launched work began was not waited for.
class StreamEvents {
 public:
  StreamEvents(const Trace& trace, const Links& links);

  /// Activities of other streams that `activity` waits for.
  std::span<const std::uint32_t> awaited(std::uint32_t activity) const {
    return std::span(awaited_).subspan(first_[activity], count_[activity]);
  }
  /// Whether any wait stands between the launch before on its stream and its own.
  bool waits(std::uint32_t activity) const { return waits_[activity]; }
  /// Events that were left out since a launch waited for too many.
  std::int64_t dropped() const { return dropped_; }

 private:
  std::vector<bool> waits_;           // per activity
  std::vector<std::uint32_t> first_;  // per activity: awaited_[first, first + count)
  std::vector<std::uint32_t> count_;
  std::vector<std::uint32_t> awaited_;
  std::int64_t dropped_ = 0;
};

}  // namespace tandem
