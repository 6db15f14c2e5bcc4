// A sweep's points as predictions from one trace in memory.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/predict/predict.h"
#include "sim/sweep/run.h"
#include "sim/sweep/tables.h"

namespace tandem {

/// What all points of a sweep start from. Read-only while points are predicted.
struct SweepBase {
  ReplayOptions options;
  TracedRun run;
  std::optional<TracedRun> second;  // of Experiment::base

  /// The same traces on a host that an axis names; what a trace says of its host depends on it.
  struct OnHost {
    std::string host;
    TracedRun run;
    std::optional<TracedRun> second;
  };
  std::vector<OnHost> hosts;
  /// Of each host, that of `options` included: of a network, which each point generates anew.
  std::map<std::string, Configs> configs;
};

/// Errors: InputError for a value of an axis, or a parameter, that no point could be predicted
/// with: an unknown precision, mode, compiler, GPU or number of the GPU. `path`: of the experiment.
void check_values(const SweepBase& base, const Experiment& experiment, const std::string& path);

/// Reads the traces of `experiment`. `configs`: config folder. Errors: InputError.
SweepBase load_sweep_base(const Experiment& experiment, const std::string& configs);

/// The options of one point. Errors: InputError for values that name nothing.
ReplayOptions point_options(const SweepBase& base, const Point& point);

/// The value of `parameter` (gpu.KEY) of the GPU at `point`. Errors: InputError.
double parameter_value(const SweepBase& base, const Point& point, const std::string& parameter);

PointResult predict_point(const SweepBase& base, const Point& point);

/// Everything the points' results depend on but the points: contents of traces, their meta files
/// and configs, and `version` of the program. Errors: InputError.
std::uint64_t hash_inputs(const Experiment& experiment, const std::string& configs,
                          const std::string& version);

/// What ranks must share, so that a number names the same point on all of them: `inputs`, which is
/// hash_inputs(), and the points themselves.
std::uint64_t hash_points(const Experiment& experiment, std::uint64_t inputs);

/// On a rank other than 0: runs the points that rank 0 hands out, among those of run_sweep(), with
/// `options.ranks`. Errors: none; a point that fails is an outcome.
/// `inputs`: of the store that rank 0 has.
void run_shared_sweep(const Experiment& experiment, const SweepBase& base, std::uint64_t inputs,
                      const RunOptions& options);

/// Grid, Pareto front and elasticities. `store`: where finished points are kept, or null.
Sweep run_sweep(const Experiment& experiment, const SweepBase& base, PointStore* store,
                const RunOptions& options);

}  // namespace tandem
