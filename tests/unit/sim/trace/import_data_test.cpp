// Imports traces of the measured data: ours (one in three, or all: captures.h), and those of
// $TANDEM_DATA_DIR.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "sim/trace/import.h"
#include "sim/trace/source/stored_name.h"
#include "tests/captures.h"

namespace tandem {
namespace {

std::vector<std::string> traces_under(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    const std::string path = entry.path().string();
    const auto stem = trace_stem(path);
    // Other plain JSON files lie there as well.
    const bool is_trace = stem && (!path.ends_with(".json") || stem->ends_with(".trace"));
    if (entry.is_regular_file() && is_trace) paths.push_back(path);
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// What holds for the trace of any run of an eager runtime on a CPU.
void expect_executor(const Trace& t) {
  EXPECT_GT(t.ops.size(), t.nodes.size());
  EXPECT_EQ(t.framework, Framework::tensorflow);
  EXPECT_TRUE(t.stated_batch.has_value());
  EXPECT_FALSE(t.losses.any(Severity::data_loss));
  for (const Duration d : t.nodes.duration) ASSERT_GE(d.count(), 0);
  for (const std::uint32_t op : t.nodes.op) ASSERT_LT(op, t.ops.size());
}

// What holds for the trace of any run on a GPU.
void expect_sane(const Trace& t) {
  EXPECT_GT(t.activities.size(), 0u);
  EXPECT_GT(t.calls.size(), 0u);
  EXPECT_FALSE(t.streams.empty());
  EXPECT_FALSE(t.threads.empty());
  EXPECT_NE(t.framework, Framework::unknown);
  EXPECT_FALSE(t.losses.any(Severity::data_loss)) << t.losses.all().front().description;
  std::size_t joined = 0;
  std::vector<std::int64_t> calls(t.calls.correlation.begin(), t.calls.correlation.end());
  std::sort(calls.begin(), calls.end());
  for (const std::int64_t id : t.activities.correlation) {
    joined += std::binary_search(calls.begin(), calls.end(), id);
  }
  EXPECT_GT(joined, 0u);
  for (const Duration d : t.activities.duration) ASSERT_GE(d.count(), 0);
  for (const StringId name : t.activities.name) ASSERT_FALSE(t.strings.get(name).empty());
}

void expect_traces_load(const std::vector<std::string>& paths) {
  ASSERT_FALSE(paths.empty());
  for (const std::string& path : paths) {
    SCOPED_TRACE(path);
    const Trace trace = import_trace(path);
    trace.nodes.size() > 0 ? expect_executor(trace) : expect_sane(trace);
  }
}

TEST(ImportData, OurMeasuredTracesLoad) { expect_traces_load(test::captures(240)); }

TEST(ImportData, TracesOfTheDataFolderLoad) {
  const char* const folder = std::getenv("TANDEM_DATA_DIR");
  if (folder == nullptr) GTEST_SKIP() << "TANDEM_DATA_DIR does not name a folder of traces";
  expect_traces_load(traces_under(folder));
}

}  // namespace
}  // namespace tandem
