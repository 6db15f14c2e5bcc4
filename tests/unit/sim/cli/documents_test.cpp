// Documents that are spoiled on purpose do not leave the program, whatever command makes them.
#include "sim/cli/schema/documents.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "sim/cli/command.h"
#include "sim/cli/schema/schemas.h"
#include "sim/report/fields/fields.h"
#include "sim/sweep/tables.h"
#include "tests/source_dir/source_dir.h"
#include "validation/compare/compare.h"
#include "validation/papers/report.h"

namespace tandem {
namespace {

using Json = nlohmann::ordered_json;

const std::string first_captures = source_path("validation/captures/h200_2026-11-20_fit/");
const std::string tiny = source_path("tests/golden/replay/tiny.json");

/// What a command writes where its options say OUT.
Json written_by(int (*command)(const Arguments&), Arguments arguments) {
  const std::string path =
      testing::TempDir() + "tandem_document" + std::to_string(getpid()) + ".json";
  arguments.insert(arguments.end(), {"--json", path});
  testing::internal::CaptureStdout();
  command(arguments);
  testing::internal::GetCapturedStdout();
  Json document = Json::parse(std::ifstream(path));
  std::filesystem::remove(path);
  return document;
}

Json sweep_document() {
  const std::string folder = testing::TempDir() + "tandem_sweep" + std::to_string(getpid());
  Json document = written_by(run_sweep_command,
                             {tiny, "--gpu", "h200,a100", "--fresh", "--quiet", "--out", folder});
  std::filesystem::remove_all(folder);
  return document;
}

Json validation_document() {
  CaseResult result;
  result.rows.resize(1);
  result.rows.front().measured = 2;
  result.rows.front().predicted = 3;
  return rows_json({result});
}

Json claims_document() {
  ClaimResult result;
  result.claim.checks.resize(1);
  result.checks.resize(1);
  result.checks.front().taken = {1, std::numeric_limits<double>::quiet_NaN()};
  result.checks.front().values = {{"a step", 0, std::numeric_limits<double>::quiet_NaN(), 0}};
  return claims_json({result});
}

/// One of each schema, as its command makes it.
std::vector<Json> documents() {
  const std::string bert = "bert_base2l-train-amp-eager-b16";
  return {
      written_by(run_replay, {tiny, "--allow-data-loss"}),
      written_by(run_network_command, {"lenet5", "--batch", "8"}),
      written_by(run_advise, {tiny, "--allow-data-loss"}),
      written_by(run_check, {tiny}),
      written_by(run_match, {first_captures + "traces/" + bert + ".json.zst",
                             first_captures + "counters/" + bert + ".csv.zst"}),
      written_by(run_diff, {tiny, source_path("tests/golden/replay/tiny.cuda-graph.result.json"),
                            "--allow-data-loss"}),
      written_by(run_square, {"--blocks", "8", "--threads", "64"}),
      sweep_document(),
      validation_document(),
      claims_document()};
}

using Change = std::function<void(Json&)>;

/// Calls `visit` with each number below `json` and its path, in which lists have no positions.
void each_number(Json& json, const std::string& path,
                 const std::function<void(Json&, const std::string&)>& visit) {
  if (json.is_number()) visit(json, path);
  if (!json.is_structured()) return;
  for (auto& item : json.items()) {
    each_number(item.value(), json.is_array() ? path + "[]" : path + "." + item.key(), visit);
  }
}

bool refused(const Json& document) {
  try {
    const CheckedDocument checked(document);
  } catch (const std::logic_error&) {
    return true;
  }
  return false;
}

TEST(Documents, AreOfEverySchema) {
  std::set<std::string> seen;
  for (const Json& document : documents()) {
    EXPECT_NO_THROW(CheckedDocument(document).text(-1)) << document["schema"];
    seen.insert(document["schema"].get<std::string>());
  }
  EXPECT_EQ(seen.size(), published_schemas().size());
}

TEST(Documents, WithANumberThatIsNoneAreRefused) {
  std::size_t spoiled = 0;
  for (Json& document : documents()) {
    std::set<std::string> done;
    each_number(document, "", [&](Json& number, const std::string& path) {
      if (!done.insert(path).second) return;
      const Json good = number;
      for (const double bad :
           {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        number = bad;
        EXPECT_TRUE(refused(document)) << document["schema"] << path << " = " << bad;
        ++spoiled;
      }
      number = good;
    });
  }
  EXPECT_GT(spoiled, 800u);
}

TEST(Documents, WithANegativeTimeOrCountAreRefused) {
  std::size_t spoiled = 0;
  for (Json& document : documents()) {
    std::set<std::string> done;
    each_number(document, "", [&](Json& number, const std::string& path) {
      const bool counts = path.ends_with("time_us") || path.ends_with("count") ||
                          path.ends_with("_bytes") || path.ends_with("_j") ||
                          path.ends_with("_cycles") || path.ends_with("_utilization");
      if (!counts || !done.insert(path).second) return;
      const Json good = number;
      number = -1;
      EXPECT_TRUE(refused(document)) << document["schema"] << path;
      number = good;
      ++spoiled;
    });
  }
  EXPECT_GT(spoiled, 150u);
}

TEST(Documents, WithoutAFieldOrWithOneMoreAreRefused) {
  for (const Json& document : documents()) {
    Json more = document;
    more["unheard_of"] = 1;
    EXPECT_TRUE(refused(more)) << document["schema"];
    Json less = document;
    less.erase(std::prev(less.end()).key());
    EXPECT_TRUE(refused(less)) << document["schema"];
    EXPECT_TRUE(refused(Json::array({document, more}))) << document["schema"];
  }
  EXPECT_TRUE(refused(Json{{"schema", "tandem.unheard/1"}}));
  EXPECT_TRUE(refused(Json(1)));
}

TEST(Documents, OfASweepAreCheckedPointByPoint) {
  Sweep sweep;
  sweep.points = {{{"batch", "8"}}};
  sweep.results = {{std::vector<double>(sweep_metrics().size(), 0.0), ""}};
  std::ostringstream out;
  EXPECT_NO_THROW(write_sweep_json(out, sweep));
  sweep.results.front().values[sweep_metric_index("energy_j")] = -5;
  try {
    write_sweep_json(out, sweep);
    FAIL() << "a negative energy is written";
  } catch (const std::logic_error& bug) {
    EXPECT_EQ(
        std::string(bug.what()).find("result: points[].metrics.energy_j is -5, not 0 or more"), 0u)
        << bug.what();
  }
}

TEST(Documents, AreCheckedWhereNothingIsWritten) {
  Json spoiled = written_by(run_square, {"--blocks", "8", "--threads", "64"});
  EXPECT_NO_THROW(write_document("", spoiled));
  spoiled["smact"] = 1.5;
  EXPECT_THROW(write_document("", spoiled), std::logic_error);
}

}  // namespace
}  // namespace tandem
