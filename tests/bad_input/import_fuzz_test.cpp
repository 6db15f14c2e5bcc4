// Damages small traces at every byte: the importer must return a trace or throw InputError, and do
// so at once.
#include <gtest/gtest.h>

#include "tests/import_files.h"

namespace tandem {
namespace {

using test::gzip;
using test::kernel_event;
using test::kineto;
using test::TempFile;
using test::zstd;

std::string kineto_sample() {
  return R"({"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "GPU", "numSms": 4}],)"
         R"("distributedInfo": {"rank": 0}, "traceEvents": [{"ph": "X", "cat": "cpu_op", "name":)"
         R"( "a\u00e9\"b", "pid": 1, "tid": 2, "ts": 4361851650648.622, "dur": 1.5, "args":)"
         R"({"External id": 7, "Input Dims": [[32, 64], []]}},)" +
         kernel_event({{"100.5", "4361851650649.622"}}) +
         R"(,{"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "t"}}]})";
}

std::string xprof_sample() {
  return R"({"traceEvents":[{"ph":"M","pid":1,"name":"process_name","args":{"name":"/device:GPU:0"}},)"
         R"({"ph":"M","pid":1,"tid":13,"name":"thread_name","args":{"name":"Stream #13(Compute,D2H)x"}},)"
         R"({"ph":"X","pid":1,"tid":13,"ts":1.5,"dur":1,"name":"k","args":{"correlation_id":"1",)"
         R"("kernel_details":"regs:26 static_shared:0 grid:10,1,1 block:128,1,1"}},{}]})";
}

// 1: imported, 0: refused.
int try_import(const std::string& content) {
  const TempFile file(content);
  try {
    import_trace(file.path());
    return 1;
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find(": found "), std::string::npos) << error.what();
    return 0;
  }
}

class Damage : public testing::TestWithParam<std::string> {
 protected:
  static std::string sample() {
    if (GetParam() == "kineto") return kineto_sample();
    if (GetParam() == "xprof") return xprof_sample();
    return GetParam() == "gzip" ? gzip(kineto_sample()) : zstd(kineto_sample());
  }
};

TEST_P(Damage, Truncated) {
  const std::string good = sample();
  ASSERT_EQ(try_import(good), 1);
  for (std::size_t size = 0; size < good.size(); ++size) try_import(good.substr(0, size));
}

TEST_P(Damage, OneBitFlipped) {
  const std::string good = sample();
  int imported = 0;
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ (1 << (i % 8)));
    imported += try_import(bad);
  }
  RecordProperty("imported", imported);
}

TEST_P(Damage, OneByteReplaced) {
  const std::string good = sample();
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = "\"\\{}[],:\0-9e\xff"[i * 7 % 14];
    try_import(bad);
  }
}

TEST_P(Damage, APieceRemovedOrRepeated) {
  const std::string good = sample();
  for (std::size_t i = 0; i + 11 < good.size(); ++i) {
    try_import(good.substr(0, i) + good.substr(i + 1 + i % 10));
    try_import(good.substr(0, i + 1 + i % 10) + good.substr(i));
  }
}

INSTANTIATE_TEST_SUITE_P(Import, Damage, testing::Values("kineto", "xprof", "gzip", "zstd"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tandem
