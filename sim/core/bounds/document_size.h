// How large what is read as one document may be.
#pragma once

#include <cstddef>

namespace tandem::limits {

/// JSON that is held as a whole: configs, networks, experiments, results. An experiment of a
/// million points takes ten.
inline constexpr std::size_t document_bytes = std::size_t{64} << 20;

/// A table that is held as a whole: the samples of a power log.
inline constexpr std::size_t table_bytes = std::size_t{1} << 30;

}  // namespace tandem::limits
