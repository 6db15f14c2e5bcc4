// What lies in a folder of inputs.
#pragma once

#include <string>
#include <vector>

namespace tandem {

/// Paths of the files *.json in `folder` itself, sorted; none where it cannot be read.
std::vector<std::string> json_files(const std::string& folder);

}  // namespace tandem
