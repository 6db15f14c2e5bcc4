// What the other-GPU what-if is expected to be off by, read from configs/kernels/retarget.json.
#pragma once

#include <string>
#include <vector>

#include "sim/core/fields/provenance.h"

namespace tandem {

/// Relative errors of GPU time to be expected, by what is known of a kernel.
struct RetargetErrors {
  double with_shapes = 0;
  double without_shapes = 0;
  double other_work = 0;             // families and types that no validation case has
  double unknown_kernel = 0;         // names that no rule knows
  double same_generation = 0;        // share of the above if no generation is crossed, at least
  double carried_change = 0;         // then, too: share of the logarithm by which a time changes
  double unmeasured_generation = 0;  // times the above where nobody measured the GPU's generation
  double energy_constants = 0;       // of each constant of energy, where a chip has another one's
  std::vector<Provenance> origins;   // parallel to the fields
};

/// Errors: InputError `file:key: found X, expected Y`.
RetargetErrors load_retarget_errors(const std::string& path);

}  // namespace tandem
