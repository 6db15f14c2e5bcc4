// Grid, metrics, Pareto front, elasticities and the tables of a sweep.
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "sim/core/fields/field.h"
#include "sim/sweep/pareto.h"
#include "sim/sweep/pictures.h"
#include "tests/unit/sim/sweep/sweep_for_tests.h"

namespace tandem {
namespace {

using test::experiment_of;
using test::result_of;

TEST(SweepGrid, LastAxisIsFastest) {
  const std::vector<Point> points = grid_points(test::two_axes);
  ASSERT_EQ(points.size(), 6u);  // 3 x 2
  EXPECT_EQ(to_text(points[0]), "batch=1 mode=eager");
  EXPECT_EQ(to_text(points[1]), "batch=1 mode=graph");
  EXPECT_EQ(to_text(points[5]), "batch=4 mode=graph");
  EXPECT_EQ(value_of(points[5], "batch"), "4");
  EXPECT_EQ(value_of(points[5], "gpu"), "");
  EXPECT_EQ(grid_points({}).size(), 1u);  // the empty product
  EXPECT_EQ(to_text(grid_points({}).front()), "as traced");
}

TEST(SweepMetrics, NamesAreUnique) {
  std::set<std::string_view> names;
  for (const SweepMetric& m : sweep_metrics()) {
    EXPECT_TRUE(names.insert(m.name).second) << m.name;
    EXPECT_FALSE(m.description.empty()) << m.name;
  }
  EXPECT_GT(names.size(), 30u);
  EXPECT_THROW(sweep_metric_index("speed"), InputError);
}

TEST(SweepMetrics, WhatIsNotKnownIsNaN) {
  Result result;
  result.step.time_us = 1000;
  result.energy.emplace().energy_j = 6;
  result.scenario.batch = 4;
  const PointResult r = measure_point(result);
  EXPECT_EQ(r.values[sweep_metric_index("time_us")], 1000);
  EXPECT_EQ(r.values[sweep_metric_index("energy_per_sample_j")], 1.5);  // 6 / 4
  EXPECT_TRUE(std::isnan(r.values[sweep_metric_index("memory_peak_bytes")]));
  EXPECT_EQ(r.values[sweep_metric_index("extrapolated")], 0);  // the traced batch itself
  result.step.time_us = INFINITY;
  EXPECT_TRUE(std::isnan(measure_point(result).values[sweep_metric_index("time_us")]));
}

TEST(SweepExperiment, IsRead) {
  const Experiment e = experiment_of(R"({"schema": "tandem.experiment/1", "trace": "../t.json",
    "axes": {"gpu.l2_bytes": {"scale": [0.5, 2]}, "batch": [8, 16], "gpu.sm_count": [100]},
    "pareto": {"x": "time_us", "y": "energy_j", "y_goal": "min"},
    "elasticity": {"parameters": ["gpu.sm_count"], "at": {"batch": 8}}})");
  EXPECT_EQ(e.name, "e");
  EXPECT_EQ(e.trace, "t.json");  // dir/../t.json
  ASSERT_EQ(e.axes.size(), 3u);  // in the order of the file
  EXPECT_EQ(e.axes[0].values, (std::vector<std::string>{"x0.5", "x2"}));
  EXPECT_EQ(e.axes[1].values, (std::vector<std::string>{"8", "16"}));
  EXPECT_EQ(e.axes[2].values, (std::vector<std::string>{"100"}));
  EXPECT_EQ(e.pareto->y_goal, Goal::min);
  EXPECT_EQ(e.elasticity->step, 0.1);
  EXPECT_EQ(e.elasticity->at.front().values.front(), "8");
}

TEST(SweepPareto, KeepsWhatNothingBeats) {
  //                    0  1  2  3  4    5
  const std::vector<double> x{1, 2, 3, 2, NAN, 3}, y{5, 7, 7, 6, 9, 7};
  // Least x, most y: 0 has the least x; 1 beats 2, 3 and 5 (equal y, less x).
  EXPECT_EQ(pareto_front(x, y, Goal::min, Goal::max), (std::vector<std::size_t>{0, 1}));
  // Most x, most y: 2 and 5 are equal and beat all.
  EXPECT_EQ(pareto_front(x, y, Goal::max, Goal::max), (std::vector<std::size_t>{2, 5}));
  EXPECT_EQ(pareto_front(x, y, Goal::min, Goal::min), (std::vector<std::size_t>{0}));
  EXPECT_TRUE(pareto_front({}, {}, Goal::min, Goal::min).empty());
}

TEST(SweepElasticity, OfAPowerLawIsItsExponent) {
  ElasticityQuestion q;
  q.parameters = {"gpu.a", "gpu.b", "gpu.c"};
  q.step = 0.2;
  const std::vector<Point> points = elasticity_points(q);
  ASSERT_EQ(points.size(), 6u);
  EXPECT_EQ(to_text(points[0]), "gpu.a=x0.8");
  EXPECT_EQ(to_text(points[1]), "gpu.a=x1.2");
  const auto value = [](const Point& p, const std::string& name) {
    return 50 * std::stod(value_of(p, name).substr(1));
  };
  std::vector<PointResult> results;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const std::string& name = points[i].front().name;
    // time ~ a^0.5, b^-1; c fails.
    const double exponent = name == "gpu.a" ? 0.5 : -1;
    results.push_back(name == "gpu.c" ? PointResult{{}, "no such key"}
                                      : result_of(std::pow(value(points[i], name), exponent)));
  }
  const std::vector<Elasticity> e = elasticities(q, results, value);
  ASSERT_EQ(e.size(), 3u);
  EXPECT_EQ(e[0].parameter, "gpu.b");  // largest first
  EXPECT_NEAR(e[0].elasticity, -1, 1e-12);
  EXPECT_NEAR(e[1].elasticity, 0.5, 1e-12);
  EXPECT_TRUE(std::isnan(e[2].elasticity));
  EXPECT_EQ(e[2].error, "no such key");
}

Sweep small_sweep() {
  Sweep s;
  s.experiment = experiment_of(R"({"schema": "tandem.experiment/1", "trace": "t",
    "axes": {"batch": [1, 2], "mode": ["a,b", "c"]}, "metrics": ["time_us"],
    "pareto": {"x": "memory_peak_bytes", "y": "throughput_per_s"}})");
  s.points = grid_points(s.experiment.axes);
  s.results = {result_of(1500, 10, 1e9),
               result_of(3000, 20, 2e9),
               {{}, "found \"x\""},
               result_of(2500, 5, 3e9)};
  s.front = {0, 1};
  return s;
}

TEST(SweepTables, Text) {
  const std::string text = sweep_text(small_sweep());
  EXPECT_NE(text.find("1.5 "), std::string::npos);  // 1500 us
  EXPECT_NE(text.find("time ms"), std::string::npos);
  EXPECT_NE(text.find("failed points: 1\n  batch=2 mode=a,b: found \"x\""), std::string::npos);
  EXPECT_NE(sweep_text(small_sweep(), 1).find("3 more points"), std::string::npos);
}

TEST(SweepTables, Csv) {
  std::ostringstream out;
  write_sweep_csv(out, small_sweep());
  std::istringstream in(out.str());
  std::string line;
  std::vector<std::string> lines;
  while (std::getline(in, line)) lines.push_back(line);
  ASSERT_EQ(lines.size(), 5u);  // names, 4 points
  EXPECT_TRUE(lines[0].starts_with("batch,mode,time_us,"));
  EXPECT_TRUE(lines[1].starts_with("1,\"a,b\",1500.0,10.0,")) << lines[1];
  EXPECT_TRUE(lines[1].ends_with(",true,"));
  EXPECT_TRUE(lines[3].ends_with(",false,\"found \"\"x\"\"\""));
}

TEST(SweepTables, JsonAPointAtATimeIsTheSameText) {
  Sweep sweep = small_sweep();
  sweep.experiment.name = "\n  \"points\": []";
  std::ostringstream text;
  write_sweep_json(text, sweep);
  EXPECT_EQ(text.str(), sweep_json(sweep).dump(2) + "\n");
}

TEST(SweepTables, JsonHasUnitsAndNullForTheUnknown) {
  const Json json = sweep_json(small_sweep());
  EXPECT_EQ(json["schema"], "tandem.sweep/2");
  EXPECT_EQ(json["units"]["time_us"], "us");
  EXPECT_EQ(json["points"][0]["metrics"]["time_us"], 1500.0);
  EXPECT_TRUE(json["points"][0]["metrics"]["energy_j"].is_null());
  EXPECT_EQ(json["points"][2]["error"], "found \"x\"");
  EXPECT_EQ(json["pareto"]["points"], Json({0, 1}));
}

TEST(SweepPictures, OnlyThoseWithData) {
  std::set<std::string> names;
  for (const Picture& p : sweep_pictures(small_sweep())) names.insert(p.name);
  // No energy and no elasticities in it.
  EXPECT_EQ(names,
            (std::set<std::string>{"throughput", "throughput_memory", "utilization", "pareto"}));
}

}  // namespace
}  // namespace tandem
