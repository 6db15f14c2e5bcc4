#include "tests/fuzz/input.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

namespace tandem::fuzz {

namespace fs = std::filesystem;

Input split(Bytes bytes) {
  const std::size_t cut = std::min(choice_bytes, bytes.size());
  return {bytes.first(cut), bytes.subspan(cut)};
}

MemoryFile::MemoryFile(Bytes content, const std::string& ending) : file_(memfd_create("input", 0)) {
  if (file_ < 0) throw std::runtime_error("no file in memory");
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t n = write(file_, content.data() + written, content.size() - written);
    if (n <= 0) throw std::runtime_error("the file in memory cannot be written");
    written += static_cast<std::size_t>(n);
  }
  path_ = fmt::format("/proc/self/fd/{}", file_);
  if (ending.empty()) return;
  const fs::path link =
      fs::temp_directory_path() / fmt::format("tandem_fuzz_{}{}", getpid(), ending);
  fs::remove(link);
  fs::create_symlink(path_, link);
  path_ = link.string();
  linked_ = true;
}

MemoryFile::~MemoryFile() {
  if (linked_) fs::remove(path_);
  close(file_);
}

void check_refusal(const std::string& message) {
  if (message.find(": found ") != std::string::npos &&
      message.find(", expected ") != std::string::npos) {
    return;
  }
  std::fprintf(stderr, "a refusal that does not say what was found and expected: %s\n",
               message.c_str());
  std::abort();
}

}  // namespace tandem::fuzz
