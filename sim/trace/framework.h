// Which framework ran a step.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/core/named.h"

namespace tandem {

enum class Framework : std::uint8_t { pytorch, tensorflow, jax, unknown };

/// As reports print them.
inline constexpr Named<Framework> framework_names[] = {{Framework::pytorch, "PyTorch"},
                                                       {Framework::tensorflow, "TensorFlow"},
                                                       {Framework::jax, "JAX"},
                                                       {Framework::unknown, "unknown"}};
inline std::string_view to_string(Framework framework) {
  return name_of(framework_names, framework);
}

}  // namespace tandem
