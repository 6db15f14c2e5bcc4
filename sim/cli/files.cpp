#include "sim/cli/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

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

/// Whether both name one place, through links and before it is there.
bool same_place(const std::string& a, const std::string& b) {
  if (a == b) return true;
  if (a == "-" || b == "-") return false;
  std::error_code error;
  if (fs::equivalent(a, b, error)) return true;
  return fs::weakly_canonical(a, error) == fs::weakly_canonical(b, error);
}

/// Whether writing there takes nothing away: a device, a pipe; a folder is an error of its own.
bool keeps_nothing(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  return fs::exists(status) && !fs::is_regular_file(status);
}

/// An end of a named pipe for writing. While it is open, a reader that has come waits for what is
/// written through others. Errors: InputError where nobody reads.
class PipeEnd {
 public:
  explicit PipeEnd(const std::string& path) {
    const auto end = std::chrono::steady_clock::now() + longest_for_reader;
    while ((pipe_ = open(path.c_str(), O_WRONLY | O_NONBLOCK | O_CLOEXEC)) < 0) {
      if (errno != ENXIO) return;  // writing finds what else is wrong
      if (std::chrono::steady_clock::now() >= end) {
        throw InputError(path, "", "a pipe that nobody reads", "a file that can be written");
      }
      std::this_thread::sleep_for(pause);
    }
  }
  PipeEnd(const PipeEnd&) = delete;
  PipeEnd& operator=(const PipeEnd&) = delete;
  ~PipeEnd() {
    if (pipe_ >= 0) close(pipe_);
  }

 private:
  /// Whoever starts a reader beside tandem has started it by then.
  static constexpr std::chrono::seconds longest_for_reader{5};
  static constexpr std::chrono::milliseconds pause{20};
  int pipe_ = -1;
};

void write_in_place(const std::string& path, fs::file_type type,
                    const std::function<void(std::ostream&)>& write) {
  std::optional<PipeEnd> pipe;
  if (type == fs::file_type::fifo) pipe.emplace(path);
  if (const int failed = write_to(path, path, write); failed != 0) fail(path, failed);
}

}  // namespace

void check_written(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written) {
  const auto refuse = [](const NamedFile& one, const NamedFile& other, const char* does) {
    if (one.path.empty() || !same_place(one.path, other.path)) return;
    throw InputError("command line", one.by, "\"" + one.path + "\", " + does + " " + other.by,
                     "another file");
  };
  for (std::size_t i = 0; i < written.size(); ++i) {
    const NamedFile& one = written[i];
    if (one.path != "-" && keeps_nothing(one.path)) continue;
    for (std::size_t k = 0; k < i; ++k) refuse(one, written[k], "which is written by");
    if (one.path == "-") continue;  // read and written it is two streams
    for (const NamedFile& other : read) {
      if (std::error_code error; fs::exists(other.path, error)) {
        refuse(one, other, "which is read by");
      }
    }
  }
}

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
  // Nothing is known of a place that links hide from themselves; it is not ours to replace.
  if (status.type() == fs::file_type::none) fail(path, error.value());
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    return write_in_place(path, status.type(), write);
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

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw InputError(path, "", error.message(), "a folder that can be created");
}

std::string folder_name(const std::string& name, const std::string& otherwise) {
  return name.empty() || name == "." || name == ".." ? otherwise : name;
}

}  // namespace tandem
