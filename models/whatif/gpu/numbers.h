// Numbers of a GPU that no law of a step uses: changing one is refused, with the reason, instead of
// predicting nothing.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "models/arch/gpu_arch.h"

namespace tandem {

struct UnusedNumber {
  std::string_view name;
  /// The number that it describes further; it may be stated together with that one. Empty: none.
  std::string_view beside;
  std::string_view why;
};

std::span<const UnusedNumber> unused_numbers();

/// Errors: InputError for overrides ("gpu.KEY=VALUE") of numbers that no law uses.
void require_used(std::span<const std::string> overrides);

}  // namespace tandem
