// A sweep's points as options of a prediction.
#include <gtest/gtest.h>

#include "sim/sweep/metrics.h"
#include "sim/sweep/points.h"
#include "tests/source_dir/source_dir.h"

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

}  // namespace
}  // namespace tandem
