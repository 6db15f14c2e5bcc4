// How large what is read as one document may be.
#pragma once

#include <cstddef>

namespace tandem::limits {

/// JSON that is held as a whole: configs, networks, experiments, results. An experiment of a
/// million points takes ten.
inline constexpr std::size_t document_bytes = std::size_t{64} << 20;

}  // namespace tandem::limits
