// How commands write files.
#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace tandem {

/// A file as a command names it.
struct NamedFile {
  std::string by;    // option or place: "--json"
  std::string path;  // "-": a standard stream; empty: none
};

/// Called before anything is written. Errors: InputError for an output that is a file the command
/// reads, or the place of another output. Devices and pipes may be both.
void check_written(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written);

/// Calls `write` on a file beside `path` and then renames it, so that nobody finds half a file and
/// a failure leaves an older one whole. Names that end in .gz or .zst are compressed so. Devices
/// and pipes are written in place. "-": standard output; empty: nothing is written. Errors:
/// InputError for a path that cannot be written, as a pipe that nobody reads.
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

/// Errors: InputError for a folder that cannot be made.
void make_folder(const std::string& path);

/// `name` as that of a folder below another; what would be that one, or above it, is `otherwise`.
std::string folder_name(const std::string& name, const std::string& otherwise);

}  // namespace tandem
