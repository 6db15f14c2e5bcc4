// The configs that come with the repository, for tests.
#pragma once

#include "sim/predict/configs.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::test {

/// Those of the default host, read once.
inline const Configs& configs() {
  static const Configs read = load_configs(source_path("configs"), "default");
  return read;
}

}  // namespace tandem::test
