// Series of traces that differ in the batch only, and how far predictions of them are off.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/step/op_groups.h"
#include "models/whatif/batch/model.h"

namespace tandem {

/// One measured run.
struct Run {
  std::string name;
  std::int64_t batch = 0;
  Trace trace;
  Links links;
  StepKernels kernels;
  double gpu_us = 0;  // kernels, copies and memsets of a step, mean over the steps
  BatchBase base() const { return {trace, links, kernels, batch}; }
};

/// Runs of one model, task and precision, by batch.
struct Series {
  std::string name;
  std::vector<std::unique_ptr<Run>> runs;
};

/// Reads DIR/NAME-bN.json[.gz] of mode `eager`; only series with two and more batches.
std::vector<Series> read_series(const std::string& folder);

/// Mean over the steps of the device time launched in them.
double gpu_us_of(const Trace& trace, const Links& links);

struct Score {
  std::string series;
  std::int64_t base = 0, second = 0, batch = 0;  // second 0: one base
  double error = 0;                              // of the GPU time, signed
  double kernel_error = 0;                       // sum over operations of |error| / GPU time
  double share[8] = {};      // measured time by scale class of the operation's first kernel
  double deviation[8] = {};  // |error| by scale class
  double factor() const;     // >= 1, to the nearest base
};

/// One operation of the last step, as predicted and as measured.
struct OpError {
  std::string op, kernel, dims;
  ScaleClass scale = ScaleClass::constant;
  double base_us = 0, predicted_us = 0, measured_us = 0;
};
std::vector<OpError> op_errors(const Run& base, const Trace& predicted, const Run& truth,
                               const BatchReport& report);

/// Compares a predicted trace with the run it predicts.
Score score(const std::string& series, const Trace& predicted, const Links& links, const Run& truth,
            const BatchReport& report);

}  // namespace tandem
