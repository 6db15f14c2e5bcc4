// What the fuzz targets of the whole program share: options by choice, and a run through it.
#pragma once

#include <string>

#include "sim/predict/predict.h"
#include "tests/fuzz/input.h"

namespace tandem::fuzz {

/// A file of the repository.
std::string in_repository(const std::string& path);
/// Those of the repository, read once.
const Configs& configs();
/// A small training step, read once.
const TracedRun& small_run();

/// Mode, profiler and up to three what-ifs of transforms(), from `choice`.
ReplayOptions options_of(Bytes choice);

/// Writes what a replay found as the commands do: result, table of kernels, timelines, summary.
void write_all(const Replay& done);
/// Predicts a scenario of `run` first.
void write_all(TracedRun run, const ReplayOptions& options);

}  // namespace tandem::fuzz
