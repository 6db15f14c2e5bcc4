// Gaps and latencies of the device side, read off a trace where it shows enough of them.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "models/runtime/host_model.h"
#include "sim/core/device.h"
#include "sim/trace/links.h"
#include "sim/trace/trace.h"

namespace tandem {

/// A start later than the rules allow by more than this has a cause of its own (an edge or a
/// delay).
inline constexpr Duration unexplained_delay = nanoseconds(2'500);

/// What decides the gap between two activities of a stream.
struct GapClass {
  ActivityKind previous = ActivityKind::kernel;
  ActivityKind next = ActivityKind::kernel;
  bool same_graph = false;  // both are nodes of one graph launch
  bool graph = false;       // next was launched by a graph
  bool far_ahead = false;   // host launched more than far_lead before the previous work ended
  StringId call;            // the launch call's name (programmatic launches overlap)
  StringId kernel;          // next's name: its code, arguments and cluster have to be set up
  friend auto operator<=>(const GapClass&, const GapClass&) = default;
};

/// Means over one trace; classes with few samples fall back to coarser ones, then to the HostModel.
class DeviceTiming {
 public:
  DeviceTiming(const Trace& trace, const Links& links, const HostModel& host);

  GapClass classify(std::uint32_t previous, std::uint32_t next) const;
  Duration gap(const GapClass& c) const;
  /// The gap before `next`. Where other streams work during it, how the hardware arbitrates
  /// decides, which the engine does not simulate: such a gap is kept as measured, as the duration
  /// is.
  struct Gap {
    Duration near{};  // the host less than far_lead ahead of the device
    Duration far{};
    Duration traced{};  // the one of both that applied in the trace
  };
  Gap gap(std::uint32_t previous, std::uint32_t next) const;
  /// End of the launching call to the start on an idle stream.
  Duration latency(ActivityKind kind) const;
  Duration sync_return() const { return sync_return_; }
  Duration blocking_return() const { return blocking_return_; }

 private:
  struct Mean {
    double sum_us = 0;
    std::int64_t n = 0;
    void add(Duration d) {
      sum_us += to_us(d);
      ++n;
    }
    Duration value() const { return from_us(sum_us / static_cast<double>(n)); }
  };
  void read_gaps();
  void read_returns();
  Duration default_gap(const GapClass& c) const;

  const Trace& trace_;
  const Links& links_;
  const HostModel& host_;
  std::map<GapClass, Mean> gaps_;
  std::vector<bool> shared_gap_;  // per activity: other streams work during the gap before it
  Mean latency_[3];
  Duration sync_return_{};
  Duration blocking_return_{};
};

}  // namespace tandem
