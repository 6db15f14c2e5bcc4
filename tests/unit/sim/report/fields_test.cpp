// Real output holds what is published of it, and nothing else.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "sim/check/checks.h"
#include "sim/cli/schema/schemas.h"
#include "sim/predict/network_run.h"
#include "sim/report/check_report.h"
#include "sim/report/fields/published.h"
#include "sim/report/report.h"
#include "sim/sweep/points.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

testing::AssertionResult says(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << '"' << text << "\" does not say \"" << part << '"';
}

const char* const trace =
    "validation/captures/h200_2026-11-20_fit/traces/resnet50-train-amp-eager-b32.json.zst";

ReplayOptions options_of(std::initializer_list<std::pair<const char*, const char*>> what_ifs) {
  ReplayOptions o;
  o.configs = source_path("configs");
  for (const auto& [option, value] : what_ifs) o.what_ifs.set(option, value);
  return o;
}

std::string all(const std::vector<std::string>& texts) {
  return fmt::format("{}", fmt::join(texts, "\n"));
}

TEST(PublishedFields, OfAReplayWithEveryWhatIf) {
  const TracedRun run = analyse(import_trace(source_path(trace)), options_of({}));
  const Published published(result_fields());
  std::size_t what_ifs = 0;
  for (const ReplayOptions& o :
       {options_of({}),
        options_of({{"batch", "64"}, {"precision", "fp32"}, {"gpu", "a100"}, {"clock", "1200"}}),
        options_of({{"compile", "inductor"}}), options_of({{"ranks", "2"}, {"input", "none"}})}) {
    const Result r = predict(run, o).result;
    EXPECT_EQ(all(published.differences(result_json(r))), "");
    what_ifs += r.what_ifs.size();
  }
  EXPECT_GE(what_ifs, 6u);
}

using Json = nlohmann::ordered_json;

/// What is wrong with a document of these fields, as the bug says it; empty: nothing.
std::string error_of(std::vector<PublishedField> fields, const Json& json) {
  try {
    Published(std::move(fields)).check(json);
  } catch (const std::logic_error& e) {
    return e.what();
  }
  return "";
}

TEST(PublishedFields, WhatIsNotAsPublishedIsABug) {
  const std::vector<PublishedField> fields{{"a", "us", ""},
                                           {"b", "us", "", Presence::may_be_null},
                                           {"c[].d", "ratio", ""},
                                           {"e", "text", "", Presence::may_be_absent},
                                           {"f", "bool", "", Presence::may_be_absent}};
  const Json good{{"a", 1}, {"b", nullptr}, {"c", {{{"d", 1}}, {{"d", 0}}}}};
  EXPECT_EQ(error_of(fields, good), "");
  const auto with = [&](const char* key, Json value) {
    Json json = good;
    json[key] = std::move(value);
    return error_of(fields, json);
  };
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(with("a", none),
            "result: a is nan, not a finite number (1 in all are not as published)");
  EXPECT_TRUE(says(with("a", nullptr), "a is null"));
  EXPECT_TRUE(says(with("a", -1), "a is -1, not 0 or more"));
  EXPECT_TRUE(says(with("a", "1"), "a is a string"));
  EXPECT_TRUE(says(with("c", {{{"d", 1.5}}}), "c[].d is 1.5, not 0 to 1"));
  EXPECT_TRUE(says(with("c", {{{"d", std::numeric_limits<double>::infinity()}}}),
                   "c[].d is inf, not a finite number"));
  EXPECT_TRUE(says(with("e", 1), "e is a number"));
  EXPECT_TRUE(says(with("f", "yes"), "f is a string"));
  EXPECT_TRUE(says(with("g", 1), "g is not described"));
}

TEST(PublishedFields, LevelsStandInTheirOrderAndPartsAreTheirSum) {
  std::vector<PublishedField> fields;
  for (const char* path : {"step.smsp_issue_cycles", "step.smsp_active_cycles",
                           "step.smsp_elapsed_cycles", "step.time_us", "step_parts[].time_us"}) {
    fields.push_back({path, "us", ""});
  }
  const auto document = [](double issue, double active, double elapsed, double second_part) {
    return Json{{"step",
                 {{"smsp_issue_cycles", issue},
                  {"smsp_active_cycles", active},
                  {"smsp_elapsed_cycles", elapsed},
                  {"time_us", 10}}},
                {"step_parts", {{{"time_us", 6}}, {{"time_us", second_part}}}}};
  };
  EXPECT_EQ(error_of(fields, document(1, 2, 3, 4)), "");
  EXPECT_EQ(error_of(fields, document(3, 3, 3, 4)), "");
  EXPECT_TRUE(says(error_of(fields, document(2.5, 2, 3, 4)),
                   "step.smsp_issue_cycles is 2.5, not at most smsp_active_cycles, 2.0"));
  EXPECT_TRUE(says(error_of(fields, document(1, 3.5, 3, 4)), "step.smsp_active_cycles is 3.5"));
  // 6 + 5 is more than the step's 10.
  EXPECT_TRUE(says(error_of(fields, document(1, 2, 3, 5)),
                   "step_parts[].time_us is 11, not at most step.time_us, 10"));
}

TEST(PublishedFields, OfNetworksOfBothFrameworks) {
  const Published published(result_fields());
  for (const char* name : {"lenet5-train", "tf_lenet5-train"}) {
    const std::string path = source_path("workloads/nets/") + name + ".json";
    const NetworkRequest request{path, "h200_sxm", 8, {}, Task::train, {}, false};
    const Result r = run_network(request, options_of({})).prediction.result;
    EXPECT_EQ(all(published.differences(result_json(r))), "") << name;
  }
}

TEST(PublishedFields, OfChecksAndSweeps) {
  const TracedRun run = analyse(import_trace(source_path(trace)), options_of({}));
  const CheckReport report =
      check(run, load_check_limits(source_path("configs/checks.json")), nullptr);
  EXPECT_EQ(all(Published(check_fields()).differences(check_json(run.summary, report))), "");
  Experiment e;
  e.trace = source_path("tests/golden/replay/tiny.json");
  e.axes = {{"mode", {"as-traced", "cuda-graph"}}, {"gpu", {"h200", "b200"}}};
  e.metrics = {"time_us"};
  e.pareto = ParetoQuestion{"time_us", "energy_per_sample_j", Goal::min, Goal::min};
  e.elasticity = ElasticityQuestion{{"gpu.sm_count"}, 0.1, "time_us", {}};
  const Sweep sweep = run_sweep(e, load_sweep_base(e, source_path("configs")), nullptr, {});
  EXPECT_EQ(all(Published(sweep_fields()).differences(sweep_json(sweep))), "");
}

TEST(PublishedFields, DifferencesNameWhatIsNewAndWhatIsMissing) {
  const std::vector<PublishedField> fields{{"a", "us", "a time"}, {"b[].c", "text", "a name"}};
  const Json json = {{"b", {{{"d", 1}}}}};
  EXPECT_EQ(
      Published(fields).differences(json),
      (std::vector<std::string>{"a is described, but not there",
                                "b[].c is described, but not there", "b[].d is not described"}));
}

TEST(PublishedFields, SchemaFilesAreThoseOfTheProgram) {
  ASSERT_FALSE(published_schemas().empty());
  for (const PublishedSchema& schema : published_schemas()) {
    const std::string path =
        source_path("docs/schema/") + std::string(schema.name) + ".schema.json";
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    EXPECT_EQ(text.str(), json_schema(schema.id, schema.about, schema.fields()).dump(1) + "\n")
        << "tandem describe schema " << schema.name << " >" << path;
  }
}

}  // namespace
}  // namespace tandem
