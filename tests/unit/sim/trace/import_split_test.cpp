#include <gtest/gtest.h>

#include "sim/trace/json/nesting.h"
#include "sim/trace/json/splitter.h"
#include "tests/import_files.h"

namespace tandem {
namespace {

using test::TempFile;

struct Split {
  std::vector<std::string> batches;
  std::vector<std::pair<std::string, std::string>> values;
};

Split split(std::string_view content) {
  static constexpr std::array<std::string_view, 2> wanted{"deviceProperties", "note"};
  const TempFile file(content);
  ByteSource source(file.path());
  JsonWindow window(source);
  JsonSplitter splitter(window, wanted);
  Split result;
  EventBatch batch;
  while (splitter.next(batch, 0)) {
    const std::string_view source_text = content.substr(static_cast<std::size_t>(batch.offset) + 1);
    EXPECT_TRUE(source_text.starts_with(std::string_view(batch.json + 1, batch.size - 2)));
    result.batches.emplace_back(batch.json, batch.size);
  }
  result.values = splitter.values();
  return result;
}

TEST(JsonSplitter, FramesEventsAsAnArray) {
  const Split s = split(R"({"traceEvents": [ {"a": 1}, {"b": [2]} ] })");
  ASSERT_EQ(s.batches.size(), 1u);
  EXPECT_EQ(s.batches[0], R"([{"a": 1}, {"b": [2]}])");
}

TEST(JsonSplitter, TakesValuesBeforeAndAfterTheEvents) {
  const Split s = split(
      R"({"x": [1, {"y": "]}"}], "note": "a\"b", "traceEvents": [{}], "deviceProperties": [ {"id": 0} ],)"
      R"( "z": null, "w": -1.5e3})");
  ASSERT_EQ(s.batches.size(), 1u);
  ASSERT_EQ(s.values.size(), 2u);
  EXPECT_EQ(s.values[0], std::make_pair(std::string("note"), std::string(R"("a\"b")")));
  EXPECT_EQ(s.values[1].second, R"([ {"id": 0} ])");
}

TEST(JsonSplitter, AcceptsABareArrayAndAByteOrderMark) {
  EXPECT_EQ(split(R"([{"a":1}])").batches.size(), 1u);
  EXPECT_EQ(split("\xef\xbb\xbf {\"traceEvents\":[{}]} \n").batches.size(), 1u);
  EXPECT_TRUE(split("[]").batches.empty());
}

TEST(JsonSplitter, CountsNoBracketsInStrings) {
  const std::string event = R"({"name": "void f<int, {lambda()#1}>]}\\", "args": {"x": "\"}]"}})";
  const Split s = split("[" + event + "," + event + "]");
  ASSERT_FALSE(s.batches.empty());
  for (const std::string& batch : s.batches) {
    EXPECT_TRUE(batch == "[" + event + "]" || batch == "[" + event + "," + event + "]") << batch;
  }
}

// Batches end inside the window wherever the chunk happens to end: all bytes must come out once.
TEST(JsonSplitter, CarriesTailsOverChunks) {
  std::string events;
  std::size_t n = 0;
  while (events.size() < 5 * JsonWindow::chunk) {
    const std::string pad(n * 37 % 1500, n % 3 == 0 ? '\\' : '}');
    const std::string even = n % 3 == 0 && pad.size() % 2 == 1 ? pad + "\\" : pad;
    events += (n == 0       ? ""
               : n % 2 == 0 ? ",\n  "
                            : ",") +
              std::string("{\"name\":\"") + even + "\"}";
    ++n;
  }
  const Split s = split("{\"traceEvents\":[" + events + "]}");
  EXPECT_GT(s.batches.size(), 4u);
  std::size_t count = 0;
  for (const std::string& batch : s.batches) {
    ASSERT_TRUE(batch.starts_with("[{\"name\"") && batch.ends_with("\"}]"));
    for (std::size_t at = 0; (at = batch.find("{\"name\":", at)) != std::string::npos; ++at)
      ++count;
  }
  EXPECT_EQ(count, n);
}

TEST(JsonSplitter, GrowsTheWindowForAHugeEvent) {
  const std::string huge = "{\"name\":\"" + std::string(5 * JsonWindow::chunk, 'x') + "\"}";
  const Split s = split("[{\"a\":1}," + huge + ",{\"b\":2}]");
  std::size_t bytes = 0;
  for (const std::string& batch : s.batches) bytes += batch.size() - 1;
  EXPECT_EQ(bytes, huge.size() + 2 * std::string("{\"a\":1},").size() + 1);
}

TEST(JsonSplitter, PassesHugeOtherValuesBy) {
  const std::string value = "[\"" + std::string(20 * JsonWindow::chunk, 'x') + "\"]";
  EXPECT_EQ(split("{\"log\": " + value + ", \"traceEvents\": [{}]}").batches.size(), 1u);
}

TEST(NestingScanner, AgreesWithACharacterLoop) {
  std::uint32_t random = 12345;
  const auto next = [&] { return random = random * 1664525u + 1013904223u, random >> 24; };
  for (int round = 0; round < 2000; ++round) {
    std::string text = "{";
    while (text.size() < 4 * NestingScanner::block_bytes) {
      constexpr std::string_view alphabet = "{}[]\"\\\\\"x ";
      text += alphabet[next() % alphabet.size()];
    }
    std::vector<std::size_t> expected;
    std::int64_t depth = 0;
    bool in_string = false;
    bool escaped = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '"' && !escaped) in_string = !in_string;
      escaped = text[i] == '\\' && !escaped;
      if (in_string) continue;
      if (text[i] == '{' || text[i] == '[') ++depth;
      if ((text[i] == '}' || text[i] == ']') && --depth <= 0) expected.push_back(i);
    }
    std::vector<std::size_t> found;
    NestingScanner scanner;
    for (std::size_t at = 0; at < text.size(); at += NestingScanner::block_bytes) {
      scanner.scan(text.data() + at, [&](const char* p, std::int64_t) {
        found.push_back(static_cast<std::size_t>(p - text.data()));
        return false;
      });
    }
    ASSERT_EQ(found, expected) << text;
  }
}

}  // namespace
}  // namespace tandem
