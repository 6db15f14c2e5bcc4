#include "sim/core/files/input_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "sim/core/error.h"

namespace tandem {

namespace {

/// As long as a shell may take to start the program at the other end of a pipe.
constexpr int wait_for_writer_ms = 100;

bool is_pipe(const struct stat& info) { return S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode); }

}  // namespace

InputFile::InputFile(const std::string& path, const std::string& expected)
    : name_(path == standard_input ? "standard input" : path) {
  // Without O_NONBLOCK a pipe that nobody writes to is never open.
  file_ = path == standard_input ? ::dup(STDIN_FILENO)
                                 : ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) throw InputError(name_, "", std::strerror(errno), expected);
  try {
    check(expected);
    if (path != standard_input) wait_for_writer(expected);
  } catch (...) {
    ::close(file_);
    throw;
  }
}

InputFile::~InputFile() { ::close(file_); }

void InputFile::check(const std::string& expected) {
  struct stat info {};
  if (::fstat(file_, &info) != 0) throw InputError(name_, "", std::strerror(errno), expected);
  if (S_ISREG(info.st_mode)) {
    size_ = info.st_size;
  } else if (!is_pipe(info)) {
    throw InputError(name_, "", S_ISDIR(info.st_mode) ? "a folder" : "a device", expected);
  }
}

void InputFile::wait_for_writer(const std::string& expected) {
  struct stat info {};
  if (::fstat(file_, &info) == 0 && is_pipe(info)) {
    pollfd end{file_, POLLIN, 0};
    ::poll(&end, 1, wait_for_writer_ms);
    char byte = 0;
    const ssize_t n = ::read(file_, &byte, 1);
    if (n == 0) throw InputError(name_, "", "a pipe that nobody writes to", expected);
    if (n == 1) first_ = byte;
  }
  ::fcntl(file_, F_SETFL, ::fcntl(file_, F_GETFL) & ~O_NONBLOCK);
}

std::size_t InputFile::read(std::span<char> to) {
  std::size_t done = 0;
  if (first_ && !to.empty()) {
    to[done++] = *first_;
    first_.reset();
  }
  while (done < to.size()) {
    const ssize_t n = ::read(file_, to.data() + done, to.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      throw InputError(name_, fmt::format("byte {}", bytes_read_ + static_cast<std::int64_t>(done)),
                       std::strerror(errno), "readable bytes");
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  bytes_read_ += static_cast<std::int64_t>(done);
  return done;
}

std::string read_whole(InputFile& file, std::size_t most_bytes, const std::string& expected) {
  std::string text;
  std::array<char, 1 << 16> piece;
  while (const std::size_t n = file.read(piece)) {
    text.append(piece.data(), n);
    if (text.size() <= most_bytes) continue;
    throw InputError(file.name(), "", fmt::format("more than {} MiB", most_bytes >> 20),
                     expected + " of less");
  }
  return text;
}

}  // namespace tandem
