#include "sim/trace/source/byte_source.h"

#include <array>
#include <string_view>

namespace tandem {

namespace {

struct Compression {
  bool (*recognise)(std::string_view prefix);
  std::unique_ptr<Decoder> (*decoder)(StoredFile& file);
};

// One row a compression; content that no row recognises is plain.
constexpr std::array compressions{
    Compression{is_gzip, gzip_decoder},
    Compression{is_zstd, zstd_decoder},
};

std::unique_ptr<Decoder> decoder_for(StoredFile& file) {
  std::array<char, 4> prefix{};
  const std::string_view seen(prefix.data(), file.peek(prefix));
  for (const Compression& compression : compressions) {
    if (compression.recognise(seen)) return compression.decoder(file);
  }
  return nullptr;
}

}  // namespace

ByteSource::ByteSource(const std::string& path) : file_(path), decoder_(decoder_for(file_)) {}

std::size_t ByteSource::read(std::span<char> to) {
  const std::size_t n = decoder_ ? decoder_->read(to) : file_.read(to);
  bytes_read_ += static_cast<std::int64_t>(n);
  return n;
}

}  // namespace tandem
