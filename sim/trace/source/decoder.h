// What turns the stored bytes of a compressed file into its content, one class a compression.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "sim/trace/source/stored_file.h"

namespace tandem {

class Decoder {
 public:
  virtual ~Decoder() = default;
  /// Fills `to` from the front, all of it unless the content ends; returns how many bytes.
  /// Throws InputError for corrupt or truncated data.
  virtual std::size_t read(std::span<char> to) = 0;
};

/// Each recogniser sees the first bytes of the file; each decoder reads it from the beginning.
bool is_gzip(std::string_view prefix);
std::unique_ptr<Decoder> gzip_decoder(StoredFile& file);

bool is_zstd(std::string_view prefix);
std::unique_ptr<Decoder> zstd_decoder(StoredFile& file);

}  // namespace tandem
