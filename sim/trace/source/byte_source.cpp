#include "sim/trace/source/byte_source.h"

#include <algorithm>
#include <array>
#include <utility>

namespace tandem {

namespace {

constexpr std::int64_t report_bytes = std::int64_t{16} << 20;

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

ByteSource::ByteSource(const std::string& path, Progress progress)
    : file_(path),
      decoder_(decoder_for(file_)),
      progress_(std::move(progress)),
      next_report_(report_bytes) {}

std::size_t ByteSource::decode(std::span<char> to) {
  return decoder_ ? decoder_->read(to) : file_.read(to);
}

std::string_view ByteSource::prefix() {
  if (bytes_read_ == 0 && ahead_.empty()) {
    ahead_.resize(prefix_bytes);
    ahead_.resize(decode(ahead_));
  }
  return {ahead_.data(), ahead_.size()};
}

std::size_t ByteSource::read(std::span<char> to) {
  const std::size_t kept = std::min(to.size(), ahead_.size() - ahead_at_);
  std::copy_n(ahead_.begin() + static_cast<std::ptrdiff_t>(ahead_at_), kept, to.begin());
  ahead_at_ += kept;
  if (kept > 0 && ahead_at_ == ahead_.size()) {
    ahead_ = {};
    ahead_at_ = 0;
  }
  const std::size_t n = kept + decode(to.subspan(kept));
  bytes_read_ += static_cast<std::int64_t>(n);
  report();
  return n;
}

void ByteSource::report() {
  if (!progress_ || bytes_read_ < next_report_) return;
  next_report_ = bytes_read_ + report_bytes;
  progress_(stored_read(), file_bytes());
}

}  // namespace tandem
