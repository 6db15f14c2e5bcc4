// What measured layers tell of a layer without a trace. Internal to workloads/lower.
#pragma once

#include "workloads/lower/layers/layer.h"

namespace tandem::lowering {

/// The kernels of a pass that is run in such a way, timed by law.
using PassLaw = void (*)(const Context& c, const Layer& l, Pass pass, const LayerClass& run,
                         Kernels& out);

/// The kernels of a pass by `law`, run as the nearest measured layer was (by rule where none is
/// near), which take over it what measured layers took: which of its kernels a library takes, no
/// law tells.
void add_measured(const Context& c, const Layer& l, Pass pass, PassLaw law, Kernels& out);

}  // namespace tandem::lowering
