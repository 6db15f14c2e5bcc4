// Writes the files of one replay.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "sim/predict/predict.h"
#include "sim/report/report.h"

namespace tandem {

struct OutputPaths {
  std::string json;  // "-": standard output; empty: not written
  std::string kernels;
  std::string timeline;
  std::string report;
};

/// `ranks`: several of one run, together, for the timeline. Errors: InputError for a path that
/// cannot be written.
void write_outputs(const Replay& replay, const OutputPaths& paths,
                   std::span<const SimulatedRun> ranks = {});

/// The isolated step of a prediction, as timelines and tables show it. `path`: its critical path.
SimulatedRun scenario_run(const Prediction& prediction, std::span<const PathLink> path);
std::vector<PathLink> scenario_path(const Prediction& prediction);

}  // namespace tandem
