// Input that is too large: an error, in time and memory that have bounds.
#include <gtest/gtest.h>

#include <string>

#include "tests/expect_has.h"
#include "tests/import_files.h"

namespace tandem {
namespace {

using test::gzip;
using test::import_error;
using test::import_text;
using test::kernel_event;
using test::kineto;
using test::zstd;

constexpr std::size_t mebi = std::size_t{1} << 20;

/// As many kernels as asked for, each with `text` replaced by `make(i)`.
template <class Make>
std::string kernels(int count, std::string_view text, Make make) {
  std::string out;
  for (int i = 0; i < count; ++i) {
    out += (i > 0 ? "," : "") + kernel_event({{text, make(i)}});
  }
  return kineto(out);
}

TEST(TooLarge, Streams) {
  const auto stream = [](int i) { return "\"stream\": " + std::to_string(i); };
  EXPECT_EQ(import_text(kernels(4'096, "\"stream\": 7", stream)).streams.size(), 4'096u);
  EXPECT_HAS(import_error(kernels(16'385, "\"stream\": 7", stream)),
             "(event 4097): found more than 4096 streams, expected at most 4096");
}

TEST(TooLarge, Threads) {
  std::string events = kernel_event();
  for (int i = 0; i <= 4'096; ++i) {
    events += R"(,{"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":)" + std::to_string(i) +
              R"(,"ts":1,"dur":1})";
  }
  EXPECT_HAS(import_error(kineto(events)), "more than 4096 threads");
}

TEST(TooLarge, NamesOfThreads) {
  std::string events = kernel_event();
  for (int i = 0; i <= 16'384; ++i) {
    events += R"(,{"ph":"M","name":"thread_name","pid":1,"tid":)" + std::to_string(i) +
              R"(,"args":{"name":"a"}})";
  }
  EXPECT_HAS(import_error(kineto(events)), "more than 16384 names of threads");
}

// 40 names of 7 MiB, in a few hundred kilobytes.
TEST(TooLarge, NamesTogether) {
  const auto name = [](int i) { return std::to_string(i) + std::string(7 * mebi, 'x'); };
  std::string stored = zstd(R"({"schemaVersion": 1, "traceEvents": [)");
  for (int i = 0; i < 40; ++i) {
    stored += zstd((i > 0 ? "," : "") + kernel_event({{"gemm", name(i)}}));
  }
  EXPECT_LT(stored.size(), mebi);
  EXPECT_HAS(import_error(stored + zstd("]}")), "bytes of different names");
}

// Text of one kind that goes on and on costs no memory, and an error ends it where it can only be
// wrong: the bomb is 12 MiB here, which a reader without limits takes.
TEST(TooLarge, Bombs) {
  const auto bomb = [](std::string_view before, char c, std::string_view after) {
    return std::string(before) + std::string(12 * mebi, c) + std::string(after);
  };
  for (const auto pack : {+[](std::string_view text) { return gzip(text); },
                          +[](std::string_view text) { return zstd(text); }}) {
    const auto error = [&](std::string_view before, char c, std::string_view after) {
      return import_error(pack(bomb(before, c, after)));
    };
    EXPECT_HAS(error("{\"schemaVersion\": ", ' ', "1}"), "found more than 8 MiB of blanks");
    EXPECT_HAS(error("{\"schemaVersion\": 1, \"traceEvents\": [", '\n', "]}"), "MiB of blanks");
    EXPECT_HAS(error("{\"schemaVersion\": 1, \"", 'x', "\": 1}"), "shorter than 8 MiB");
    EXPECT_HAS(error("{\"schemaVersion\": \"", 'x', "\"}"), "shorter than 8 MiB");
    EXPECT_HAS(error("{\"schemaVersion\": 1, \"deviceProperties\": [", '1', "]}"),
               "shorter than 8 MiB");
    EXPECT_HAS(error(R"({"schemaVersion": 1, "traceEvents": [{"name": ")", 'x', "\"}]}"),
               "longer than 8 MiB");
  }
}

TEST(TooLarge, ValuesBesideTheEventsTogether) {
  std::string text = R"({"schemaVersion": 1)";
  for (int i = 0; i < 5; ++i) {
    text += R"(, "deviceProperties": ")" + std::string(2 * mebi, 'x') + "\"";
  }
  EXPECT_HAS(import_error(text + "}"), "values beside the events of 8 MiB together");
}

}  // namespace
}  // namespace tandem
