// Writes the files of one replay.
#pragma once

#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "sim/predict/ranks/replay_ranks.h"
#include "sim/report/report.h"

namespace tandem {

class CheckedDocument;

struct OutputPaths {
  std::string json;  // "-": standard output; empty: not written
  std::string kernels;
  std::string timeline;
  std::string report = {};
  std::string sqlite = {};
  /// Whether one of them is standard output, where then nothing else goes.
  bool fill_stdout() const;
};

/// The files of one replay, or of the first of several ranks, with all of them in the timeline.
/// `result`: its document, where there is one already. Errors: InputError for a path that cannot be
/// written.
void write_outputs(const Replay& replay, const OutputPaths& paths);
void write_outputs(const Replay& replay, const CheckedDocument& result, const OutputPaths& paths);
void write_outputs(const RanksReplay& ranks, const OutputPaths& paths);

/// Its table of kernels: of the trace, then of the scenario.
void write_kernels(std::ostream& out, const Replay& replay);

/// The isolated step of a prediction, as timelines and tables show it. `path`: its critical path.
SimulatedRun scenario_run(const Prediction& prediction, std::span<const PathLink> path);
std::vector<PathLink> scenario_path(const Prediction& prediction);

}  // namespace tandem
