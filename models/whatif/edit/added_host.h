// Host time of operations that a what-if adds to a step or takes away. What is added counts in
// units of the trace's own launch calls: a host that is slow at one is slow at the other.
#pragma once

#include "models/runtime/host_model.h"
#include "models/step/op_nesting.h"
#include "models/step/step.h"

namespace tandem {

struct AddedHost {
  double traced_call_us = 0;  // median launch call of the trace, under the profiler
  double gap_scale = 0;       // host time without the profiler over that with it
  double launch_call_us = 0;  // a launch call of the predicted run

  /// From the item before to the end of the launch call of an operation whose host time, launch
  /// call excluded, is `ratio` launch calls under the profiler; `bare` of it is Python alone, which
  /// no profiler slows.
  double us(double ratio, double bare = 0) const {
    return ratio * traced_call_us * (bare + (1 - bare) * gap_scale) + launch_call_us;
  }
};

/// Where the trace has no launch calls the host model's stands in for their median.
AddedHost added_host(const Step& step, const HostModel& host);

/// Traced host time, its launch call excluded, of the whole copy or conversion that launched
/// `work`: the outermost operation that does nothing else. What came before it belongs to others.
double copy_host_us(const Step& step, const OpNesting& nesting, std::uint32_t work);

}  // namespace tandem
