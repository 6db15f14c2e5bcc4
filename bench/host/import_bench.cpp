// How fast traces are read, in bytes of uncompressed JSON per second.
#include <benchmark/benchmark.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "bench/host/large_trace.h"
#include "sim/trace/import.h"
#include "sim/trace/json/nesting.h"

namespace tandem {
namespace {

constexpr std::int64_t large_events = 170'000;  // about 64 MB

/// A file of repeated events that is gone at the end of the benchmark.
class LargeTrace {
 public:
  explicit LargeTrace(const std::string& content)
      : path_(std::filesystem::temp_directory_path() /
              ("tandem_bench_" + std::to_string(::getpid()) + ".json")) {
    std::FILE* const out = std::fopen(path_.c_str(), "wb");
    if (out == nullptr) throw std::runtime_error("cannot write " + path_.string());
    bench::RepeatedTrace(content).write(large_events, out);
    std::fclose(out);
  }
  ~LargeTrace() { std::filesystem::remove(path_); }
  LargeTrace(const LargeTrace&) = delete;
  LargeTrace& operator=(const LargeTrace&) = delete;
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

void import_repeatedly(benchmark::State& state, const std::string& path) {
  std::int64_t bytes = 0;
  for (auto _ : state) {
    const Trace trace = import_trace(path);
    bytes += trace.json_bytes;
    benchmark::DoNotOptimize(trace.activities.size());
  }
  state.SetBytesProcessed(bytes);
}

void import_measured_plain(benchmark::State& state) {
  const std::string path = bench::measured_trace();
  if (path.empty()) return state.SkipWithError("validation/captures is not there");
  import_repeatedly(state, LargeTrace(bench::read_content(path)).path());
}

void import_measured_packed(benchmark::State& state) {
  const std::string path = bench::measured_trace();
  if (path.empty()) return state.SkipWithError("validation/captures is not there");
  import_repeatedly(state, path);
}

void import_synthetic_plain(benchmark::State& state) {
  import_repeatedly(state, LargeTrace(bench::synthetic_content()).path());
}

// What it takes to find the ends of events, without reading them.
void scan_nesting(benchmark::State& state) {
  std::string text = bench::synthetic_content();
  text.resize(text.size() / NestingScanner::block_bytes * NestingScanner::block_bytes);
  std::int64_t ends = 0;
  for (auto _ : state) {
    NestingScanner scanner;
    for (std::size_t at = 0; at < text.size(); at += NestingScanner::block_bytes) {
      scanner.scan(text.data() + at, [&](const char*, std::int64_t) { return ++ends < 0; });
    }
  }
  benchmark::DoNotOptimize(ends);
  state.SetBytesProcessed(static_cast<std::int64_t>(text.size()) * state.iterations());
}

BENCHMARK(import_measured_plain)->Unit(benchmark::kMillisecond)->MinWarmUpTime(0.1);
BENCHMARK(import_measured_packed)->Unit(benchmark::kMillisecond)->MinWarmUpTime(0.1);
BENCHMARK(import_synthetic_plain)->Unit(benchmark::kMillisecond)->MinWarmUpTime(0.1);
BENCHMARK(scan_nesting)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tandem
