#include "sim/cli/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "sim/core/error.h"
#include "sim/trace/source/compression.h"

namespace tandem {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, int error) {
  throw InputError(path, "", std::strerror(error), "a file that can be written");
}

/// Writes to `path` what a file called `name` holds; errno of what went wrong, or 0.
int write_to(const std::string& path, const std::string& name,
             const std::function<void(std::ostream&)>& write) {
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  if (file) write_as_named(name, file, write);
  file.flush();
  if (file) return 0;
  return errno != 0 ? errno : EIO;
}

}  // namespace

void write_file(const std::string& path, const std::function<void(std::ostream&)>& write) {
  if (path.empty()) return;
  if (path == "-") {
    write(std::cout);
    std::cout.flush();
    if (!std::cout) throw InputError("standard output", "", std::strerror(errno), "room to write");
    return;
  }
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    if (const int failed = write_to(path, path, write); failed != 0) fail(path, failed);
    return;
  }
  // A link keeps pointing where it does: the file that it names is replaced.
  const fs::path target = fs::exists(status) ? fs::canonical(path, error) : fs::path(path);
  const std::string beside = target.string() + ".part" + std::to_string(getpid());
  int failed = 0;
  try {
    failed = write_to(beside, path, write);
  } catch (...) {
    fs::remove(beside, error);
    throw;
  }
  if (failed == 0) {
    if (fs::exists(status)) fs::permissions(beside, status.permissions(), error);
    fs::rename(beside, target, error);
    failed = error.value();
  }
  if (failed == 0) return;
  fs::remove(beside, error);
  fail(path, failed);
}

std::string folder_name(const std::string& name, const std::string& otherwise) {
  return name.empty() || name == "." || name == ".." ? otherwise : name;
}

}  // namespace tandem
