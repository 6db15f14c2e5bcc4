// Files whose name says that they are compressed: ".gz" by ISA-L, ".zst" by libzstd.
#pragma once

#include <functional>
#include <ostream>
#include <string_view>

namespace tandem {

/// Calls `write` on a stream whose content reaches `out` as the ending of `path` says: as gzip, as
/// zstd, else as it is. `out` is bad where it could not be written.
void write_as_named(std::string_view path, std::ostream& out,
                    const std::function<void(std::ostream&)>& write);

}  // namespace tandem
