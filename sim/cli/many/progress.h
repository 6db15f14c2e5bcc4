// How far a command is with many things.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace tandem {

/// Writes "120 of 1000 points, 12 s left" over itself to standard error: done, all. `things`: their
/// name. Empty where that is no terminal.
std::function<void(std::size_t, std::size_t)> progress_line(std::string things);

}  // namespace tandem
