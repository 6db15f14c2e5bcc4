#include "sim/trace/source/stored_file.h"

#include <algorithm>

namespace tandem {

StoredFile::StoredFile(const std::string& path)
    : file_(path, "a trace or report, as a file or a pipe") {}

std::size_t StoredFile::read(std::span<char> to) {
  std::size_t done = std::min(to.size(), peeked_.size());
  std::copy_n(peeked_.begin(), done, to.begin());
  peeked_.erase(peeked_.begin(), peeked_.begin() + static_cast<std::ptrdiff_t>(done));
  done += file_.read(to.subspan(done));
  bytes_read_ += static_cast<std::int64_t>(done);
  return done;
}

std::size_t StoredFile::peek(std::span<char> to) {
  const std::size_t kept = peeked_.size();
  if (kept < to.size()) {
    peeked_.resize(to.size());
    peeked_.resize(kept + file_.read(std::span(peeked_).subspan(kept)));
  }
  const std::size_t n = std::min(to.size(), peeked_.size());
  std::copy_n(peeked_.begin(), n, to.begin());
  return n;
}

}  // namespace tandem
