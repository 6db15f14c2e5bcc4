// A sweep's points as options of a prediction.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "sim/core/fields/field.h"
#include "sim/sweep/metrics.h"
#include "sim/sweep/points.h"
#include "tests/source_dir/source_dir.h"
#include "tests/unit/sim/sweep/sweep_for_tests.h"

namespace tandem {
namespace {

const std::string configs = source_path("configs");

Experiment experiment(std::vector<Axis> axes) {
  Experiment e;
  e.name = "e";
  e.trace = source_path("tests/golden/replay/tiny.json");
  e.axes = std::move(axes);
  e.metrics = {"time_us"};
  return e;
}

TEST(SweepScenario, ScalesReferToThePointsOwnGpu) {
  const SweepBase base = load_sweep_base(experiment({}), configs);
  // 132 SMs x 0.9 = 118.8: whole numbers are rounded; 108 x 0.9 = 97.2.
  const Setting less{"gpu.sm_count", "x0.9"};
  const Point one{{"gpu", "h200_sxm"}, less}, other{{"gpu", "a100_sxm4_80gb"}, less};
  EXPECT_EQ(point_options(base, one).what_ifs.all("set"),
            (std::vector<std::string>{"gpu.sm_count=119"}));
  EXPECT_EQ(point_options(base, other).what_ifs.all("set"),
            (std::vector<std::string>{"gpu.sm_count=97"}));
  EXPECT_EQ(parameter_value(base, other, "gpu.sm_count"), 97);
  EXPECT_THROW(parameter_value(base, one, "gpu.no_such_key"), InputError);
  EXPECT_THROW(parameter_value(base, one, "gpu.shared_carveouts_bytes"), InputError);
  EXPECT_THROW(point_options(base, {{"mode", "warp"}}), InputError);
}

TEST(SweepScenario, PointsAreThePredictionsOfReplay) {
  const Experiment e = experiment({{"mode", {"as-traced", "cuda-graph"}}});
  const SweepBase base = load_sweep_base(e, configs);
  const Sweep sweep = run_sweep(e, base, nullptr, {});
  ASSERT_EQ(sweep.results.size(), 2u);
  ReplayOptions options;
  options.configs = configs;
  options.trace_path = e.trace;
  options.mode.mode = Mode::cuda_graph;
  EXPECT_EQ(metric_column(sweep, "time_us")[1], replay(options).prediction.result.step.time_us);
}

TEST(SweepScenario, TheHashFollowsProgramAndInputs) {
  const Experiment e = experiment({});
  EXPECT_EQ(hash_inputs(e, configs, "1"), hash_inputs(e, configs, "1"));
  EXPECT_NE(hash_inputs(e, configs, "1"), hash_inputs(e, configs, "2"));
  EXPECT_NE(hash_inputs(e, configs, "1"), hash_inputs(e, configs + "/gpus", "1"));
  Experiment two = e;
  two.base = e.trace;
  EXPECT_NE(hash_inputs(e, configs, "1"), hash_inputs(two, configs, "1"));
  EXPECT_THROW(hash_inputs(e, "no/such/folder", "1"), InputError);
}

TEST(SweepScenario, TheHashFollowsEveryFieldOfTheExperiment) {
  const Experiment e = experiment({});
  const std::uint64_t hash = hash_inputs(e, configs, "1");
  int varied = 0;
  for (const Field<Experiment>& f : experiment_fields()) {
    const Json value = f.write(e);
    if (value.is_null() || f.name == "schema" || f.name == "metrics") continue;
    Experiment other = e;
    // A text of all of them names a file: the trace and the base must be there.
    const std::string file = source_path("tests/golden/replay/tiny.as-traced.result.json");
    f.read(other, value.is_string() ? Json(file) : Json(1), {"e.json", f.name});
    EXPECT_NE(hash_inputs(other, configs, "1"), hash) << f.name;
    ++varied;
  }
  EXPECT_GE(varied, 9);
  Experiment shown = e;
  shown.metrics = {"throughput_per_s"};
  EXPECT_EQ(hash_inputs(shown, configs, "1"), hash);
}

TEST(SweepScenario, TheHashFollowsEveryFileOfTheConfigs) {
  namespace fs = std::filesystem;
  const Experiment e = experiment({});
  const fs::path folder = fs::path(test::scratch_folder("configs")) / "configs";
  fs::copy(configs, folder, fs::copy_options::recursive);
  const auto hash = [&] { return hash_inputs(e, folder.string(), "1"); };
  std::uint64_t before = hash();
  for (const char* file : {"kernels/layers.csv", "kernels/time.json", "bands.json"}) {
    std::ofstream(folder / file, std::ios::app) << " ";
    EXPECT_NE(hash(), before) << file;
    before = hash();
  }
  for (const fs::path& file :
       {fs::path("gpus") / "README.md", fs::path("experiments") / "e.json"}) {
    std::ofstream(folder / file, std::ios::app) << " ";
    EXPECT_EQ(hash(), before) << file;
  }
}

}  // namespace
}  // namespace tandem
