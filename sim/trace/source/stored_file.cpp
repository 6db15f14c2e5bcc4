#include "sim/trace/source/stored_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/core/error.h"

namespace tandem {

StoredFile::StoredFile(const std::string& path)
    : path_(path == standard_input ? "standard input" : path) {
  file_ = path == standard_input ? ::dup(STDIN_FILENO) : ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw InputError(path_, "", std::strerror(errno), "a file that can be read");
  struct stat info {};
  const bool known = ::fstat(file_, &info) == 0;
  const bool pipe = known && (S_ISFIFO(info.st_mode) || S_ISSOCK(info.st_mode));
  if (!known || (!pipe && !S_ISREG(info.st_mode))) {
    ::close(file_);
    throw InputError(path_, "", S_ISDIR(info.st_mode) ? "a directory" : "no regular file",
                     "a trace file, or a pipe");
  }
  size_ = pipe ? 0 : info.st_size;
}

StoredFile::~StoredFile() { ::close(file_); }

std::size_t StoredFile::read(std::span<char> to) {
  std::size_t done = std::min(to.size(), peeked_.size());
  std::copy_n(peeked_.begin(), done, to.begin());
  peeked_.erase(peeked_.begin(), peeked_.begin() + static_cast<std::ptrdiff_t>(done));
  done += read_file(to.subspan(done));
  bytes_read_ += static_cast<std::int64_t>(done);
  return done;
}

std::size_t StoredFile::read_file(std::span<char> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t n = ::read(file_, to.data() + done, to.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      throw InputError(path_, "byte " + std::to_string(bytes_read_), std::strerror(errno),
                       "readable bytes");
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
  }
  return done;
}

std::size_t StoredFile::peek(std::span<char> to) {
  const std::size_t kept = peeked_.size();
  if (kept < to.size()) {
    peeked_.resize(to.size());
    peeked_.resize(kept + read_file(std::span(peeked_).subspan(kept)));
  }
  const std::size_t n = std::min(to.size(), peeked_.size());
  std::copy_n(peeked_.begin(), n, to.begin());
  return n;
}

}  // namespace tandem
