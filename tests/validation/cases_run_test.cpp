// The cases of the repository, run on some of the captures that come with it, or on all of them
// (captures.h); `tandem validate` runs all.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/core/error.h"
#include "tests/captures.h"
#include "tests/expect_has.h"
#include "tests/import_files.h"
#include "tests/source_dir/source_dir.h"
#include "validation/compare/compare.h"

namespace tandem {
namespace {

namespace fs = std::filesystem;

CompareOptions committed_data() {
  return {{source_path("validation/captures")}, source_path("configs")};
}

/// What lies in one folder, or belongs to one set of several, is read once for all questions.
std::string group_of(const Case& c) { return c.folder.empty() ? c.set : c.folder; }

/// Of 30 groups, fewer than a fifth, and what few of them have.
std::vector<Case> some_cases() {
  std::vector<Case> all = load_cases(source_path("validation/cases"));
  std::set<std::string> groups;
  for (const Case& c : all) groups.insert(group_of(c));
  const auto some = test::some_of(std::vector<std::string>(groups.begin(), groups.end()), 30);
  const std::set<std::string> chosen(some.begin(), some.end());
  std::erase_if(all, [&](const Case& c) {
    return !chosen.contains(group_of(c)) && c.kind != CaseKind::energy_change;
  });
  return all;
}

const std::vector<CaseResult>& results() {
  static const auto all = run_cases(some_cases(), committed_data());
  return all;
}

/// Sets of the question in `file` that have data.
std::vector<CaseResult> results_of(std::string_view file) {
  std::vector<CaseResult> out;
  for (const CaseResult& r : results()) {
    if (fs::path(r.what.file).stem() == file && !r.rows.empty()) out.push_back(r);
  }
  return out;
}

TEST(Validation, EveryCaseThatCanBeJudgedPasses) {
  for (const CaseResult& r : results()) {
    EXPECT_TRUE(r.passed()) << table_text({r}, true);
  }
}

/// The rows of sets in the tables of a text as `markdown_text` writes it, each behind its question.
std::set<std::string> rows_of_sets(std::istream& text) {
  std::set<std::string> rows;
  std::string question;
  for (std::string line; std::getline(text, line);) {
    if (line.starts_with("## ")) question = line.substr(3);
    const bool head = line.starts_with("| set |") || line.starts_with("| --- |");
    if (line.starts_with("| ") && !head) rows.insert(question + ": " + line);
  }
  return rows;
}

TEST(Validation, TheDocumentedErrorsAreThoseOfToday) {
  std::ifstream file(source_path("docs/accuracy.md"));
  const std::set<std::string> documented = rows_of_sets(file);
  std::istringstream text(markdown_text(results()));
  const std::set<std::string> today = rows_of_sets(text);
  for (const std::string& row : today) {
    EXPECT_TRUE(documented.contains(row))
        << "docs/accuracy.md is stale; it says how to write it anew: " << row;
  }
  EXPECT_EQ(today.size(), results().size());
}

TEST(Validation, EveryQuestionHasDataInAClone) {
  std::map<std::string, std::size_t> rows;
  for (const CaseResult& r : results()) rows[r.what.file] += r.rows.size();
  EXPECT_GE(rows.size(), 30u);
  for (const auto& [file, count] : rows) EXPECT_GT(count, 0u) << file;
}

TEST(Validation, OnlyPublicTracesThatMayNotBeCopiedAreMissing) {
  for (const CaseResult& r : results()) {
    for (const std::string& name : r.missing) EXPECT_TRUE(name.starts_with("public/")) << name;
  }
}

TEST(Validation, FidelityIsEnforcedOnEveryCapture) {
  const std::vector<CaseResult> sets = results_of("fidelity");
  EXPECT_GE(sets.size(), 10u);
  std::size_t rows = 0;
  for (const CaseResult& r : sets) {
    rows += r.rows.size();
    EXPECT_NE(r.verdict(), Verdict::too_few) << name_of(r.what);
    EXPECT_LE(r.mean_error, r.what.mean_limit) << name_of(r.what);
  }
  EXPECT_GE(rows, 250u);
}

TEST(Validation, WhatConstantsWereFittedOnIsMarked) {
  // Each set until 2026-11-25 has its part in the gap scales of a host; the later one is scored
  // only.
  std::size_t marked = 0;
  for (const CaseResult& r : results_of("unprofiled_host_bound")) {
    const std::string set = name_of(r.what);
    const std::size_t day = set.find("2026-");
    const bool later = day != set.npos && set.substr(day, 10) > "2026-11-25";
    EXPECT_EQ(r.data, later ? DataUse::holdout : DataUse::fitted) << set;
    ++marked;
  }
  EXPECT_GE(marked, 2u);
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
  Case c;
  c.question = "q";
  c.set = "s";
  c.traces = {"nowhere/traces/*", "nowhere/traces/a"};
  const auto r = run_cases({c}, committed_data());
  EXPECT_TRUE(r[0].rows.empty());
  EXPECT_EQ(r[0].missing, c.traces);
  const std::string text = table_text(r, false);
  EXPECT_HAS(text, "| no data |");
  EXPECT_HAS(text,
             "not found in any data folder, left out of \"q, s\": nowhere/traces/* and 1 more");
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
    return run_cases({c}, {{folder().string()}, source_path("configs")});
  }

 private:
  fs::path folder() const { return fs::path(file_.path()).parent_path(); }
  test::TempFile file_{""};
};

Case unprofiled() {
  Case c;
  c.question = "c";
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
  c.traces = {"h200/traces/*", "h200/traces/a"};
  EXPECT_EQ(SmallData(R"({"iter_s": 20e-6})").run(c)[0].rows.size(), 1u);
}

}  // namespace
}  // namespace tandem
