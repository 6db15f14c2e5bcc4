#include "sim/trace/source/compression.h"

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <cstdint>
#include <memory>
#include <streambuf>
#include <vector>

namespace tandem {

namespace {

constexpr std::size_t chunk_bytes = std::size_t{1} << 18;

/// Hands what is written in chunks to `compress`, the last one as such.
class ChunkBuffer : public std::streambuf {
 public:
  using Compress = std::function<void(char* data, std::size_t size, bool last)>;
  explicit ChunkBuffer(Compress compress) : compress_(std::move(compress)), chunk_(chunk_bytes) {
    setp(chunk_.data(), chunk_.data() + chunk_.size());
  }
  void finish() { pass_on(true); }

 protected:
  int_type overflow(int_type c) override {
    pass_on(false);
    return traits_type::eq_int_type(c, traits_type::eof()) ? traits_type::not_eof(c)
                                                           : sputc(traits_type::to_char_type(c));
  }

 private:
  void pass_on(bool last) {
    compress_(pbase(), static_cast<std::size_t>(pptr() - pbase()), last);
    setp(chunk_.data(), chunk_.data() + chunk_.size());
  }
  Compress compress_;
  std::vector<char> chunk_;
};

void write_through(const ChunkBuffer::Compress& compress,
                   const std::function<void(std::ostream&)>& write) {
  ChunkBuffer buffer(compress);
  std::ostream stream(&buffer);
  write(stream);
  buffer.finish();
}

void write_gzip(std::ostream& out, const std::function<void(std::ostream&)>& write) {
  isal_zstream stream;
  isal_deflate_init(&stream);
  std::vector<std::uint8_t> level(ISAL_DEF_LVL1_DEFAULT);
  stream.level = 1;
  stream.level_buf = level.data();
  stream.level_buf_size = static_cast<std::uint32_t>(level.size());
  stream.gzip_flag = IGZIP_GZIP;
  std::vector<char> packed(chunk_bytes);
  const auto compress = [&](char* data, std::size_t size, bool last) {
    stream.next_in = reinterpret_cast<std::uint8_t*>(data);
    stream.avail_in = static_cast<std::uint32_t>(size);
    stream.end_of_stream = last ? 1 : 0;
    do {
      stream.next_out = reinterpret_cast<std::uint8_t*>(packed.data());
      stream.avail_out = static_cast<std::uint32_t>(packed.size());
      isal_deflate(&stream);
      out.write(packed.data(), static_cast<std::streamsize>(packed.size() - stream.avail_out));
    } while (stream.avail_out == 0);
  };
  write_through(compress, write);
}

void write_zstd(std::ostream& out, const std::function<void(std::ostream&)>& write) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  std::vector<char> packed(ZSTD_CStreamOutSize());
  const auto compress = [&](char* data, std::size_t size, bool last) {
    ZSTD_inBuffer from{data, size, 0};
    bool done = false;
    while (!done) {
      ZSTD_outBuffer to{packed.data(), packed.size(), 0};
      const std::size_t left =
          ZSTD_compressStream2(context.get(), &to, &from, last ? ZSTD_e_end : ZSTD_e_continue);
      if (ZSTD_isError(left) != 0) out.setstate(std::ios::failbit);
      out.write(packed.data(), static_cast<std::streamsize>(to.pos));
      done = !out || (last ? left == 0 : from.pos == from.size);
    }
  };
  write_through(compress, write);
}

}  // namespace

void write_as_named(std::string_view path, std::ostream& out,
                    const std::function<void(std::ostream&)>& write) {
  if (path.ends_with(".gz")) return write_gzip(out, write);
  if (path.ends_with(".zst")) return write_zstd(out, write);
  write(out);
}

}  // namespace tandem
