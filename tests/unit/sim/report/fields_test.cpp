// Real output holds what is published of it, and nothing else.
#include "sim/report/fields/fields.h"

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
#include "sim/report/report.h"
#include "sim/sweep/points.h"
#include "tests/source_dir/source_dir.h"

namespace tandem {
namespace {

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
  std::size_t what_ifs = 0;
  for (const ReplayOptions& o :
       {options_of({}),
        options_of({{"batch", "64"}, {"precision", "fp32"}, {"gpu", "a100"}, {"clock", "1200"}}),
        options_of({{"compile", "inductor"}}), options_of({{"ranks", "2"}, {"input", "none"}})}) {
    const Result r = predict(run, o).result;
    EXPECT_EQ(all(differences(result_json(r), result_fields())), "");
    what_ifs += r.what_ifs.size();
  }
  EXPECT_GE(what_ifs, 6u);
}

TEST(PublishedFields, WhatIsNotAsPublishedIsABug) {
  const std::vector<PublishedField> fields{
      {"a", "us", ""}, {"b", "us", "", Presence::may_be_null}, {"c[].d", "us", ""}};
  using Json = nlohmann::ordered_json;
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_NO_THROW(check_published(Json{{"a", 1}, {"b", nullptr}, {"c", Json::array()}}, fields));
  const auto error = [&](const Json& json) -> std::string {
    try {
      check_published(json, fields);
    } catch (const std::logic_error& e) {
      return e.what();
    }
    return "";
  };
  EXPECT_EQ(error({{"a", none}, {"b", 1}, {"c", Json::array()}}),
            "result: a: no finite number (1 in all are not as published)");
  EXPECT_NE(error({{"a", nullptr}, {"b", 1}, {"c", Json::array()}}).find("a: null"),
            std::string::npos);
  EXPECT_NE(error({{"a", 1}, {"b", 1}, {"c", {{{"d", std::numeric_limits<double>::infinity()}}}}})
                .find("c[].d: no finite number"),
            std::string::npos);
}

TEST(PublishedFields, OfNetworksOfBothFrameworks) {
  for (const char* name : {"lenet5-train", "tf_lenet5-train"}) {
    const std::string path = source_path("workloads/nets/") + name + ".json";
    const NetworkRequest request{path, "h200_sxm", 8, {}, Task::train, {}, false};
    const Result r = run_network(request, options_of({})).prediction.result;
    EXPECT_EQ(all(differences(result_json(r), result_fields())), "") << name;
  }
}

TEST(PublishedFields, OfChecksAndSweeps) {
  const TracedRun run = analyse(import_trace(source_path(trace)), options_of({}));
  const CheckReport report =
      check(run, load_check_limits(source_path("configs/checks.json")), nullptr);
  EXPECT_EQ(all(differences(check_json(run.summary, report), check_fields())), "");
  Experiment e;
  e.trace = source_path("tests/golden/replay/tiny.json");
  e.axes = {{"mode", {"as-traced", "cuda-graph"}}, {"gpu", {"h200", "b200"}}};
  e.metrics = {"time_us"};
  e.pareto = ParetoQuestion{"time_us", "energy_per_sample_j", Goal::min, Goal::min};
  e.elasticity = ElasticityQuestion{{"gpu.sm_count"}, 0.1, "time_us", {}};
  const Sweep sweep = run_sweep(e, load_sweep_base(e, source_path("configs")), nullptr, {});
  EXPECT_EQ(all(differences(sweep_json(sweep), sweep_fields())), "");
}

TEST(PublishedFields, DifferencesNameWhatIsNewAndWhatIsMissing) {
  const PublishedField fields[] = {{"a", "us", "a time"}, {"b[].c", "text", "a name"}};
  const Json json = {{"b", {{{"d", 1}}}}};
  EXPECT_EQ(differences(json, fields),
            (std::vector<std::string>{"a: described, but not there",
                                      "b[].c: described, but not there", "b[].d: not described"}));
}

TEST(PublishedFields, SchemaFilesAreThoseOfTheProgram) {
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
