// What the names and frames of a recorded program hold: a generated step says where each went.
#pragma once

#include <optional>
#include <vector>

#include "models/step/dataflow.h"
#include "models/step/memory/frames.h"

namespace tandem {

/// Tensors that outlive the last operation on them; nothing where the step does not say, as no
/// trace does.
std::optional<std::vector<HeldTensor>> stated_lives(const Step& step, const Dataflow& flow);

}  // namespace tandem
