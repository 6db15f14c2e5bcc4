// The cases of the repository, run on the captures that come with it.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/core/error.h"
#include "tests/import_files.h"
#include "tests/source_dir/source_dir.h"
#include "validation/compare/compare.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << "got: " << (text)

const std::string root = source_dir();

CompareOptions committed_data() { return {{root + "/validation/measured"}, root + "/configs"}; }

const std::vector<CaseResult>& results() {
  static const auto all = run_cases(load_cases(root + "/validation/cases"), committed_data());
  return all;
}

const CaseResult& result_of(std::string_view file) {
  for (const CaseResult& r : results()) {
    if (fs::path(r.what.file).filename() == file) return r;
  }
  throw std::out_of_range(std::string(file));
}

TEST(Validation, EveryCaseThatCanBeJudgedPasses) {
  for (const CaseResult& r : results()) {
    EXPECT_TRUE(r.passed()) << table_text({r}, true);
  }
}

TEST(Validation, FidelityIsEnforcedOnEveryCapture) {
  const CaseResult& r = result_of("10_fidelity_h200.json");
  EXPECT_GE(r.rows.size(), 32u);
  EXPECT_GT(r.what.mean_limit, 0);
  EXPECT_LE(r.what.mean_limit, 0.001);
  EXPECT_LE(r.mean_error, r.what.mean_limit);
  EXPECT_LE(r.worst_error, r.what.worst_limit);
  EXPECT_TRUE(r.missing.empty());
}

TEST(Validation, PredictionsAreEnforced) {
  for (const char* file : {"20_unprofiled_gpu.json", "30_cuda_graph.json",
                           "31_cuda_graph_forward_backward.json", "40_eager_sync.json"}) {
    const CaseResult& r = result_of(file);
    EXPECT_GE(r.rows.size(), 1u) << file;
    EXPECT_NE(r.verdict(), Verdict::too_few) << file;
    EXPECT_GT(r.what.mean_limit, 0) << file;
    EXPECT_LE(r.mean_error, r.what.mean_limit) << file;
  }
}

TEST(Validation, MeansAndWorstAreThoseOfTheRows) {
  for (const CaseResult& r : results()) {
    double sum = 0;
    double worst = 0;
    for (const Comparison& row : r.rows) {
      EXPECT_GT(row.measured, 0) << row.name;
      sum += std::abs(row.error());
      worst = std::max(worst, std::abs(row.error()));
    }
    if (r.rows.empty()) continue;
    EXPECT_DOUBLE_EQ(r.mean_error, sum / static_cast<double>(r.rows.size()));
    EXPECT_DOUBLE_EQ(r.worst_error, worst);
  }
}

// Issue: what-ifs change the energy in the right direction. Changes below a tenth are within what
// two runs of one program differ by.
TEST(Validation, EnergyChangesInTheRightDirection) {
  constexpr double noise = 0.1;
  int checked = 0;
  for (const CaseResult& r : results()) {
    if (r.what.kind != CaseKind::energy_change || r.what.deviation) continue;
    for (const Comparison& row : r.rows) {
      if (std::abs(row.measured - 1) < noise) continue;
      EXPECT_EQ(row.predicted > 1, row.measured > 1) << row.name;
      ++checked;
    }
  }
  EXPECT_GE(checked, 15);
}

TEST(Validation, DataThatIsNotHereIsNamed) {
  const CaseResult& r = result_of("11_fidelity_public.json");
  EXPECT_TRUE(r.rows.empty());
  EXPECT_EQ(r.missing, r.what.traces);
  const std::string text = table_text({r}, false);
  EXPECT_HAS(text, "| no data |");
  EXPECT_HAS(text, "not found in any data folder, left out of \"" + r.what.name +
                       "\": " + r.what.traces.front() + " and " +
                       std::to_string(r.what.traces.size() - 1) + " more");
}

/// A data folder with a capture `a` of a small trace and its meta file.
class SmallData {
 public:
  explicit SmallData(const std::string& meta) {
    const std::string trace =
        R"({"schemaVersion": 1, "traceEvents": [
        {"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":100,"dur":5,
         "args":{"correlation":1}},
        {"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":107,"dur":10,
         "args":{"device":0,"context":1,"stream":7,"correlation":1,"grid":[1,1,1],
                 "block":[32,1,1]}}]})";
    const fs::path traces = folder() / "h200" / "traces";
    fs::create_directories(traces);
    std::ofstream(traces / "a.json.gz") << trace;
    if (!meta.empty()) std::ofstream(traces / "a.meta.json") << meta;
  }
  std::vector<CaseResult> run(const Case& c) const {
    return run_cases({c}, {{folder().string()}, root + "/configs"});
  }

 private:
  fs::path folder() const { return fs::path(file_.path()).parent_path(); }
  test::TempFile file_{""};
};

Case unprofiled() {
  Case c;
  c.name = "c";
  c.kind = CaseKind::unprofiled;
  c.traces = {"h200/traces/*"};
  return c;
}

TEST(Validation, ComparesWithTheMeasuredIteration) {
  const auto r = SmallData(R"({"iter_s": 20e-6})").run(unprofiled());
  ASSERT_EQ(r[0].rows.size(), 1u);
  EXPECT_EQ(r[0].rows[0].name, "a");
  EXPECT_DOUBLE_EQ(r[0].rows[0].measured, 20);
}

TEST(Validation, LeavesOutWhatACaseExcludes) {
  Case c = unprofiled();
  c.excluded = {"a"};
  const auto r = SmallData(R"({"iter_s": 20e-6})").run(c);
  EXPECT_TRUE(r[0].rows.empty());
  EXPECT_EQ(r[0].missing, c.traces);
}

TEST(Validation, MalformedMeasurementsAreInputErrors) {
  for (const char* meta : {"{", "[]", "{}", R"({"iter_s": "fast"})", R"({"iter_s": 0})"}) {
    EXPECT_THROW(SmallData(meta).run(unprofiled()), InputError) << meta;
  }
}

TEST(Validation, ACaptureNamedTwiceCountsOnce) {
  Case c = unprofiled();
  c.traces = {"h200/traces/*", "h200/traces/a.json.gz"};
  EXPECT_EQ(SmallData(R"({"iter_s": 20e-6})").run(c)[0].rows.size(), 1u);
}

}  // namespace
}  // namespace tandem
