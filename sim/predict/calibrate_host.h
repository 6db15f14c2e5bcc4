// How fast a user's host is without the profiler, from loops that were timed once without it.
#pragma once

#include <string>
#include <vector>

#include "sim/predict/predict.h"

namespace tandem {

/// A trace and the iteration time of the same loop without the profiler.
struct TimedTrace {
  std::string path;
  double iteration_us = 0;
};

/// One of them in the result.
struct CalibrationRow {
  std::string path;
  double measured_us = 0;
  double before_us = 0;    // predicted with the host model that was given
  double after_us = 0;     // with the calibrated one
  double left_out_us = 0;  // with the one that the other traces calibrate; 0: no other
  bool used = false;       // false: the GPU decides its time, which says nothing of the host
};

struct HostCalibration {
  HostModel host;     // gap scales changed
  double factor = 1;  // that both gap scales were multiplied by
  std::vector<CalibrationRow> rows;
  LossList losses;
};

/// Multiplies the gap scales of the host model until the predicted steps are as long as the
/// measured ones in the geometric mean over the traces that the host limits.
/// Errors: InputError for a trace or a time that cannot be used, and if no trace is host-bound.
HostCalibration calibrate_host(const std::vector<TimedTrace>& traces, const ReplayOptions& options);

/// The host of the run, its gap scales changed until the step of `plan` lasts `measured_us` without
/// the profiler. A step that the GPU decides only says how slow the host may be at most. What no
/// host makes so long, or so short, is counted in `losses`. Errors: InputError for a time that is
/// not positive and finite.
HostModel host_of_step(const TracedRun& run, const MeasuredPlan& plan, double measured_us,
                       LossList& losses);

}  // namespace tandem
