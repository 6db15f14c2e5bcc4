// Options of a replay for tests.
#pragma once

#include "sim/predict/options.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::test {

/// With the configs of this repository, and every time as it was traced.
inline ReplayOptions as_traced() {
  ReplayOptions o;
  o.configs = source_path("configs");
  o.profiler = Profiler::keep;
  return o;
}

}  // namespace tandem::test
