#include "sim/trace/source/stored_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "sim/core/error.h"

namespace tandem {

StoredFile::StoredFile(const std::string& path) : path_(path) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw InputError(path, "", std::strerror(errno), "a file that can be read");
  struct stat info {};
  if (::fstat(file_, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(file_);
    throw InputError(path, "", S_ISDIR(info.st_mode) ? "a directory" : "no regular file",
                     "a trace file");
  }
  size_ = info.st_size;
}

StoredFile::~StoredFile() { ::close(file_); }

std::size_t StoredFile::read(std::span<char> to) {
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
    bytes_read_ += n;
  }
  return done;
}

std::size_t StoredFile::peek(std::span<char> to) const {
  return static_cast<std::size_t>(std::max<ssize_t>(0, ::pread(file_, to.data(), to.size(), 0)));
}

}  // namespace tandem
