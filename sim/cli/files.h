// How commands write files.
#pragma once

#include <functional>
#include <ostream>
#include <string>

namespace tandem {

/// Calls `write` on a file beside `path` and then renames it, so that nobody finds half a file and
/// a failure leaves an older one whole. Names that end in .gz or .zst are compressed so. Devices
/// and pipes are written in place. "-": standard output; empty: nothing is written. Errors:
/// InputError for a path that cannot be written.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

/// `name` as that of a folder below another; what would be that one, or above it, is `otherwise`.
std::string folder_name(const std::string& name, const std::string& otherwise);

}  // namespace tandem
