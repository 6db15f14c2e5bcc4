// Zstandard by libzstd. Several frames are one stream, checksums are verified where they are there.
#include <zstd.h>
#include <zstd_errors.h>

#include <memory>
#include <string>
#include <vector>

#include "sim/core/error.h"
#include "sim/trace/source/decoder.h"

namespace tandem {

namespace {

constexpr std::size_t zstd_input_bytes = std::size_t{1} << 18;
/// A frame says how large a window its decoder has to hold. 128 MiB is what `zstd -d` grants.
constexpr int max_window_log = 27;
constexpr std::string_view frame_magic = "\x28\xb5\x2f\xfd";
constexpr std::string_view skippable_magic = "\x2a\x4d\x18";  // behind 0x50 ... 0x5f

class ZstdDecoder : public Decoder {
 public:
  explicit ZstdDecoder(StoredFile& file);
  std::size_t read(std::span<char> to) override;

 private:
  bool refill();
  [[noreturn]] void fail(std::string_view found, std::string_view expected) const;
  [[noreturn]] void fail(std::size_t result) const;

  StoredFile& file_;
  std::unique_ptr<ZSTD_DCtx, decltype(&ZSTD_freeDCtx)> context_;
  std::vector<char> buffer_;
  ZSTD_inBuffer input_{};
  bool in_frame_ = false;  // a frame has begun whose last byte has not been delivered
};

ZstdDecoder::ZstdDecoder(StoredFile& file)
    : file_(file), context_(ZSTD_createDCtx(), ZSTD_freeDCtx), buffer_(zstd_input_bytes) {
  if (!context_) throw std::bad_alloc();
  ZSTD_DCtx_setParameter(context_.get(), ZSTD_d_windowLogMax, max_window_log);
  input_.src = buffer_.data();
}

bool ZstdDecoder::refill() {
  if (input_.pos < input_.size) return true;
  input_.pos = 0;
  input_.size = file_.read(buffer_);
  return input_.size > 0;
}

void ZstdDecoder::fail(std::string_view found, std::string_view expected) const {
  const auto offset = file_.bytes_read() - static_cast<std::int64_t>(input_.size - input_.pos);
  throw InputError(file_.path(), "zstd offset " + std::to_string(offset), found, expected);
}

void ZstdDecoder::fail(std::size_t result) const {
  switch (ZSTD_getErrorCode(result)) {
    case ZSTD_error_memory_allocation: throw std::bad_alloc();
    case ZSTD_error_checksum_wrong: fail("a wrong checksum", "the checksum of the data");
    case ZSTD_error_frameParameter_windowTooLarge:
      fail("a frame whose window is larger than 128 MiB", "one packed without --long=28 or more");
    case ZSTD_error_dictionary_wrong:
      fail("a frame packed with a dictionary", "one packed without a dictionary");
    case ZSTD_error_prefix_unknown: fail("other bytes", "a zstd frame or the end of the file");
    default: fail("corrupt zstd data", "a valid zstd stream");
  }
}

std::size_t ZstdDecoder::read(std::span<char> to) {
  ZSTD_outBuffer output{to.data(), to.size(), 0};
  while (output.pos < output.size) {
    const bool more = refill();
    if (!more && !in_frame_) break;
    const std::size_t before = output.pos;
    // 0: the frame is complete; otherwise how many bytes it would like to see next.
    const std::size_t result = ZSTD_decompressStream(context_.get(), &output, &input_);
    if (ZSTD_isError(result)) fail(result);
    in_frame_ = result != 0;
    if (!more && in_frame_ && output.pos == before) {
      fail("the end of the file", "more compressed data (the file is truncated)");
    }
  }
  return output.pos;
}

}  // namespace

bool is_zstd(std::string_view prefix) {
  if (prefix.starts_with(frame_magic)) return true;
  return prefix.size() > skippable_magic.size() && (prefix[0] & 0xf0) == 0x50 &&
         prefix.substr(1).starts_with(skippable_magic);
}

std::unique_ptr<Decoder> zstd_decoder(StoredFile& file) {
  return std::make_unique<ZstdDecoder>(file);
}

}  // namespace tandem
