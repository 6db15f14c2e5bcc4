// Where the repository stands: tests and benchmarks read its configurations and captures.
#pragma once

#include <string>
#include <string_view>

namespace tandem {

/// Absolute path of the source folder, without a slash at its end.
std::string source_dir();
/// Absolute path of `below`, for example "configs/gpus".
std::string source_path(std::string_view below);

}  // namespace tandem
