#include "sim/trace/inflate.h"

#include <fcntl.h>
#include <isa-l/igzip_lib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <string>

#include "sim/core/error.h"

namespace tandem {

namespace {
constexpr std::size_t input_bytes = std::size_t{1} << 18;
constexpr std::uint8_t gzip_magic[2] = {0x1f, 0x8b};
}  // namespace

struct ByteSource::Gzip {
  inflate_state state;
  std::array<std::uint8_t, input_bytes> input;
};

ByteSource::ByteSource(const std::string& path) : path_(path) {
  file_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file_ < 0) throw InputError(path, "", std::strerror(errno), "a file that can be read");
  try {
    struct stat info {};
    if (::fstat(file_, &info) != 0 || !S_ISREG(info.st_mode)) {
      throw InputError(path, "", S_ISDIR(info.st_mode) ? "a directory" : "no regular file",
                       "a trace file");
    }
    file_bytes_ = info.st_size;
    std::uint8_t magic[2] = {};
    if (::pread(file_, magic, 2, 0) == 2 && std::equal(magic, magic + 2, gzip_magic)) {
      gzip_ = std::make_unique<Gzip>();
      isal_inflate_init(&gzip_->state);
      gzip_->state.crc_flag = ISAL_GZIP;
    }
  } catch (...) {
    ::close(file_);
    throw;
  }
}

ByteSource::~ByteSource() { ::close(file_); }

std::size_t ByteSource::read(std::span<char> to) {
  const std::size_t n = gzip_ ? read_gzip(to) : read_stored(to);
  bytes_read_ += static_cast<std::int64_t>(n);
  return n;
}

std::size_t ByteSource::read_stored(std::span<char> to) {
  std::size_t done = 0;
  while (done < to.size()) {
    const ssize_t n = ::read(file_, to.data() + done, to.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      throw InputError(path_, "byte " + std::to_string(stored_read_), std::strerror(errno),
                       "readable bytes");
    }
    if (n == 0) break;
    done += static_cast<std::size_t>(n);
    stored_read_ += n;
  }
  return done;
}

bool ByteSource::refill() {
  inflate_state& state = gzip_->state;
  if (state.avail_in > 0) return true;
  const std::size_t n =
      read_stored({reinterpret_cast<char*>(gzip_->input.data()), gzip_->input.size()});
  state.next_in = gzip_->input.data();
  state.avail_in = static_cast<std::uint32_t>(n);
  return n > 0;
}

void ByteSource::fail_gzip(const char* found, const char* expected) const {
  const std::int64_t offset = stored_read_ - gzip_->state.avail_in;
  throw InputError(path_, "gzip offset " + std::to_string(offset), found, expected);
}

// Starts the next member, if there is one. Zero bytes that pad the file to a block are no member.
bool ByteSource::next_member() {
  inflate_state& state = gzip_->state;
  while (refill() && *state.next_in == 0) {
    ++state.next_in;
    --state.avail_in;
  }
  if (state.avail_in == 0) return false;
  if (*state.next_in != gzip_magic[0])
    fail_gzip("other bytes", "a gzip member or the end of the file");
  std::uint8_t* const next_in = state.next_in;
  const std::uint32_t avail_in = state.avail_in;
  isal_inflate_reset(&state);
  state.crc_flag = ISAL_GZIP;
  state.next_in = next_in;
  state.avail_in = avail_in;
  return true;
}

std::size_t ByteSource::read_gzip(std::span<char> to) {
  inflate_state& state = gzip_->state;
  state.next_out = reinterpret_cast<std::uint8_t*>(to.data());
  state.avail_out = static_cast<std::uint32_t>(to.size());
  while (state.avail_out > 0) {
    if (state.block_state == ISAL_BLOCK_FINISH && !next_member()) break;
    const bool more = refill();
    const std::uint32_t before_out = state.avail_out;
    const std::uint32_t before_in = state.avail_in;
    const int code = isal_inflate(&state);
    if (code == ISAL_INCORRECT_CHECKSUM) fail_gzip("a wrong checksum", "the CRC of the data");
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW) {
      fail_gzip("corrupt deflate data", "a valid gzip stream");
    }
    const bool stuck = state.avail_out == before_out && state.avail_in == before_in;
    if (stuck && state.block_state != ISAL_BLOCK_FINISH) {
      if (more) fail_gzip("corrupt deflate data", "a valid gzip stream");
      fail_gzip("the end of the file", "more compressed data (the file is truncated)");
    }
  }
  return to.size() - state.avail_out;
}

}  // namespace tandem
