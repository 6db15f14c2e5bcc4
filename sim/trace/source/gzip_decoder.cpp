// gzip by ISA-L. Several members are one stream, their checksums are verified.
#include <isa-l/igzip_lib.h>

#include <array>
#include <cstdint>
#include <string>

#include "sim/core/error.h"
#include "sim/trace/source/decoder.h"

namespace tandem {

namespace {

constexpr std::size_t input_bytes = std::size_t{1} << 18;
constexpr std::string_view magic = "\x1f\x8b";

class GzipDecoder : public Decoder {
 public:
  explicit GzipDecoder(StoredFile& file) : file_(file) {
    isal_inflate_init(&state_);
    state_.crc_flag = ISAL_GZIP;
  }
  std::size_t read(std::span<char> to) override;

 private:
  bool refill();
  bool next_member();
  [[noreturn]] void fail(const char* found, const char* expected) const;

  StoredFile& file_;
  inflate_state state_;
  std::array<char, input_bytes> input_;
};

bool GzipDecoder::refill() {
  if (state_.avail_in > 0) return true;
  const std::size_t n = file_.read(input_);
  state_.next_in = reinterpret_cast<std::uint8_t*>(input_.data());
  state_.avail_in = static_cast<std::uint32_t>(n);
  return n > 0;
}

void GzipDecoder::fail(const char* found, const char* expected) const {
  const std::int64_t offset = file_.bytes_read() - state_.avail_in;
  throw InputError(file_.path(), "gzip offset " + std::to_string(offset), found, expected);
}

// Starts the next member, if there is one. Zero bytes that pad the file to a block are no member.
bool GzipDecoder::next_member() {
  while (refill() && *state_.next_in == 0) {
    ++state_.next_in;
    --state_.avail_in;
  }
  if (state_.avail_in == 0) return false;
  if (*state_.next_in != static_cast<std::uint8_t>(magic[0])) {
    fail("other bytes", "a gzip member or the end of the file");
  }
  std::uint8_t* const next_in = state_.next_in;
  const std::uint32_t avail_in = state_.avail_in;
  isal_inflate_reset(&state_);
  state_.crc_flag = ISAL_GZIP;
  state_.next_in = next_in;
  state_.avail_in = avail_in;
  return true;
}

std::size_t GzipDecoder::read(std::span<char> to) {
  state_.next_out = reinterpret_cast<std::uint8_t*>(to.data());
  state_.avail_out = static_cast<std::uint32_t>(to.size());
  while (state_.avail_out > 0) {
    if (state_.block_state == ISAL_BLOCK_FINISH && !next_member()) break;
    const bool more = refill();
    const std::uint32_t before_out = state_.avail_out;
    const std::uint32_t before_in = state_.avail_in;
    const int code = isal_inflate(&state_);
    if (code == ISAL_INCORRECT_CHECKSUM) fail("a wrong checksum", "the CRC of the data");
    if (code != ISAL_DECOMP_OK && code != ISAL_END_INPUT && code != ISAL_OUT_OVERFLOW) {
      fail("corrupt deflate data", "a valid gzip stream");
    }
    const bool stuck = state_.avail_out == before_out && state_.avail_in == before_in;
    if (stuck && state_.block_state != ISAL_BLOCK_FINISH) {
      if (more) fail("corrupt deflate data", "a valid gzip stream");
      fail("the end of the file", "more compressed data (the file is truncated)");
    }
  }
  return to.size() - state_.avail_out;
}

}  // namespace

bool is_gzip(std::string_view prefix) { return prefix.starts_with(magic); }

std::unique_ptr<Decoder> gzip_decoder(StoredFile& file) {
  return std::make_unique<GzipDecoder>(file);
}

}  // namespace tandem
