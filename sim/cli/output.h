// Writes the files of one replay.
#pragma once

#include <string>

#include "sim/predict/predict.h"

namespace tandem {

struct OutputPaths {
  std::string json;  // "-": standard output; empty: not written
  std::string kernels;
  std::string timeline;
};

/// Errors: InputError for a path that cannot be written.
void write_outputs(const Replay& replay, const OutputPaths& paths);

}  // namespace tandem
