// Large traces for benchmarks of ingest: the events of a measured trace, repeated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "sim/trace/source/byte_source.h"
#include "tests/source_dir/source_dir.h"

namespace tandem::bench {

/// A trace of ours to repeat; empty if the measured data are not there.
inline std::string measured_trace() {
  const std::filesystem::path path =
      std::filesystem::path(source_dir()) /
      "validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst";
  return std::filesystem::exists(path) ? path.string() : std::string();
}

/// The uncompressed content of a trace file.
inline std::string read_content(const std::string& path) {
  ByteSource source(path);
  std::string content;
  constexpr std::size_t piece = std::size_t{1} << 20;
  for (std::size_t n = piece; n == piece;) {
    const std::size_t size = content.size();
    content.resize(size + piece);
    n = source.read({content.data() + size, piece});
    content.resize(size + n);
  }
  return content;
}

/// Operations with their calls and kernels, written as Kineto writes them.
inline std::string synthetic_content() {
  const std::string pattern = R"(
  {
    "ph": "X", "cat": "cpu_op", "name": "aten::add_", "pid": 451, "tid": 451,
    "ts": 4362395@.125, "dur": 14.750,
    "args": {
      "External id": @,"Record function id": 0, "Concrete Inputs": ["", "", "1"], "Input type": ["float", "float", "Scalar"], "Input Strides": [[4096, 1], [4096, 1], []], "Input Dims": [[32, 4096], [32, 4096], []], "Ev Idx": @
    }
  },
  {
    "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 451, "tid": 451,
    "ts": 4362395@.625, "dur": 5.250,
    "args": {
      "External id": @, "cbid": 211, "correlation": @
    }
  },
  {
    "ph": "X", "cat": "kernel", "name": "void vectorized_elementwise_kernel<4, AddFunctor<float>, array<char*, 3ul> >", "pid": 0, "tid": 7,
    "ts": 4362395@.875, "dur": 2.432,
    "args": {
      "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": @,
      "registers per thread": 32, "shared memory": 0,
      "blocks per SM": 0.969697, "warps per SM": 3.878788,
      "grid": [128, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %": 6
    }
  })";
  std::string events;
  for (int i = 100'000; i < 102'000; ++i) {  // six digits each, in place of @
    for (const char c : pattern) c == '@' ? events += std::to_string(i) : events += c;
    if (i + 1 < 102'000) events += ',';
  }
  return "{\"schemaVersion\": 1, \"traceEvents\": [" + events + "\n]}";
}

/// Writes a trace of at least `bytes` to `path`: `content` with its list of events repeated.
inline void write_repeated(const std::string& content, std::int64_t bytes,
                           const std::string& path) {
  const std::size_t begin = content.find('[', content.find("\"traceEvents\"")) + 1;
  const std::size_t end = content.find_last_of('}', content.rfind(']')) + 1;
  std::ofstream out(path, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(begin));
  const auto size = static_cast<std::int64_t>(end - begin);
  for (std::int64_t written = 0; written < bytes; written += size) {
    if (written > 0) out.put(',');
    out.write(content.data() + begin, size);
  }
  out << content.substr(content.rfind(']'));
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

}  // namespace tandem::bench
