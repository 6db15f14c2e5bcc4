// Writes the files of one replay.
#pragma once

#include <ostream>
#include <string>

#include "sim/predict/ranks/replay_ranks.h"

namespace tandem {

struct OutputPaths {
  std::string json;  // "-": standard output; empty: not written
  std::string kernels;
  std::string timeline;
  std::string report = {};
  std::string sqlite = {};
};

/// The files of one replay, or of the first of several ranks, with all of them in the timeline.
/// Errors: InputError for a path that cannot be written.
void write_outputs(const Replay& replay, const OutputPaths& paths);
void write_outputs(const RanksReplay& ranks, const OutputPaths& paths);

/// Its table of kernels: of the trace, then of the scenario.
void write_kernels(std::ostream& out, const Replay& replay);

}  // namespace tandem
