// Files for the tests of ingest: written into a scratch folder, plain or compressed, and read back.
#pragma once

#include <isa-l/igzip_lib.h>
#include <zstd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "sim/trace/import.h"

namespace tandem::test {

/// A file that is gone when the test ends.
class TempFile {
 public:
  explicit TempFile(std::string_view content, const std::string& name = "trace.json") {
    static std::atomic<int> count = 0;
    folder_ = std::filesystem::temp_directory_path() /
              ("tandem_import_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(folder_);
    path_ = (folder_ / name).string();
    std::ofstream(path_, std::ios::binary).write(content.data(), std::ssize(content));
  }
  ~TempFile() { std::filesystem::remove_all(folder_); }
  TempFile(const TempFile&) = delete;
  TempFile& operator=(const TempFile&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::filesystem::path folder_;
  std::string path_;
};

inline Trace import_text(std::string_view content) {
  const TempFile file(content);
  return import_trace(file.path());
}

/// The text of the InputError that importing `content` throws, without the path in front; empty if
/// it throws none.
inline std::string import_error(std::string_view content) {
  const TempFile file(content);
  try {
    import_trace(file.path());
  } catch (const InputError& error) {
    const std::string text = error.what();
    return text.starts_with(file.path()) ? text.substr(file.path().size() + 1) : "NO PATH: " + text;
  }
  return {};
}

/// A Kineto document with these events, given as the text between the brackets.
inline std::string kineto(std::string_view events) {
  return std::string(R"({"schemaVersion": 1, "traceEvents": [)") + std::string(events) + "]}";
}

/// A kernel event; `changes` replaces parts of it, each given as {text, replacement}.
inline std::string kernel_event(
    std::initializer_list<std::pair<std::string_view, std::string_view>> changes = {}) {
  std::string event =
      R"({"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 100.5, "dur": 2.25,)"
      R"( "args": {"External id": 5, "device": 0, "context": 1, "stream": 7, "correlation": 9,)"
      R"( "registers per thread": 32, "shared memory": 1024, "grid": [8, 4, 2],)"
      R"( "block": [128, 2, 1]}})";
  for (const auto& [from, to] : changes) event.replace(event.find(from), from.size(), to);
  return event;
}

inline std::string gzip(std::string_view text) {
  std::string out(text.size() + text.size() / 8 + 512, '\0');
  isal_zstream stream;
  isal_deflate_stateless_init(&stream);
  stream.gzip_flag = IGZIP_GZIP;
  stream.end_of_stream = 1;
  stream.next_in = reinterpret_cast<std::uint8_t*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<std::uint32_t>(text.size());
  stream.next_out = reinterpret_cast<std::uint8_t*>(out.data());
  stream.avail_out = static_cast<std::uint32_t>(out.size());
  if (isal_deflate_stateless(&stream) != COMP_OK) throw std::runtime_error("gzip failed");
  out.resize(stream.total_out);
  return out;
}

/// One frame with a checksum; `window_log` is the window that it asks for, 0: what suits the text.
inline std::string zstd(std::string_view text, int window_log = 0) {
  const std::unique_ptr<ZSTD_CCtx, decltype(&ZSTD_freeCCtx)> context(ZSTD_createCCtx(),
                                                                     ZSTD_freeCCtx);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_checksumFlag, 1);
  ZSTD_CCtx_setParameter(context.get(), ZSTD_c_windowLog, window_log);
  // Written as a stream: a frame that knew its size would ask for no more than that.
  if (window_log > 0) ZSTD_CCtx_setParameter(context.get(), ZSTD_c_contentSizeFlag, 0);
  std::string out(ZSTD_compressBound(text.size()), '\0');
  ZSTD_inBuffer from{text.data(), text.size(), 0};
  ZSTD_outBuffer to{out.data(), out.size(), 0};
  if (window_log > 0) ZSTD_compressStream2(context.get(), &to, &from, ZSTD_e_continue);
  if (ZSTD_compressStream2(context.get(), &to, &from, ZSTD_e_end) != 0) {
    throw std::runtime_error("zstd failed");
  }
  out.resize(to.pos);
  return out;
}

}  // namespace tandem::test
