// Input that is no usable trace: each kind ends in an InputError that says where and why, or in a
// counted loss.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <ostream>
#include <string>

#include "sim/trace/json/window.h"
#include "tests/expect_has.h"
#include "tests/import_files.h"

namespace tandem {
namespace {

using test::gzip;
using test::import_error;
using test::import_text;
using test::kernel_event;
using test::kineto;
using test::TempFile;
using test::zstd;

std::string error_of_path(const std::string& path) {
  try {
    import_trace(path);
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(BadFile, Missing) {
  const std::string text = error_of_path("no/such/file.json");
  EXPECT_HAS(text, "no/such/file.json: found No such file");
  EXPECT_HAS(text, "expected a trace or report");
}

TEST(BadFile, Directory) {
  const TempFile file("");
  const auto folder = std::filesystem::path(file.path()).parent_path().string();
  EXPECT_HAS(error_of_path(folder), "found a folder, expected a trace or report");
}

TEST(BadFile, Device) { EXPECT_HAS(error_of_path("/dev/null"), "found a device"); }

TEST(BadFile, Unreadable) {
  if (::geteuid() == 0) GTEST_SKIP() << "root can read every file";
  const TempFile file(kineto(kernel_event()));
  std::filesystem::permissions(file.path(), std::filesystem::perms::none);
  EXPECT_HAS(error_of_path(file.path()), "Permission denied");
}

TEST(BadFile, Empty) {
  EXPECT_EQ(import_error(""),
            "byte 0: found no content, expected one of: what nsys export --type sqlite writes, "
            "a TensorFlow / JAX (XProf) trace in JSON, a PyTorch (Kineto) trace in JSON");
}

TEST(BadGzip, Truncated) {
  const std::string stored = gzip(kineto(kernel_event()));
  for (std::size_t cut = 2; cut < stored.size(); ++cut) {
    const std::string text = import_error(stored.substr(0, cut));
    EXPECT_HAS(text, "found the end of the file, expected more compressed data");
    EXPECT_HAS(text, "gzip offset " + std::to_string(cut));
  }
}

TEST(BadGzip, WrongChecksumOrLength) {
  const std::string good = gzip(kineto(kernel_event()));
  for (std::size_t from_end = 1; from_end <= 8; ++from_end) {
    std::string stored = good;
    stored[stored.size() - from_end] = static_cast<char>(stored[stored.size() - from_end] ^ 1);
    EXPECT_HAS(import_error(stored), "found a wrong checksum") << from_end;
  }
}

TEST(BadGzip, CorruptDataAndTrailingBytes) {
  std::string stored = gzip(kineto(kernel_event()));
  EXPECT_HAS(import_error(stored + "junk"), "expected a gzip member or the end of the file");
  stored[10] = static_cast<char>(0x07);  // a block of the reserved type
  EXPECT_HAS(import_error(stored), "found corrupt deflate data");
  EXPECT_HAS(import_error("\x1f\x8b\x03garbage"), "gzip offset");
}

TEST(BadZstd, Truncated) {
  const std::string stored = zstd(kineto(kernel_event()));
  for (std::size_t cut = 4; cut < stored.size(); ++cut) {
    const std::string text = import_error(stored.substr(0, cut));
    EXPECT_HAS(text, "found the end of the file, expected more compressed data");
    EXPECT_HAS(text, "zstd offset " + std::to_string(cut));
  }
}

TEST(BadZstd, WrongChecksum) {
  const std::string good = zstd(kineto(kernel_event()));
  for (std::size_t from_end = 1; from_end <= 4; ++from_end) {
    std::string stored = good;
    stored[stored.size() - from_end] = static_cast<char>(stored[stored.size() - from_end] ^ 1);
    EXPECT_HAS(import_error(stored), "found a wrong checksum") << from_end;
  }
}

TEST(BadZstd, CorruptDataAndTrailingBytes) {
  const std::string stored = zstd(kineto(kernel_event()));
  EXPECT_HAS(import_error(stored + "junk"), "expected a zstd frame or the end of the file");
  EXPECT_HAS(import_error(stored + std::string("\x28\xb5", 2)), "the file is truncated");
  EXPECT_HAS(import_error("\x28\xb5\x2f\xfdgarbage"), "zstd offset");
}

// A decoder holds the window that the frame asks for, so a few bytes could ask for gigabytes.
TEST(BadZstd, AskingForALargeWindow) {
  const std::string text = kineto(kernel_event());
  EXPECT_EQ(import_text(zstd(text, 27)).activities.size(), 1u);
  EXPECT_HAS(import_error(zstd(text, 28)), "found a frame whose window is larger than 128 MiB");
}

std::int64_t peak_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} << 10;
}

// 512 MiB of spaces in a few kilobytes are neither held nor read.
TEST(BadZstd, Bomb) {
  std::string stored = zstd("{\"schemaVersion\": 1, ");
  const std::string spaces = zstd(std::string(std::size_t{1} << 20, ' '));
  for (int frame = 0; frame < 512; ++frame) stored += spaces;
  EXPECT_LT(stored.size(), 100'000u);
  const std::int64_t before = peak_memory();
  EXPECT_HAS(import_error(stored), "found more than 8 MiB of blanks");
  EXPECT_LT(peak_memory() - before, std::int64_t{64} << 20);
}

TEST(BadJson, BinaryGarbage) {
  EXPECT_HAS(import_error(std::string("\x00\x01\xfe\xff\x89PNG", 8)), "byte 0: found `.....PNG`");
}

TEST(BadJson, OtherJson) {
  EXPECT_HAS(import_error(R"({"a": 1})"), R"(byte 0: found `{"a": 1}`)");
  EXPECT_HAS(import_error("[1, 2, 3]"), "byte 0: found `[1, 2, 3]`");
  EXPECT_HAS(import_error(R"({"schemaVersion": 1})"),
             R"(byte 19: found '}', expected "traceEvents" in the top-level object)");
}

TEST(BadJson, TraceEventsIsNoArray) {
  EXPECT_EQ(import_error(R"({"traceEvents": 5})"),
            "byte 16: found '5', expected '[': traceEvents must be an array");
  EXPECT_HAS(import_error(R"({"traceEvents": {"ph": "X"}})"), "found '{'");
}

TEST(BadJson, EventIsNoObject) {
  EXPECT_HAS(import_error(R"({"traceEvents": [1]})"),
             "byte 17: found '1', expected '{' of an event");
  EXPECT_HAS(import_error(kineto(kernel_event() + ",7")), "(after event 1): found '7'");
  EXPECT_HAS(import_error(kineto(kernel_event() + ",[7]," + kernel_event())), "event");
  EXPECT_HAS(import_error(kineto(kernel_event() + ",\"x\"," + kernel_event())), "event");
}

TEST(BadJson, SeparatorsBetweenEvents) {
  EXPECT_HAS(import_error(kineto(kernel_event() + " " + kernel_event())), "event 1)");
  EXPECT_HAS(import_error(kineto(kernel_event() + ",," + kernel_event())), "event 1)");
  EXPECT_HAS(import_error(kineto(kernel_event() + ",")), "found ']', expected '{' of an event");
}

TEST(BadJson, Truncated) {
  const std::string good = kineto(kernel_event() + "," + kernel_event());
  for (std::size_t cut = good.find('[') + 1; cut < good.size(); ++cut) {
    const std::string text = import_error(good.substr(0, cut));
    EXPECT_HAS(text, "byte " + std::to_string(cut));
    EXPECT_HAS(text, "found the end of the file");
  }
}

TEST(BadJson, SomethingAfterTheEnd) {
  EXPECT_HAS(import_error(kineto(kernel_event()) + "{}"), "expected nothing after the end");
}

TEST(BadJson, SyntaxInsideAnEvent) {
  const std::string head = kernel_event() + ",";
  for (const char* event : {R"({"ph": "X" "cat": "kernel"})", R"({"ph"})", R"({"ph": })",
                            R"({5: "X"})", R"({"ph": "X",})", R"({"ph": "X", "args": 3})"}) {
    const std::string text = import_error(kineto(head + event));
    EXPECT_HAS(text, "(event 2): found ") << event;
    EXPECT_HAS(text, "expected a valid JSON event");
  }
}

TEST(BadJson, BytesThatNoJsonMayHaveNameTheirEvent) {
  const std::string good = kernel_event();
  const std::string utf8 =
      import_error(kineto(good + "," + kernel_event({{"gemm", "ge\xff\xfe"}}) + "," + good));
  EXPECT_HAS(utf8, "(event 2)");
  EXPECT_HAS(utf8, "UTF-8");
  EXPECT_HAS(utf8, "byte " + std::to_string(kineto(good).size() - 1));
  const std::string raw =
      import_error(kineto(good + "," + good + "," + kernel_event({{"gemm", "ge\nmm"}})));
  EXPECT_HAS(raw, "(event 3)");
}

TEST(BadJson, NestingBombs) {
  constexpr std::size_t depth = 1'000'000;
  const std::string open(depth, '[');
  const std::string close(depth, ']');
  EXPECT_HAS(import_error(open), "found `[[[");
  EXPECT_HAS(import_error(R"({"schemaVersion": )" + open), "the file is truncated");
  EXPECT_HAS(import_error(R"({"traceEvents": )" + open), "expected '{' of an event");
  EXPECT_HAS(import_error(kineto(R"({"args": )" + open)), "the file is truncated");
  const std::string bomb = R"("correlation": 9, "x": )" + open + close;
  const Trace t = import_text(kineto(kernel_event({{R"("correlation": 9)", bomb}})));
  EXPECT_EQ(t.activities.correlation[0], 9);
}

TEST(BadJson, AnEventLongerThanTheWindow) {
  const std::string huge(JsonWindow::limit + 2 * JsonWindow::chunk, 'x');
  EXPECT_HAS(import_error(kineto(kernel_event({{"gemm", huge}}))), "longer than 8 MiB");
  EXPECT_HAS(import_error(R"({"schemaVersion": ")" + huge + R"(", "traceEvents": []})"),
             "expected a value shorter than 8 MiB");
}

TEST(BadTrace, WithoutEvents) {
  EXPECT_HAS(import_error(kineto("")), "found no event that can be used");
  EXPECT_HAS(import_error(kineto(R"({"ph":"i","ts":1,"name":"x"})")), "found no event");
  // Why: how many, and where the first stands.
  const std::string pairs = import_error(
      kineto(R"({"ph":"B","cat":"cpu_op","ts":1,"name":"x"},{"ph":"E","cat":"cpu_op","ts":2})"));
  EXPECT_HAS(pairs, "no event that can be used: unsupported_phase (2 x): ");
  EXPECT_HAS(pairs, "first at ");
}

TEST(BadTrace, WithoutGpuActivityImports) {
  const Trace t =
      import_text(kineto(R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1})"));
  EXPECT_EQ(t.ops.size(), 1u);
  EXPECT_EQ(t.activities.size(), 0u);
}

TEST(BadMetadata, IsCounted) {
  const Trace t =
      import_text(R"({"deviceProperties": 7, "distributedInfo": {"rank": "x"}, "traceEvents": [)" +
                  kernel_event() + "]}");
  EXPECT_EQ(t.losses.count("bad_metadata"), 2);
  EXPECT_TRUE(t.losses.any(Severity::data_loss));
}

TEST(BadMetadata, DevicesThatContradictEachOther) {
  const auto devices = [](const std::string& more, const std::string& key) {
    return import_text(R"({"deviceProperties": [{"id": 0, "name": "GPU", "numSms": 4})" + more +
                       "]" + key + R"(, "traceEvents": [)" + kernel_event() + "]}");
  };
  const std::string other = R"({"id": 0, "name": "GPU", "numSms": 8})";
  for (const Trace& t :
       {devices("," + other, ""), devices("", R"(, "deviceProperties": [)" + other + "]")}) {
    ASSERT_EQ(t.devices.size(), 1U);
    EXPECT_EQ(t.devices[0].sm_count, 4);
    EXPECT_EQ(t.losses.count("contradicting_devices"), 1);
  }
  const Trace t = devices(R"(, {"id": 0, "name": "GPU", "numSms": 4}, {"id": 1})", "");
  EXPECT_EQ(t.devices.size(), 2U);
  EXPECT_EQ(t.losses.count("contradicting_devices"), 0);
}

struct BadRow {
  const char* from;
  const char* to;
  const char* code;
  Severity severity = Severity::data_loss;
  std::size_t rows_left = 1;  // of two: the bad one is dropped
};

void PrintTo(const BadRow& row, std::ostream* out) {  // NOLINT(readability-identifier-naming)
  *out << row.code << ": " << row.to;
}

class BadRows : public testing::TestWithParam<BadRow> {};

TEST_P(BadRows, AreCounted) {
  const BadRow& row = GetParam();
  const Trace t = import_text(kineto(kernel_event() + "," + kernel_event({{row.from, row.to}})));
  EXPECT_EQ(t.losses.count(row.code), 1) << row.to;
  EXPECT_EQ(t.activities.size(), row.rows_left) << row.to;
  bool described = false;
  for (const Loss& loss : t.losses.all()) {
    if (loss.code != row.code) continue;
    EXPECT_EQ(loss.severity, row.severity);
    described =
        loss.description.find("(event 2)") != std::string::npos || loss.code == "non_json_token";
  }
  EXPECT_TRUE(described);
}

constexpr Severity warning = Severity::warning;
constexpr Severity loss = Severity::data_loss;

INSTANTIATE_TEST_SUITE_P(
    Import, BadRows,
    testing::Values(
        BadRow{R"("ts": 100.5, )", "", "missing_timestamp"},
        BadRow{"100.5", "NaN", "bad_timestamp"}, BadRow{"100.5", "null", "bad_timestamp"},
        BadRow{"100.5", "\"soon\"", "bad_timestamp"}, BadRow{"100.5", "[1]", "bad_timestamp"},
        BadRow{"100.5", "-3.5", "negative_timestamp"},
        BadRow{"100.5", "99999999999999999999", "absurd_timestamp"},
        BadRow{"100.5", "1712867402348700", "absurd_timestamp"},
        BadRow{R"( "dur": 2.25,)", "", "missing_duration"},
        BadRow{"2.25", "Infinity", "bad_duration"}, BadRow{"2.25", "{}", "missing_duration"},
        BadRow{"2.25", "-1", "negative_duration"}, BadRow{"2.25", "1000000000", "absurd_duration"},
        BadRow{"2.25", "1e300", "bad_duration"}, BadRow{"\"X\"", "\"B\"", "unsupported_phase"},
        BadRow{R"("cat": "kernel", )", "", "missing_category"},
        BadRow{R"("cat": "kernel")", R"("cat": "xpu_thing")", "unknown_category", warning},
        BadRow{R"("stream": 7)", R"("stream": "seven")", "missing_stream"},
        BadRow{"100.5", "NaN", "non_json_token", warning},
        BadRow{R"("context": 1)", R"("context": -Infinity)", "non_json_token", warning, 2},
        BadRow{R"("context": 1)", R"("context": NaN)", "bad_argument", loss, 2},
        BadRow{R"("correlation": 9)", R"("correlation": 9.5)", "bad_argument", loss, 2},
        BadRow{"[8, 4, 2]", "[0, 4, 2]", "bad_geometry", loss, 2},
        BadRow{"[8, 4, 2]", "[-8, 4, 2]", "bad_geometry", loss, 2},
        BadRow{"[8, 4, 2]", "[2147483648, 1, 1]", "bad_geometry", loss, 2},
        BadRow{"[8, 4, 2]", "[2147483647, 65535, 1]", "bad_geometry", loss, 2},
        BadRow{"[8, 4, 2]", "[8, 65536, 2]", "bad_geometry", loss, 2},
        BadRow{"[8, 4, 2]", "[8, 4]", "bad_geometry", loss, 2},
        BadRow{"[8, 4, 2]", "\"8,4,2\"", "bad_geometry", loss, 2},
        BadRow{"[128, 2, 1]", "[1024, 2, 1]", "bad_geometry", loss, 2},
        BadRow{"[128, 2, 1]", "[0, 0, 0]", "bad_geometry", loss, 2},
        BadRow{R"("shared memory": 1024)", R"("shared memory": -1)", "bad_geometry", loss, 2},
        BadRow{R"("registers per thread": 32)", R"("registers per thread": 4000000000)",
               "bad_geometry", loss, 2},
        BadRow{R"("name": "gemm", )", "", "missing_name", warning, 2},
        BadRow{"gemm", R"(ge\xmm)", "invalid_escape", warning, 2}));

// The event that is read stays; what it was called with counts as not recorded.
TEST(BadOperands, AreCountedWithFileAndEvent) {
  const auto event = [](std::string_view args) {
    return R"({"ph":"X","cat":"cpu_op","name":"a","pid":1,"tid":1,"ts":1,"dur":1,"args":{)" +
           std::string(args) + "}}";
  };
  const std::string nested = std::string(1000, '[') + std::string(1000, ']');
  std::size_t tried = 0;
  for (const std::string& args :
       {std::string(R"("Input Dims": [[64,"x"]])"), std::string(R"("Input Dims": "")"),
        std::string(R"("Input Dims": [[1.5]])"),
        std::string(R"("Input Dims": [[99999999999999999999]])"),
        std::string(R"("Input type": [[1]])"), std::string(R"("Concrete Inputs": [1])"),
        "\"Input Dims\": " + nested}) {
    const Trace t = import_text(
        kineto(event(R"("Input Dims": [[8]])") + "," + event(args) + "," + event(args)));
    ASSERT_EQ(t.ops.size(), 3u) << args;
    EXPECT_TRUE(t.ops.operands[0].valid());
    EXPECT_FALSE(t.ops.operands[1].valid()) << args;
    EXPECT_EQ(t.losses.count("op_shapes_unreadable"), 2) << args;
    EXPECT_HAS(t.losses.all().front().description, "(event 2)");
    EXPECT_HAS(t.losses.all().front().description, "found `");
    ++tried;
  }
  EXPECT_EQ(tried, 7u);
}

TEST(BadRow, HostEventsWithoutAThread) {
  const Trace t = import_text(
      kineto(kernel_event() +
             R"(,{"ph":"X","cat":"cpu_op","name":"a","pid":"x","tid":1,"ts":1,"dur":1})"));
  EXPECT_EQ(t.losses.count("bad_thread"), 1);
  EXPECT_EQ(t.ops.size(), 0u);
}

TEST(BadRow, NegativeBytes) {
  const Trace t = import_text(kineto(
      R"({"ph":"X","cat":"gpu_memcpy","name":"m","pid":0,"tid":7,"ts":1,"dur":1,"args":{"bytes":-4}})"));
  EXPECT_EQ(t.losses.count("negative_bytes"), 1);
  EXPECT_EQ(t.activities.bytes[0], 0);
}

TEST(BadRow, KernelsWithoutGeometryAreKept) {
  const Trace t = import_text(kineto(
      R"({"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":1,"dur":1,"args":{"correlation":1}})"));
  EXPECT_EQ(t.losses.count("missing_geometry"), 1);
  EXPECT_FALSE(t.activities.geometry[0].valid());
  EXPECT_FALSE(t.losses.any(Severity::data_loss));
}

}  // namespace
}  // namespace tandem
