// What users may also write for a value of an option: one table, read wherever values come in.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace tandem {

struct Alias {
  std::string_view option;  // of the command line, an axis of sweeps
  std::string_view text;    // in lower case, with hyphens
  std::string_view name;    // what it stands for
};

/// All of them; aliases of GPUs stand in configs/gpus.
std::span<const Alias> aliases();

/// The name that `value` stands for: "CUDA_Graph" and "cudagraph" are "cuda-graph". What is neither
/// one of the option's names nor an alias comes back as it is.
std::string canonical(std::string_view option, std::string_view value,
                      std::span<const std::string_view> names);

/// As expected_name (sim/core/named.h); a text near an alias means what that stands for.
std::string expected_value(std::string_view option, std::span<const std::string_view> names,
                           std::string_view text);

}  // namespace tandem
